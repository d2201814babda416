import { describe, expect, it } from "vitest";
import { parseValue } from "#shared/ports/document-kinds.ts";
import { UnreadableError } from "#shared/ports/unreadable.ts";

const pause = { of: { agent: "agent_sales" }, at: 1, by: "operator" };

describe("a document of a later version", () => {
  it("is read whole if it has an unknown field, which stays", () => {
    const value = { ...pause, note: "a", needs: [] };
    expect(parseValue("pause", value)).toEqual(value);
  });

  it("keeps unknown fields inside its values", () => {
    const entry = { n: 1, at: 1, event: "a", type: "call.ended", try: 1, ms: 1, from: "later" };
    const value = { next: 2, tries: [entry] };
    expect(parseValue("deliveries", value)).toEqual(value);
    const size = { bytesMax: 9, samples: [{ at: 1, bytes: 2 }], unit: "page" };
    const sweep = { leaseUntil: 1, fullRoundAt: 1, roundBeganAt: 1, watchAfter: null, size };
    expect(parseValue("sweep", sweep)).toMatchObject({ size });
  });

  it.each([[["only-from"]], ["only-from"], [1], [null]])(
    "is not read if it needs %j, which this version does not know",
    (needs) => {
      expect(() => parseValue("pause", { ...pause, needs })).toThrow(UnreadableError);
    },
  );

  it("is not read if its orders or its pause are of fewer calls than this version would take them for", () => {
    const of = { agent: "agent_sales", campaign: "spring" };
    expect(() => parseValue("cancellation", { of, orders: [] })).toThrow(UnreadableError);
    expect(() => parseValue("pause", { ...pause, of })).toThrow(UnreadableError);
  });
});
