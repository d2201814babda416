import { dayMs, hourMs } from "../lib/units.ts";

/** Size of the ledger at a time. */
interface SizeSample {
  at: number;
  bytes: number;
}

/** Sizes of a ledger that may not grow beyond `bytesMax`, of the last day, oldest first. */
export interface SizeHistory extends Record<string, unknown> {
  bytesMax: number;
  samples: SizeSample[];
}

/** Interval of samples, and the minimum time between two by which growth is measured. */
export const sampleEveryMs = hourMs;

/** Adds a sample, and drops those that are older than a day. */
export function addSample(
  history: SizeHistory | undefined,
  { bytes, bytesMax }: { bytes: number; bytesMax: number },
  at: number,
): SizeHistory {
  const kept = history?.samples.filter((one) => at - one.at <= dayMs) ?? [];
  return { ...history, bytesMax, samples: [...kept, { at, bytes }] };
}

/**
 * Returns the last size, its share of the maximum, and the time at which the ledger is full if it keeps growing as within
 * the last day. `fullAt` is undefined if it does not grow, or has been known for less than an hour.
 */
export function forecastSize({ samples, bytesMax }: SizeHistory) {
  const first = samples[0];
  const last = samples.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const grown = last.bytes - first.bytes;
  const isKnown = grown > 0 && last.at - first.at >= sampleEveryMs;
  const msLeft = ((bytesMax - last.bytes) / grown) * (last.at - first.at);
  return {
    bytes: last.bytes,
    share: last.bytes / bytesMax,
    fullAt: isKnown ? Math.round(last.at + Math.max(0, msLeft)) : undefined,
  };
}
