import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { partLimits, splitCalls } from "#infra/client/split-calls.ts";
import type { Call } from "#infra/client/types.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const aCall = fc.record({
  phone_number: fc.constant("+12025550123"),
  agent_id: fc.string({ maxLength: 20, unit: "grapheme" }),
});

describe("a list of calls", () => {
  it("is split into parts that fit, of which none is empty, and which together are the list", () => {
    const property = fc.property(
      fc.array(aCall, { minLength: 1 }),
      fc.integer({ min: 1, max: 7 }),
      (calls, most) => {
        const limits = { calls: most, bytes: 300 };
        const parts = splitCalls(calls, limits);
        const lists: Call[][] = parts.map(({ text }) => JSON.parse(text));
        expect(lists.flat()).toEqual(calls);
        for (const [index, { text, count, from }] of parts.entries()) {
          expect([lists[index]?.length, from]).toEqual([
            count,
            lists.slice(0, index).flat().length,
          ]);
          expect(count).toBeGreaterThan(0);
          expect(count).toBeLessThanOrEqual(most);
          expect(Buffer.byteLength(text) <= limits.bytes || count === 1).toBe(true);
          // No call of the next part would have fitted into this one.
          const next = lists[index + 1]?.[0];
          const longer = `${text.slice(0, -1)},${JSON.stringify(next)}]`;
          if (next !== undefined && count < most)
            expect(Buffer.byteLength(longer)).toBeGreaterThan(limits.bytes);
        }
      },
    );
    fc.assert(property);
  });

  // The same list under the same key must have the same parts under every version of the library.
  it("is split by what the service takes", inSlowTier, () => {
    expect(partLimits).toEqual({ calls: 10_000, bytes: 4_194_304 });
    const calls = Array.from({ length: 20_001 }, () => ({
      phone_number: "+12025550123",
      agent_id: "a",
    }));
    expect(splitCalls(calls, partLimits).map(({ from, count }) => [from, count])).toEqual([
      [0, 10_000],
      [10_000, 10_000],
      [20_000, 1],
    ]);
    const large = calls
      .slice(0, 300)
      .map((call) => ({ ...call, context: { note: "ä".repeat(15_000) } }));
    expect(splitCalls(large, partLimits).map(({ count }) => count)).toEqual([139, 139, 22]);
  });

  it("is one request that the service refuses if it is empty", () => {
    expect(splitCalls([], partLimits)).toEqual([{ from: 0, count: 0, text: "[]" }]);
  });
});
