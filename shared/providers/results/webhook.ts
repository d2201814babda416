import type { KeyObject } from "node:crypto";
import { resultStatuses } from "../../calls/call-result.ts";
import { isSignedBy } from "../../platform/standard-webhooks.ts";
import * as z from "../../platform/zod.ts";
import type { SignedCallback, ToldResult } from "../dialing-provider.ts";

const time = z.nullish(
  z.pipe(
    z.iso.datetime({ offset: true }),
    z.transform((text) => Date.parse(text)),
  ),
);
/** The body in which a receiver tells what became of a call. */
const toldSchema = z.strictObject({
  status: z.enum(resultStatuses),
  seconds: z.nullish(z.number().check(z.minimum(0), z.maximum(604_800))),
  answered_at: time,
  ended_at: time,
  human: z.nullish(z.boolean()),
  /** True if the callee asked not to be called again. */
  opt_out: z.nullish(z.boolean()),
});

/**
 * Verifies a callback by Standard Webhooks, and reads its result. Its `webhook-id` begins with the call's id, so that
 * nobody can post to one call's address what was signed for another.
 *
 * @param key undefined for a loopback host without a secret, whose callbacks need no signature
 */
export function toldByWebhook(
  signed: SignedCallback,
  key: KeyObject | undefined,
  callId: string | undefined,
): ToldResult {
  const { body, headers } = signed;
  const isOfCall = callId !== undefined && headers["webhook-id"]?.startsWith(callId) === true;
  if (key !== undefined && !(isOfCall && isSignedBy(key, signed))) return { kind: "unverified" };
  const { data } = toldSchema.safeParse(parsed(body));
  if (data === undefined) return { kind: "unverified" };
  const { status, seconds = null, answered_at, ended_at, human = null, opt_out } = data;
  const times = { answeredAt: answered_at ?? null, endedAt: ended_at ?? null };
  const result = { status, human, word: status, seconds, ...times };
  return { kind: "told", result, ...(opt_out === true ? { optedOut: true } : {}) };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
