import { describe, expect, it } from "vitest";
import { hasIndex, toIndexSet } from "#shared/calls/index-set.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

describe("a set of indexes", () => {
  const inSet = (set: string) =>
    Array.from({ length: 100_001 }, (_, index) => index).filter((index) => hasIndex(set, index));

  const expectExactly = (some: number[]) =>
    expect(inSet(toIndexSet(some))).toEqual([...new Set(some)].toSorted((a, b) => a - b));
  it.each([[[0]], [[7, 8, 9]], [[5, 5]]])("has %j, and no other", inSlowTier, expectExactly);

  it("has the highest index that there is, and no other", inSlowTier, () => {
    expectExactly([99_999, 0, 12_345]);
  });

  it("keeps what it had when it is extended, on either side", () => {
    expect(inSet(toIndexSet([3], toIndexSet([70])))).toEqual([3, 70]);
    expect(inSet(toIndexSet([70], toIndexSet([3])))).toEqual([3, 70]);
  });

  it("is small for every index of the largest request", () => {
    const all = Array.from({ length: 10_000 }, (_, index) => index);
    expect(toIndexSet(all).length).toBeLessThan(1700);
  });
});
