import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  findExcess,
  isDense,
  type JsonStructure,
  judgeStructure,
} from "#functions/api/http/json-structure.ts";
import { endpoints } from "#functions/api/calls/endpoints.ts";
import { inSlowTier, perTier } from "#test/support/per-tier.ts";
import { objectOf, rightCall } from "#test/support/arbitrary-calls.ts";
import { anyCharacter } from "#test/support/any-character.ts";

const structure: JsonStructure = {
  levels: [
    [20, "calls"],
    [6, "fields"],
    [4, "entries"],
  ],
};
const ofBatch = endpoints.find(({ path }) => path === "/v1/calls/batch")?.structure ?? structure;

const bytesOf = (text: string) => new TextEncoder().encode(text);
const judge = (text: string) => judgeStructure(bytesOf(text), structure);
const sizeMax = 4 * 1024 * 1024;
/** Bytes of repeated texts, as many as fit into the largest body. */
const filledWith = (text: string) => bytesOf(`[${text.repeat(sizeMax / text.length)}`);

/** Members of an object, whose names are numbers. */
const numbered = (count: number, rest: string) =>
  Array.from({ length: count }, (_, n) => `"${n}${rest}`).join(",");

/** True if a value keeps within the structure, member by member. */
function fits(value: unknown, depth = 0): boolean {
  if (typeof value !== "object" || value === null) return true;
  const values = Object.values(value);
  const { levels } = structure;
  const [most = 0] = levels[depth] ?? [];
  return (
    depth < levels.length && values.length <= most && values.every((one) => fits(one, depth + 1))
  );
}

