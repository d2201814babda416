import * as z from "../lib/zod.ts";
import { dayMs } from "../lib/units.ts";

/** Maximum period of a cap in days. Calls are remembered for this long. */
export const capDaysMax = 60;
/** Maximum count of a cap. It bounds the remembered calls of a number. */
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
