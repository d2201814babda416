import type { Decided } from "../calls/state-machine.ts";
import * as z from "../platform/zod.ts";

const dayMs = 86_400_000;
/** Wait after a full cap that frees no place in time: longer than any call under way that may yet leave the cap. */
const overCapMs = 180_000;
/** Maximum rolling period of a cap, for which a call is remembered. */
export const capDaysMax = 60;
/** Maximum count of a cap, and so of the calls to a number that are remembered. */
const capCountMax = 1000;

/** At most `count` calls to one number in any rolling `days` × 24 hours. */
export const frequencyCapSchema = z.strictObject({
  count: z.int().check(z.minimum(1), z.maximum(capCountMax)),
  days: z.number().check(z.positive(), z.maximum(capDaysMax)),
});
export type FrequencyCap = z.infer<typeof frequencyCapSchema>;

/**
 * Returns the time at which a number may be called again under all caps, in milliseconds since the epoch:
 * `at` itself if it may be called then.
 *
 * @param times times of the other calls to the number, in any order
 */
export function freeAt(
  times: readonly number[],
  caps: readonly FrequencyCap[],
  at: number,
): number {
  const newestFirst = times.toSorted((a, b) => b - a);
  const free = caps.map(({ count, days }) => {
    const blocking = newestFirst[count - 1]; // once this call has left the period, fewer than `count` are in it
    return blocking === undefined ? at : Math.ceil(blocking + days * dayMs);
  });
  return Math.max(at, ...free);
}

/**
 * Decides a call whose number has been called as often as its caps allow: it waits until the number is free. Where
 * that lies beyond its lifetime, it waits once for a call under way that may yet leave the cap, and then expires.
 *
 * @param free time at which the number is free, in milliseconds since the epoch
 * @param reason that of the row, as read
 */
export function overCap(
  free: number,
  { now, expiresAt, reason }: { now: number; expiresAt: number; reason: string | undefined },
): Extract<Decided, { state: "WAITING" }> | { state: "EXPIRED"; reason: string } {
  if (free < expiresAt) return { state: "WAITING", reason: "max_calls", dueAt: free };
  if (reason === "max_calls") return { state: "EXPIRED", reason: "max_calls" };
  return { state: "WAITING", reason: "max_calls", dueAt: Math.min(now + overCapMs, expiresAt) };
}
