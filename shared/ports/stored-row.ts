import { labelsSchema } from "../calls/labels.ts";
import { callEventSchema } from "../calls/call-event.ts";
import { type Route, storedCallRequestSchema } from "../calls/call-request.ts";
import { callResultSchema } from "../calls/call-result.ts";
import type { CallRow } from "../calls/call-row.ts";
import { providerTypes } from "../calls/provider-types.ts";
import { modes } from "../calls/ids.ts";
import { callStates } from "../calls/states.ts";
import { callBackSchema, nextTrySchema, triesSchema } from "../calls/tries.ts";
import * as z from "../lib/zod.ts";
import { needsLater } from "./unreadable.ts";

const time = z._default(z.nullable(z.number()), null);
const text = z._default(z.nullable(z.string()), null);

const historySchema = () =>
  z.looseObject({
    at: z.number(),
    state: z.enum(callStates),
    reason: z.string(),
    dueAt: z.optional(z.number()),
    by: z.optional(z.string()),
    checks: z.optional(
      z.array(
        z.looseObject({ check: z.string(), at: z.number(), evidence: z.optional(z.string()) }),
      ),
    ),
  });

const routeSchema = () =>
  z.looseObject({ provider: z.enum(providerTypes), account: z.string().brand<"AccountName">() });

const rowSchema = () =>
  z.looseObject({
    state: z.enum(callStates),
    reason: z.string(),
    lane: text,
    dueAt: time,
    claims: z._default(z.array(z.string()), []),
    released: z.optional(z.array(z.string())),
    attempt: z._default(z.number(), 0),
    resent: z._default(z.boolean(), false),
    claimedAt: time,
    lostUntil: time,
    unknownSince: time,
    misses: z._default(z.number(), 0),
    request: z._default(z.nullable(storedCallRequestSchema), null),
    batchCalls: z._default(z.number(), 1),
    notBefore: time,
    isUrgent: z._default(z.boolean(), false),
    labels: z.optional(labelsSchema),
    split: z.optional(z.string()),
    traceparent: z.optional(z.string()),
    first: z.optional(z.enum(["request", "agent"])),
    ancestors: z._default(z.array(z.string()), []),
    tries: z.optional(triesSchema),
    next: z.optional(nextTrySchema),
    callBack: z.optional(callBackSchema),
    route: z._default(z.nullable(routeSchema()), null),
    providerCallId: text,
    result: z._default(z.nullable(callResultSchema), null),
    optedOut: z._default(z.boolean(), false),
    erasedAt: z.optional(z.number()),
    echo: z._default(z.nullable(z.record(z.string(), z.string())), null),
    events: z._default(z.array(callEventSchema), []),
    deliverTo: text,
    deliverAt: time,
    clientReceiverEcho: z.optional(z.record(z.string(), z.string())),
    clientReceiverTo: z.optional(z.string()),
    clientReceiverAt: z.optional(z.number()),
    redialedAs: text,
    client: z.string(),
    mode: z._default(z.enum(modes), "live"),
    agentId: z.string(),
    numberHash: z.string(),
    numberTail: z.string(),
    acceptedAt: z.number(),
    updatedAt: z.number(),
    history: z._default(z.array(historySchema()), []),
  });

/**
 * Parses a stored row. Undefined if this version cannot read it, as only a later version knows its state or its
 * route's type, a field of its request, or what it `needs`.
 */
export function parseRow(id: string, version: string, stored: unknown): CallRow | undefined {
  if (needsLater(stored)) return undefined;
  const { data } = z.built(rowSchema).safeParse(stored);
  if (data === undefined) return undefined;
  // The route's other fields are not parsed: its provider's schema may have become stricter since the write.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its type is one that is known
  return { ...data, route: data.route as Route | null, id, version };
}

/** Counters that read as 0 if absent. */
const counters: ReadonlySet<string> = new Set(["attempt", "misses"] satisfies (keyof CallRow)[]);

/** Returns a row in its stored form: without id and version, and without fields that have their defaults. */
export function toStoredRow(row: CallRow): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).filter(([name, value]) => {
      if (name === "id" || name === "version" || value === null || value === false) return false;
      if (value === 0 && counters.has(name)) return false;
      if (value === 1 && name === "batchCalls") return false;
      if (value === "live" && name === "mode") return false;
      return !(Array.isArray(value) && value.length === 0);
    }),
  );
}
