import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { commentFragments, fragmentsIn } from "#test/support/comment-fragments.ts";

const root = resolve(import.meta.dirname, "../../..");

describe("comments", () => {
  it("begin with the name of a thing or a whole sentence", async () => {
    expect(await commentFragments(root)).toEqual([]);
  });

  it.each([
    "// Whose a token is.",
    "/** What a request's handlers know of it. */",
    "/**\n * How long a signal may take.\n */",
    "/** @param deadline when the invocation ends */",
    "/**\n * Dials a call.\n *\n * @returns whether it was placed\n */",
    "const least = 2;\t// what a window never falls below",
  ])("that begin with a fragment are found: %j", (source) => {
    expect(fragmentsIn(source)).toHaveLength(1);
  });

  it.each([
    "// A request, as\n// When it comes late.",
    "/**\n * The owner of a token, the one\n * Who may call.\n */",
    "/** @param whose name of a client */",
    'const url = "https://Who.example";',
    "const when = Whose; // a client's",
    "/** Whole calls. */",
  ])("that name a thing are not: %j", (source) => {
    expect(fragmentsIn(source)).toEqual([]);
  });
});
