import { describe, expect, it } from "vitest";
import { compareArms, differenceOf, quantileFor, sizeOf } from "#shared/policy/split-verdict.ts";

const z95 = 1.959964;

/** Returns the share of the standard normal distribution below z, by Simpson's rule over its density. */
function shareBelow(z: number): number {
  const steps = 2_000;
  const width = z / steps;
  const density = (x: number) => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
  let sum = density(0) + density(z);
  for (let step = 1; step < steps; step++) sum += (step % 2 === 0 ? 2 : 4) * density(step * width);
  return 0.5 + (sum * width) / 3;
}

describe("the interval of a difference", () => {
  // Newcombe, Statistics in Medicine 17 (1998), table II, method 10.
  it.each([
    { one: [56, 70], other: [48, 80], low: 0.0524, high: 0.3339 },
    { one: [9, 10], other: [3, 10], low: 0.1705, high: 0.809 },
    { one: [5, 56], other: [0, 29], low: -0.0381, high: 0.1926 },
    { one: [0, 10], other: [0, 10], low: -0.2775, high: 0.2775 },
    { one: [10, 10], other: [0, 20], low: 0.6791, high: 1 },
  ] as const)(
    "for $one minus $other equals the author's published figures",
    ({ one, other, low, high }) => {
      const share = ([count, of]: readonly [number, number]) => ({ count, of });
      const found = differenceOf(share(one), share(other), z95);
      expect(found.low).toBeCloseTo(low, 4);
      expect(found.high).toBeCloseTo(high, 4);
    },
  );
});

describe("a split", () => {
  it("shares its five percent among the comparisons with its first arm", () => {
    for (let arms = 2; arms <= 10; arms++) {
      expect(2 * (arms - 1) * (1 - shareBelow(quantileFor(arms)))).toBeCloseTo(0.05, 6);
    }
  });

  it("needs more chains for a smaller difference, and for more arms", () => {
    // (1.96 + 0.8416)² / (2 · 0.05²), as in any table of sample sizes for two shares near one half.
    expect(sizeOf({ arms: 2, points: 5 })).toBe(1_570);
    expect(sizeOf({ arms: 2, points: 10 })).toBe(393);
    expect(sizeOf({ arms: 3, points: 5 })).toBeGreaterThan(1_570);
  });

  it("is judged by completed chains, and says where nothing is shown", () => {
    const ended = 2_000;
    const arm = (name: string, completed: number) => {
      return { arm: name, ended, answered: 1_500, completed };
    };
    const compared = compareArms([arm("a", 500), arm("b", 640), arm("c", 380), arm("d", 520)]);
    expect(compared.map(({ arm: name, completes }) => [name, completes])).toEqual([
      ["b", "more"],
      ["c", "fewer"],
      ["d", "not_shown"],
    ]);
    expect(compared[0]?.completed.difference).toBeCloseTo(0.07, 10);
    expect(compared[0]?.answered.difference).toBe(0);
  });
});
