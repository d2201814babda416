import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Speed, speedAfter, toSeenPace } from "#shared/policy/account-speed.ts";
import { toPace } from "#shared/telephony/rate.ts";

/** Looks every two seconds at an account that completes calls at a rate. */
function lookFor(seconds: number, rate: number, before?: Speed, from = 0): Speed | undefined {
  let speed = before;
  let done = 0;
  for (let at = 2; at <= seconds; at += 2) {
    const completed = Math.floor(at * rate) - done;
    done += completed;
    speed = speedAfter(speed, { completed, at: from + at * 1000, isLimited: true });
  }
  return speed;
}
const perSecond = (pace: { intervalUs: number } | undefined) => pace && 1_000_000 / pace.intervalUs;

describe("the seen speed of an account", () => {
  it("is the rate at which it completes calls while others wait", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.2, max: 200, noNaN: true }),
        fc.integer({ min: 120, max: 1200 }),
        (rate, seconds) => {
          const speed = lookFor(seconds, rate);
          expect(speed).toBeDefined();
          const seen = perSecond(speed && toSeenPace(speed, undefined)) ?? 0;
          // A call more or less in the time that counts.
          expect(Math.abs(seen - rate)).toBeLessThanOrEqual(rate * 0.02 + 2 / 60);
        },
      ),
    );
  });

  it("follows a provider that becomes slower", () => {
    const speed = lookFor(600, 1, lookFor(600, 10), 600_000);
    const seen = perSecond(speed && toSeenPace(speed, toPace(10, 1))) ?? 0;
    expect(seen).toBeGreaterThan(0.9);
    expect(seen).toBeLessThan(1.4);
  });

  it("says nothing of an account that keeps its pace, however slow the pace is", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.02, max: 100, noNaN: true }),
        fc.integer({ min: 10, max: 900 }),
        (rate, seconds) => {
          const speed = lookFor(seconds, rate);
          expect(speed && toSeenPace(speed, toPace(rate, 1))).toBeUndefined();
        },
      ),
    );
  });

  it("counts no time in which nothing waited, nobody looked, or the first calls were under way", () => {
    const first = speedAfter(undefined, { completed: 0, at: 10_000, isLimited: true });
    expect(first).toBeUndefined();
    const begun = speedAfter(first, { completed: 5, at: 20_000, isLimited: true });
    expect(begun).toEqual({ calls: 0, ms: 0, at: 20_000 });
    const idle = speedAfter(begun, { completed: 0, at: 22_000, isLimited: false });
    expect(idle).toEqual({ calls: 0, ms: 0, at: null });
    const late = speedAfter(begun, { completed: 3, at: 90_000, isLimited: true });
    expect(late).toEqual({ calls: 0, ms: 0, at: 90_000 });
  });
});
