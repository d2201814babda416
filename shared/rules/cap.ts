import type { Verdict } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

/**
 * Wait for a full cap that is not free before the call expires: longer than any dialing that may still be removed
 * from the cap.
 */
const overCapMs = 180_000;

/**
 * Judges a call whose number has been called as often as its caps allow: it waits until the number is free. If that
 * is after its lifetime, the call waits once, for a call under way that may still be removed from the cap, and then
 * expires.
 *
 * @param freeAt time at which the number is free, in milliseconds since the epoch
 */
export function judgeFull(
  {
    expiresAt,
    row,
  }: { expiresAt: number; row: Pick<NonNullable<ResolvedCall["row"]>, "reason"> | undefined },
  { freeAt, now }: { freeAt: number; now: number },
): Exclude<Verdict, { kind: "hold" }> {
  const reason = "max_calls";
  if (freeAt < expiresAt) return { kind: "later", reason, at: freeAt };
  if (row?.reason === reason) return { kind: "end", state: "EXPIRED", reason };
  return { kind: "later", reason, at: Math.min(now + overCapMs, expiresAt) };
}
