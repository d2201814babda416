import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as mini from "zod/mini";
import * as later from "#shared/lib/zod.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

/** Builds the same schema by the functions of either module. */
function schemaBy(z: Omit<typeof mini, "default">) {
  const name = z.string().check(z.minLength(1), z.maxLength(3), z.describe("A short name"));
  const call = z.strictObject({
    name,
    kind: z.enum(["a", "b"]),
    count: z._default(z.int().check(z.minimum(0)), 7),
    tags: z.optional(z.array(z.union([name, z.literal(1)]))),
    more: z.nullish(
      z.record(
        z.string(),
        z.lazy(() => name),
      ),
    ),
  });
  return z.extend(call, {
    text: z.catch(
      z.pipe(
        z.string(),
        z.transform((text) => text.length),
      ),
      0,
    ),
  });
}

const anyValue = fc.oneof(
  fc.anything({ maxDepth: 2 }),
  fc.record(
    {
      name: fc.string({ maxLength: 4 }),
      kind: fc.constantFrom("a", "b", "c"),
      count: fc.oneof(fc.integer(), fc.double()),
      tags: fc.array(fc.constantFrom<unknown>("x", "", 1, 2), { maxLength: 3 }),
      more: fc.option(fc.dictionary(fc.string({ maxLength: 2 }), fc.string({ maxLength: 4 }))),
      text: fc.oneof(fc.string(), fc.integer()),
    },
    { requiredKeys: [] },
  ),
);

describe("a schema that is built when it is first used", () => {
  it("parses any value as one that is built at once", inSlowTier, () => {
    const atOnce = schemaBy(mini);
    const whenUsed = schemaBy(later);
    fc.assert(
      fc.property(anyValue, (value) => {
        const [expected, parsed] = [atOnce.safeParse(value), whenUsed.safeParse(value)];
        expect({ data: parsed.data, issues: parsed.error?.issues }).toEqual({
          data: expected.data,
          issues: expected.error?.issues,
        });
      }),
    );
  });

  it("is described as one that is built at once", () => {
    const made = mini.toJSONSchema(later.real(schemaBy(later)), { unrepresentable: "any" });
    expect(made).toEqual(mini.toJSONSchema(schemaBy(mini), { unrepresentable: "any" }));
    expect(JSON.stringify(made)).toContain("A short name");
  });

  it("is built once, when something is first parsed or read of it", () => {
    let built = 0;
    const name = later.whenUsed(() => {
      built += 1;
      return later.string();
    });
    const call = later.object({ names: later.array(name).check(later.minLength(1)) });
    const other = later.optional(name);
    expect(built).toBe(0);
    expect(call.safeParse({ names: [] }).success).toBe(false);
    expect(call.parse({ names: ["Ada"] })).toEqual({ names: ["Ada"] });
    expect(other.parse(undefined)).toBeUndefined();
    expect(built).toBe(1);
    expect(Object.keys(call.shape)).toEqual(["names"]);
    expect(call instanceof mini.ZodMiniObject).toBe(true);
  });
});