describe("the structure of a large body", () => {
  it("is judged without parsing as it would be after it", () => {
    const json = fc.json({ depthSize: "large", maxDepth: 5, stringUnit: anyCharacter });
    fc.assert(
      fc.property(json, fc.nat(), (text, space) => {
        const value: unknown = JSON.parse(text);
        const spaced = space % 2 === 0 ? text : JSON.stringify(value, null, 1);
        expect(judge(spaced) === undefined).toBe(fits(value));
      }),
      { numRuns: perTier({ quick: 100, long: 1_000 }) },
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
    expect(findExcess(bytesOf("[[[[[]]]]]"), structure)).toBeUndefined();
  });

  it.each(["[", "{},", "0,", '"a",', '{"abcd":1},', '[      ""],', '":",0,"::",'])(
    "is judged of a large one of %s, whatever is looked at",
    inSlowTier,
    (text) => {
      const body = filledWith(text);
      for (let n = 0; n < 10; n++) expect(findExcess(body, structure)).toMatch(/^must /);
    },
  );

  it(
    "is judged where what is too much stands together, or at places that look alike",
    inSlowTier,
    () => {
      const cluster = "{},".repeat(sizeMax / 14);
      const blank = " ".repeat(sizeMax - cluster.length);
      for (const text of [blank + cluster, cluster + blank]) {
        expect(findExcess(bytesOf(`[${text}`), structure)).toMatch(/^must /);
      }
      const everyWindow = `${" ".repeat(512)}${"{},".repeat(84)}  ${" ".repeat(258)}`;
      const body = filledWith(everyWindow);
      for (let n = 0; n < 10; n++) expect(isDense(body, Math.random)).toBe(true);
    },
  );

  it("is judged wherever brackets stand between strings, whatever these hold", inSlowTier, () => {
    const bracket = fc.constantFrom("[", "{}", "[],", "0,", "  ");
    const inside = fc.string({
      unit: fc.constantFrom(...'\\\\"\\/b,[{: x'.split("")),
      maxLength: 80,
    });
    const chunks = fc.array(
      fc.oneof(
        bracket,
        inside.map((text) => JSON.stringify(text)),
      ),
      {
        minLength: 1,
        maxLength: 30,
      },
    );
    fc.assert(
      fc.property(chunks, fc.nat({ max: 63 }), (parts, before) => {
        const text = parts.join("");
        const times = Math.ceil(2_000_000 / text.length);
        const outside = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, "");
        const brackets = outside.replaceAll(/[^[{]/g, "").length / text.length;
        fc.pre(brackets > 2 / 25);
        const body = bytesOf(" ".repeat(before) + text.repeat(times));
        expect(isDense(body, Math.random)).toBe(true);
      }),
      { numRuns: perTier({ quick: 10, long: 300 }) },
    );
  });

  it("is judged where looks begin within an escape", () => {
    const string = `"${"x".repeat(62)}\\`; // its other backslash begins the next look
    const brackets = `\\"${"[".repeat(62)}`;
    const body = bytesOf(string + (brackets + string).repeat(4000));
    for (let n = 0; n < 10; n++) expect(isDense(body, Math.random)).toBe(true);
    const backslashes = `"${"\\\\".repeat(100)}"${"[".repeat(100)}`;
    expect(isDense(filledWith(backslashes), Math.random)).toBe(true);
  });

  it("is left to the schema where brackets and commas stand in strings", inSlowTier, () => {
    const notes = [
      "a,b,c,d,".repeat(50),
      JSON.stringify(Array.from({ length: 60 }, (_, n) => `v${n}`)),
      JSON.stringify(Array.from({ length: 30 }, (_, n) => ({ id: n, of: [n] }))),
      JSON.stringify(Array.from({ length: 30 }, (_, n) => [n, n / 8])),
      "[".repeat(330),
      `"${"[".repeat(330)}`,
      ",1".repeat(100),
      "}]".repeat(500),
      "\\\\".repeat(80) + "[1],".repeat(80),
    ];
    for (const note of notes) {
      const call = { phone_number: "+12025550123", agent_id: "agent_sales", context: { note } };
      expect(isDense(filledWith(`${JSON.stringify(call)},`), Math.random)).toBe(false);
    }
  });

  it(
    "is judged where half of it is values without keys, whatever the others are",
    inSlowTier,
    () => {
      const bare = "0,".repeat(sizeMax / 8);
      const named = '"a":0,'.repeat(sizeMax / 24);
      const spaced = `[${"0,".repeat(12)}0],{${'"abcd":0,'.repeat(12)}"a":0},`;
      for (const text of [`[${bare}{${named}`, `{${named}"a":[${bare}`]) {
        for (let n = 0; n < 10; n++) expect(isDense(bytesOf(text), Math.random)).toBe(true);
      }
      for (let n = 0; n < 10; n++) expect(isDense(filledWith(spaced), Math.random)).toBe(true);
    },
  );

  it.each([
    `{${numbered(199, '":[]')}},`,
    `{${numbered(199, '":{}')}},`,
    `{${numbered(100, '":{"a":0}')}},`,
    `{${numbered(100, `":[${"0,".repeat(100)}0]`)}},`,
    `[${"[],".repeat(150)}[]],`,
  ])(
    "is refused unparsed where no call is so dense, however few members it has: %#",
    inSlowTier,
    (text) => {
      const body = filledWith(text);
      expect(judgeStructure(body, { levels: ofBatch.levels })).toBeUndefined();
      for (let n = 0; n < 5; n++) {
        expect(findExcess(body, ofBatch)).toBe("must have fewer brackets and commas for its size");
      }
    },
  );

  it("is refused where its beginning is denser than any call, before the rest is read", () => {
    for (const text of [
      `{${numbered(199, '":[]')}},`,
      `{${numbered(100, `":[${"0,".repeat(100)}0]`)}},`,
    ]) {
      const dense = `[${text.repeat(80_000 / text.length)}`;
      for (const rest of [
        `{"a":"${"x".repeat(300_000)}"}]`,
        "\n".repeat(300_000),
        ":".repeat(300_000),
      ]) {
        const body = bytesOf(dense + rest);
        expect(judgeStructure(body, ofBatch)).toBe(
          "must have fewer brackets and commas for its size",
        );
        expect(judgeStructure(body, { levels: ofBatch.levels })).toBeUndefined();
      }
    }
  });

  it("is left to the parser, or refused where it begins, at any density", inSlowTier, () => {
    // Whoever is judged whole and then parsed costs nearly twice the parse.
    for (const bytes of [14, 16, 18, 19, 20, 21, 22, 24, 26]) {
      const entries = Array.from({ length: 20 }, (_, n) => `${n}`.padStart(bytes - 6, "x"));
      const body = filledWith(`{${entries.map((name) => `"${name}":{}`).join(",")}},`);
      const begun = body.subarray(0, 600_000);
      for (let n = 0; n < 3; n++) {
        if (isDense(body, Math.random))
          expect(judgeStructure(begun, ofBatch)).toBe(
            "must have fewer brackets and commas for its size",
          );
      }
    }
  });

  it("is that of any right batch", inSlowTier, () => {
    const shortest = fc.constantFrom("", ',"context":{}', ',"context":{"":""}');
    const call = fc.oneof(
      rightCall.map((members) => objectOf(members)),
      shortest.map((rest) => `{"phone_number":"+1201555","agent_id":"a"${rest}}`),
    );
    fc.assert(
      fc.property(fc.array(call, { minLength: 1, maxLength: 20 }), (calls) => {
        const text = calls.join(",");
        const times = Math.min(300_000 / text.length, 9_000 / calls.length);
        const body = bytesOf(`[${`${text},`.repeat(times)}${text}]`);
        expect(judgeStructure(body, ofBatch)).toBeUndefined();
      }),
      { numRuns: perTier({ quick: 20, long: 300 }) },
    );
  });

  it(
    "lets a right batch pass whatever its texts hold, and however often it names its contexts",
    inSlowTier,
    () => {
      const number = '"phone_number":"+1201555","agent_id":"a"';
      const calls = [
        ...["[", "[],", "{},", "1,2,", '\\"[', "[[1,2],[3,4.5]],"].map(
          (text) => `{${number},"context":{"m":"${text.repeat(60)}"}},`,
        ),
        `{${number},${Array(3).fill('"context":{}').join(",")}},`,
      ];
      for (const call of calls) {
        const body = bytesOf(`[${call.repeat(Math.min(9_999, sizeMax / call.length))}`);
        for (let n = 0; n < 3; n++) expect(findExcess(body, ofBatch)).toBeUndefined();
      }
    },
  );

  it("is left to the schema in a right batch of the shortest calls or entries", inSlowTier, () => {
    const number = '"phone_number":"+1201555","agent_id":"a"';
    const entries = Array.from({ length: 100 }, (_, n) => `"${n}":""`).join(",");
    for (const call of [
      `{${number}},`,
      `{${number},"context":{}},`,
      `{${number},"context":{${entries}}},`,
    ]) {
      for (let n = 0; n < 10; n++) expect(isDense(filledWith(call), Math.random)).toBe(false);
    }
  });

  it(
    "is left to the schema in usual bodies, whose values take little more than their bytes",
    inSlowTier,
    () => {
      const call = { phone_number: "+12025550123", agent_id: "agent_sales" };
      const named = {
        ...call,
        context: { first_name: "Ada", city: "New York", account: "acc_77" },
      };
      const written = { ...call, context: { note: "Ask for Ada, and say hello. ".repeat(20) } };
      for (const one of [{ ...call, timezone: "America/New_York" }, named, written]) {
        expect(isDense(filledWith(`${JSON.stringify(one)},`), Math.random)).toBe(false);
      }
    },
  );
});
