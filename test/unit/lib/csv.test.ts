import { expect, it } from "vitest";
import { csvField } from "#shared/lib/csv.ts";

it.each([
  ["plain", "plain"],
  [undefined, ""],
  [null, ""],
  [12, "12"],
  ['say "a, b"', '"say ""a, b"""'],
  ["two\nlines", '"two\nlines"'],
  ["=1+1", "'=1+1"],
  ["-2", "'-2"],
  ["x;=1+1", "x;'=1+1"],
  ["x\t@a", "x\t'@a"],
  ["x\n+1", '"x\n\'+1"'],
  ["a;b-c", "a;b-c"],
  [" =1+1", "' =1+1"],
  ["\u00a0\u200b@a", "'\u00a0\u200b@a"],
  ["\n =1", '"\'\n =1"'],
  ["x; =1+1", "x;' =1+1"],
  ["＝1+1", "'＝1+1"],
  ["＋1", "'＋1"],
  ["－1", "'－1"],
  ["＠SUM(1)", "'＠SUM(1)"],
  ["two words", "two words"],
  [" two - words", " two - words"],
])("makes %j the field %j", (value, field) => expect(csvField(value)).toBe(field));
