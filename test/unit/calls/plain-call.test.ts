import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  callFields,
  callRequestSchema,
  isPlainCall,
  storedCallRequestSchema,
} from "#shared/calls/call-request.ts";
import { inSlowTier, perTier } from "#test/support/per-tier.ts";

/** Parses values of JSON, including own keys `__proto__`. */
const read = (json: string): unknown => JSON.parse(json);

const texts = fc.oneof(
  fc.constantFrom("", "A", "Zoë", "\u0000", "\ud800", "😀", "__proto__", "x".repeat(2_000)),
  fc.string({ unit: "grapheme", maxLength: 40 }),
);
const anyJson = fc.jsonValue({ maxDepth: 2 });
const context = fc.oneof(
  fc.dictionary(texts, fc.oneof({ weight: 9, arbitrary: texts }, anyJson), { maxKeys: 12 }),
  fc.constantFrom(101, 100, 99).map((entries) => manyEntries(entries, "x")),
  fc.constantFrom(40, 50, 300, 330).map((length) => manyEntries(90, "x".repeat(length))),
  anyJson,
);
/** Generates mostly values that may pass. */
const mostly = (...values: string[]) =>
  fc.oneof({ weight: 15, arbitrary: fc.constantFrom(...values) }, anyJson);
const call = fc.record(
  {
    phone_number: mostly("+12025550123", "+447700900000", "+18005550100", "+5305555555", "+1"),
    agent_id: fc.oneof(
      { weight: 9, arbitrary: mostly("agent", "a".repeat(128), "Zoë", "a".repeat(129), "\u200b") },
      texts,
    ),
    context,
    timezone: mostly("America/New_York", "us/eastern", "+05:30", "Z", "Mars"),
  },
  { requiredKeys: [] },
);
/** Generates calls of which most have the required fields, few have others, and some have any value in any field. */
const likelyCall = fc
  .tuple(call, fc.nat({ max: 9 }), fc.constantFrom(...callFields), anyJson)
  .map(([fields, kind, field, value]) => {
    if (kind === 0) return { ...fields, time_zone: "UTC" };
    const likely = { phone_number: "+12025550123", agent_id: "agent", ...fields };
    return kind === 1 ? { ...likely, [field]: value } : likely;
  });

function manyEntries(entries: number, text: string): Record<string, string> {
  return Object.fromEntries(Array.from({ length: entries }, (_, n) => [`k${n}`, text]));
}

describe("a call that is plain at a glance", () => {
  it("is one that its schema passes as it stands", inSlowTier, () => {
    let plain = 0;
    fc.assert(
      fc.property(fc.oneof({ weight: 9, arbitrary: likelyCall }, anyJson), (value) => {
        const json = JSON.stringify(value).replaceAll('"k1"', '"__proto__"');
        const element = read(json);
        // V8 of Node 24.21 parses an escaped key of one character as a backslash, once it has parsed that key.
        fc.pre(JSON.stringify(element) === json);
        if (!isPlainCall(element)) return;
        plain += 1;
        expect(JSON.stringify(element)).toBe(json);
        expect(callRequestSchema.parse(element)).toEqual(read(json));
      }),
      { numRuns: perTier({ quick: 500, long: 5_000 }) },
    );
    expect(plain).toBeGreaterThan(perTier({ quick: 8, long: 100 }));
  });

  it("is nearly every call there is", () => {
    const common = { phone_number: "+12025550123", agent_id: "agent" };
    expect(isPlainCall(common)).toBe(true);
    expect(isPlainCall({ ...common, timezone: "Europe/Paris", context: { name: "Zoë 😀" } })).toBe(
      true,
    );
    expect(isPlainCall({ ...common, context: manyEntries(100, "x".repeat(30)) })).toBe(true);
  });
});

describe("the stored form of a call", () => {
  it("has the fields and types of a call, without their rules", () => {
    const stored = { phone_number: "1", agent_id: "", context: { "": "\ud800" }, timezone: "Mars" };
    expect(callRequestSchema.safeParse(stored).success).toBe(false);
    expect(storedCallRequestSchema.parse(stored)).toEqual(stored);
    for (const strange of [{ time_zone: "UTC" }, { timezone: 1 }, { context: { name: 1 } }]) {
      const { success } = storedCallRequestSchema.safeParse({ ...stored, ...strange });
      expect(success).toBe(false);
    }
  });
});
