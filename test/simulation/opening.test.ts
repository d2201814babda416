import { expect, it } from "vitest";
import { measureOpening } from "./opening.ts";

it.each([
  { rows: 400_000, dialedPerSecond: 300 },
  { rows: 400_000, dialedPerSecond: 300, callsPerSecond: 100 },
  // Fewer rows than may be called up at once: they wait in the queue for minutes, and must not be called up
  // again.
  { rows: 40_000, dialedPerSecond: 30 },
])(
  "rows that are due at one opening are called up once each, by one sweep at a time: %o",
  async (of) => {
    const { hinted, left, sweepsAtOnce, minutes } = await measureOpening(of);
    expect(left).toBe(0);
    expect(hinted).toBeLessThanOrEqual(1.1);
    expect(sweepsAtOnce).toBe(1);
    const perSecond = Math.min(of.dialedPerSecond, of.callsPerSecond ?? Infinity);
    expect(minutes).toBeLessThanOrEqual(1.25 * (of.rows / perSecond / 60) + 2);
  },
  60_000,
);
