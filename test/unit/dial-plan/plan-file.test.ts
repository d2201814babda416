import { expect, it } from "vitest";
import { parsePlanFile } from "#shared/dial-plan/parse-plan-file.ts";

it.each([
  ['{\n  "a": 1, // all', "line 2 column 11 has a comment"],
  ['{ "a": "//", /* all */ "b": 2 }', "line 1 column 14 has a comment"],
  ['{\n  "a": ["b", ]\n}', "line 2 column 12 has a trailing comma"],
  ['{\n  "a": ",]",\n}', "line 2 column 12 has a trailing comma"],
  ['{\n\n  "a" "secret" }', "line 3 column 7"],
  ["{ url: https://secret }", "line 1 column 3"],
  ['{ "a": "secret', "line 1 column 15"],
])("says where a plan is not JSON, without a word of it: %j", (text, place) => {
  expect(() => parsePlanFile(text)).toThrow(new Error(`is not JSON: ${place}`));
});

it("reads a plan, and names what is twice in it", () => {
  expect(parsePlanFile('{ "a": ["//", ",]"] }')).toEqual({ a: ["//", ",]"] });
  expect(() => parsePlanFile('{ "a": 1, "a": 2 }')).toThrow("has a twice");
});
