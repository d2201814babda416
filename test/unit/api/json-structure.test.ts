import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findExcess, type JsonStructure } from "../../../functions/api/http/json-structure.ts";
import { perTier } from "../../support/per-tier.ts";

const structure: JsonStructure = [
  [20, "calls"],
  [6, "fields"],
  [4, "entries"],
];

/** Bytes of a text that is large enough to be judged. */
const large = (text: string) => new TextEncoder().encode(text + " ".repeat(256 * 1024));
const judge = (text: string) => findExcess(large(text), structure);

/** True if a value keeps within the structure, member by member. */
function fits(value: unknown, depth = 0): boolean {
  if (typeof value !== "object" || value === null) return true;
  const members = Object.values(value);
  const [most = 0] = structure[depth] ?? [];
  return (
    depth < structure.length &&
    members.length <= most &&
    members.every((one) => fits(one, depth + 1))
  );
}

describe("the structure of a large body", () => {
  it("is judged without parsing as it would be after it", () => {
    const json = fc.json({ depthSize: "large", maxDepth: 5, stringUnit: "binary" });
    fc.assert(
      fc.property(json, fc.nat(), (text, space) => {
        const value: unknown = JSON.parse(text);
        const spaced = space % 2 === 0 ? text : JSON.stringify(value, null, 1);
        expect(judge(spaced) === undefined).toBe(fits(value));
      }),
      { numRuns: perTier({ quick: 300, slow: 1_000 }) },
    );
  });

  it("names the excess", () => {
    expect(judge(`[${Array(21).fill("{}").join()}]`)).toBe("must have at most 20 calls");
    expect(judge('[{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7}]')).toBe(
      "must have at most 6 fields",
    );
    expect(judge("[[[[")).toBe("must not be nested more than 3 deep");
  });

  it("leaves what is in strings, and what is no JSON", () => {
    for (const text of [
      '["[[[[,,,,\\"[[[["]',
      `["${"\\\\".repeat(100)}","${"x".repeat(100)}\\"[[["]`,
    ]) {
      expect(judge(text)).toBeUndefined();
    }
    for (const text of ["]]]]", '"', '"\\', `["${"x".repeat(60)}\\`, "", ",,,,,"]) {
      expect(judge(text)).toBeUndefined();
    }
  });

  it("is not judged of a small body, which names each problem", () => {
    expect(findExcess(new TextEncoder().encode("[[[[[]]]]]"), structure)).toBeUndefined();
  });
});
