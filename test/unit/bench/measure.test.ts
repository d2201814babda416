import { expect, it } from "vitest";
import { type Failed, inTurns } from "#test/bench/measure.ts";

/** A contender whose rounds cost one after the other these numbers. Undefined: the round fails. */
function contender(name: string, costs: (number | undefined)[]) {
  const taken: number[] = [];
  return {
    name,
    taken,
    async round() {
      const cost = costs[taken.length];
      taken.push(cost ?? NaN);
      if (cost === undefined) throw new Error(`${name} made 1 of 2 calls\nand more`);
      return cost;
    },
  };
}

it("measures the others on where one of them fails, and says why", async () => {
  const failed: Failed = new Map();
  const [one, other] = [contender("one", [9, 1, undefined, 1]), contender("other", [9, 3, 1, 2])];
  expect(await inTurns([one, other], { count: 3, failed })).toEqual([
    { name: "other", median: 2, low: 1, high: 3 },
  ]);
  expect(failed).toEqual(new Map([["one", "one made 1 of 2 calls"]]));
  expect(one.taken).toHaveLength(3);
});

it("throws the failure where a comparison needs all of them", async () => {
  const broken = contender("broken", [1, undefined]);
  await expect(inTurns([broken], { count: 2 })).rejects.toThrow("broken made 1 of 2 calls");
});
