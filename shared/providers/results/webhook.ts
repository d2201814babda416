import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import * as z from "zod";
import { resultStatuses } from "../../calls/call-result.ts";
import type { SignedCallback, ToldResult } from "../dialing-provider.ts";

/** Age up to which a signed callback counts, in both directions (Standard Webhooks). */
const ageSecondsMax = 300;

const time = z.iso
  .datetime({ offset: true })
  .transform((text) => Date.parse(text))
  .nullish();
/** The body in which a receiver tells what became of a call. */
const toldSchema = z.strictObject({
  status: z.enum(resultStatuses),
  seconds: z.number().min(0).max(604_800).nullish(),
  answered_at: time,
  ended_at: time,
  human: z.boolean().nullish(),
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
  const { status, seconds = null, answered_at, ended_at, human = null } = data;
  const times = { answeredAt: answered_at ?? null, endedAt: ended_at ?? null };
  return { kind: "told", result: { status, human, word: status, seconds, ...times } };
}

function isSignedBy(key: KeyObject, { body, headers, receivedAt }: SignedCallback): boolean {
  const id = headers["webhook-id"] ?? "";
  const timestamp = headers["webhook-timestamp"] ?? "";
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(receivedAt / 1000 - Number(timestamp)) > ageSecondsMax) return false;
  const right = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest();
  // While a secret is rotated, a sender signs by both.
  return (headers["webhook-signature"] ?? "").split(" ").some((one) => {
    const [version, text = ""] = one.split(",", 2);
    const given = Buffer.from(text, "base64");
    return version === "v1" && given.length === right.length && timingSafeEqual(given, right);
  });
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
