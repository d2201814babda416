import type { CallRow } from "../calls/call-row.ts";
import { minuteMs } from "../lib/units.ts";
import * as z from "../lib/zod.ts";

/** Maximum bytes of an answer. */
export const answerBytesMax = 16_384;

/** Text of up to 256 characters that can be printed in one line. */
const evidence = z
  .string()
  .check(z.maxLength(256), z.regex(/^[^\p{C}\p{Zl}\p{Zp}]*$/u, "must be printable"));

const answerSchema = z.discriminatedUnion("decision", [
  z.looseObject({ decision: z.literal("call"), evidence: z.optional(evidence) }),
  z.looseObject({ decision: z.literal("wait"), until: z.iso.datetime({ offset: true }) }),
  /** The reason is a code, as it appears in logs and events. With at most four digits it cannot hold a number. */
  z.looseObject({
    decision: z.literal("refuse"),
    reason: z.string().check(z.regex(/^(?!(?:\D*\d){5})[a-z0-9_]{1,40}$/)),
  }),
  z.looseObject({ decision: z.literal("never") }),
]);

/** Answer of a check about a call. Times are milliseconds since the epoch. */
export type CheckAnswer =
  | { decision: "call"; evidence?: string | undefined }
  | { decision: "wait"; until: number }
  | { decision: "refuse"; reason: string }
  | { decision: "never" }
  /** No valid answer. `code` says why, for logs and the circuit breaker. */
  | { decision: "failed"; code: string };

/** Parses a check's answer. Everything but a 2xx with a known decision has failed. */
export function parseCheckAnswer(
  answer: { status: number; text: string } | { error: string },
): CheckAnswer {
  const failed = (code: string) => ({ decision: "failed", code }) as const;
  if ("error" in answer) return failed(answer.error.toLowerCase());
  const { status, text } = answer;
  if (status < 200 || status > 299) return failed(`http_${status}`);
  if (Buffer.byteLength(text) > answerBytesMax) return failed("answer_too_long");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return failed("answer_unreadable");
  }
  const { data } = answerSchema.safeParse(value);
  if (data === undefined) return failed("answer_unreadable");
  switch (data.decision) {
    case "call":
      return { decision: "call", evidence: data.evidence };
    case "wait":
      return { decision: "wait", until: Date.parse(data.until) };
    case "refuse":
      return { decision: "refuse", reason: data.reason };
    case "never":
      return { decision: "never" };
  }
}

/** Minimum of a wait that a check asks for. */
const waitMsMin = minuteMs;
/** Maximum wait after a check has failed. */
const retryMsMax = 15 * minuteMs;

/**
 * Returns the time at which a call whose check has failed asks again: it waits for as long as the check has failed for it,
 * up to
 * fifteen minutes.
 *
 * @param row as read, with its earlier waits
 * @param failed the reason of this wait
 * @param time.firstMs the first wait: the interval between sweeps, a minute but in a local run
 */
export function retryCheckAt(
  { reason, history }: Pick<CallRow, "reason" | "history">,
  failed: string,
  { now, firstMs }: { now: number; firstMs: number },
): number {
  const last = history.at(-1);
  // A full history no longer shows since when the check has failed.
  const since = reason !== failed ? now : last?.reason === failed ? last.at : 0;
  return now + Math.min(Math.max(now - since, firstMs), retryMsMax);
}

/** Returns the time at which a call waits on behalf of a check, which asked for `until`. */
export function waitUntil(until: number, { now, expiresAt }: { now: number; expiresAt: number }) {
  return Math.min(Math.max(until, now + waitMsMin), expiresAt);
}
