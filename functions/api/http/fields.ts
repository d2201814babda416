import { callRequestSchema } from "#shared/calls/call-request.ts";
import { readRequestId } from "#shared/calls/ids.ts";
import { callStates } from "#shared/calls/states.ts";
import * as z from "#shared/lib/zod.ts";

/** Maximum items of one page. */
const pageItemsMax = 200;

// Fields of requests.

export const phoneNumber = callRequestSchema.shape.phone_number.check(
  z.meta({ description: "E.164" }),
);
export const instant = z.pipe(
  z.iso.datetime({ offset: true, error: "must be an instant such as 2026-11-21T09:00:00Z" }),
  z.transform((text) => Date.parse(text)),
);
/** `updated_at` of a call as somebody saw it who decides about it. */
export const seenAt = z
  .optional(instant)
  .check(
    z.describe("`updated_at` of the call as it was shown: one that has changed since is refused"),
  );
export const limit = z._default(
  z.coerce.number().check(z.int(), z.minimum(1), z.maximum(pageItemsMax)),
  50,
);
export const anyName = z.string().check(z.minLength(1), z.maxLength(300));
/** The `X-Request-Id` of a 201, in any case. */
export const requestId = z.pipe(
  z
    .string()
    .check(
      z.refine(
        (text) => readRequestId(text) !== undefined,
        "must be a request's id, such as 01KAJ6Y5G0QZ3N4T7V8W9XABCD",
      ),
    ),
  z.transform((text) => readRequestId(text) ?? text),
);
/** The name of one agent: `*` in a plan stands for every agent that the plan does not name. */
export const agentId = anyName.check(
  z.refine((text) => text !== "*", "must name one agent; an account may be paused instead"),
);

/** True if exactly one of the fields has a value. */
export function hasExactlyOne(fields: Record<string, unknown>): boolean {
  return Object.values(fields).filter(Boolean).length === 1;
}

// Fields of answers.

export const state = z.enum(callStates);
/** A time in ISO 8601. */
export const time = z.iso.datetime();
export const nextCursor = z
  .optional(z.string())
  .check(z.describe("Where to continue; absent on the last page"));

/** Converts milliseconds since the epoch to the ISO 8601 of answers. */
export function toIsoTime(milliseconds: number): string;
export function toIsoTime(milliseconds: number | null): string | null;
export function toIsoTime(milliseconds: number | null): string | null {
  return milliseconds === null ? null : new Date(milliseconds).toISOString();
}

/** A time after every time in the ledger, in milliseconds since the epoch. */
export const endOfTime = 9_999_999_999_999;
