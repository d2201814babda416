import { expect, it } from "vitest";
import { breakCore } from "./break-core.ts";
import { handMade } from "./hand-made.ts";
import { readableMutants } from "./readable-mutants.ts";
import { toSource } from "./tree.ts";

/** More are not kept by hand: an operator of the tester, or a test of a table, takes the place of others. */
const most = 100;

it("lists a hundred mutants at most", () => {
  expect(handMade.length).toBeLessThanOrEqual(most);
});

it("names each mutant once", () => {
  expect(new Set(handMade.map(({ breaks }) => breaks)).size).toBe(handMade.length);
});

it("makes a mutant of each place that asks if only a later version can read something", () => {
  const source = toSource(
    "shared/calls/pair.ts",
    `export async function readPair(ids: string[]) {
  const one = requireReadable(await read(ids[0]));
  return [one, requireReadable(rows.get(ids[1]))];
}
const readRow = (id: string) => {
  const row = rows.get(id);
  if (row === unreadable) return "later";
  const value = read(id)?.value ?? none;
  if (value !== unreadable) return value;
  const other = rows.get(id);
  return other === undefined || other === unreadable ? none : row;
};
const isAny = (one: Row) => one === unreadable || one.isUnreadable === true;
const isWhole = () => page.unreadable.size === 0;
const sum = () => page.rows + unreadable;
`,
  );
  const absent = (found: string) =>
    `((found) => (found === "unreadable" ? undefined : found))(${found})`;
  const mutants = readableMutants([source]);
  const changed = mutants.map((mutant) => {
    const [{ text } = { text: "" }] = breakCore([source], mutant);
    const before = new Set(source.text.split("\n"));
    return [mutant.edits[0]?.[0], ...text.split("\n").filter((line) => !before.has(line))];
  });
  expect(changed).toEqual([
    ["pair:readPair.one", `  const one = ${absent("await read(ids[0])")};`],
    ["pair:readPair", `  return [one, ${absent("rows.get(ids[1])")}];`],
    ["pair:readRow", `  const row = ${absent("rows.get(id)")};`],
    ["pair:readRow", `  const value = ${absent("read(id)?.value")} ?? none;`],
    ["pair:isAny", "const isAny = (one: Row) => false || one.isUnreadable === true;"],
    ["pair:isAny", "const isAny = (one: Row) => one === unreadable || false;"],
    ["pair:isWhole", "const isWhole = () => 0 === 0;"],
  ]);
});
