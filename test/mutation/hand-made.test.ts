import { expect, it } from "vitest";
import { breakCore } from "./break-core.ts";
import { handMade } from "./hand-made.ts";
import { readableMutants } from "./readable-mutants.ts";
import { toSource } from "./tree.ts";

/** More than these are not kept by hand: an operator of the tester or a test of a table takes the place of others. */
const most = 100;

it("lists a hundred mutants at most", () => {
  expect(handMade.length).toBeLessThanOrEqual(most);
});

it("names each mutant once", () => {
  expect(new Set(handMade.map(({ breaks }) => breaks)).size).toBe(handMade.length);
});

it("makes a mutant of each call that requires a readable row", () => {
  const core = [
    toSource(
      "shared/calls/pair.ts",
      `export async function readPair(ids: string[]) {
  const one = requireReadable(await read(ids[0]));
  return [one, requireReadable(rows.get(ids[1]))];
}
`,
    ),
    toSource("shared/calls/alone.ts", "export const readAlone = () => requireReadable(found);\n"),
  ];
  const mutants = readableMutants(core);
  expect(mutants.map(({ breaks }) => breaks)).toEqual([
    "pair:readPair requires a readable row",
    "pair:readPair requires a readable row",
    "alone:readAlone requires a readable row",
  ]);
  const changed = mutants.flatMap((mutant) => breakCore(core, mutant));
  const absent = (found: string) =>
    `((found) => (found === "unreadable" ? undefined : found))(${found})`;
  expect(changed.map(({ text }) => text.includes("requireReadable"))).toEqual([true, true, false]);
  expect(changed[0]?.text).toContain(`const one = ${absent("await read(ids[0])")};`);
  expect(changed[1]?.text).toContain(`[one, ${absent("rows.get(ids[1])")}]`);
  expect(changed[2]?.text).toContain(`=> ${absent("found")};`);
});
