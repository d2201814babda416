import { describe, expect, it } from "vitest";
import { createRequestId, withCalls } from "#shared/calls/ids.ts";
import { markAccepted, mayBeAccepted } from "#shared/calls/issued-ids.ts";
import { randomId } from "#shared/lib/random.ts";

const key = "5f".repeat(32);
const other = "6a".repeat(32);
const accept = (at = Date.now(), calls = 1) =>
  markAccepted(withCalls(createRequestId(at, randomId()), calls), key);
/** One of a million wrong ids passes: more than two of 500 pass once in ten thousand million runs. */
const byChanceMax = 2;

describe("the id of an accepted request", () => {
  it("proves that it was accepted, under either key", () => {
    let byChance = 0;
    for (let n = 0; n < 500; n++) {
      const id = accept(n * 1e9, n * 7);
      expect(mayBeAccepted(id, { current: key })).toBe(true);
      expect(mayBeAccepted(id, { current: other, former: key })).toBe(true);
      if (mayBeAccepted(id, { current: other })) byChance += 1;
    }
    expect(byChance).toBeLessThanOrEqual(byChanceMax);
  });

  it("proves nothing where it is made up, or where its time, calls or random digits are changed", () => {
    const madeUp = Array.from({ length: 500 }, () => createRequestId(Date.now(), randomId()));
    const passing = madeUp.filter((id) => mayBeAccepted(id, { current: key }));
    expect(passing.length).toBeLessThanOrEqual(byChanceMax);
    const id = accept();
    for (let at = 0; at < id.length; at++) {
      const changed = id.slice(0, at) + (id[at] === "0" ? "1" : "0") + id.slice(at + 1);
      expect(mayBeAccepted(changed, { current: key })).toBe(false);
    }
  });

  it("is still unlike any other", () => {
    const ids = Array.from({ length: 2_000 }, () => accept(5));
    expect(new Set(ids).size).toBe(2_000);
  });
});
