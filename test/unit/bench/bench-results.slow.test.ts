import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { targetsTable } from "#test/bench/report.ts";

/** Cells of a table's rows, without their alignment. */
const rowsIn = (text: string) =>
  text
    .split("\n")
    .filter((line) => /^\| [^-]/.test(line))
    .map((line) => line.replaceAll(/ {2,}/g, " "));

it("has the targets of results.json in test/bench/results.md, and each figure once", async () => {
  const results = await readFile("test/bench/results.md", "utf8");
  const measured: Record<string, { section: { targets: Parameters<typeof targetsTable>[0] } }> =
    JSON.parse(await readFile("test/bench/results.json", "utf8"));
  const targets = Object.values(measured).flatMap(({ section }) => section.targets);
  const written = rowsIn(/## Targets\n([^]*?)\n## /.exec(results)?.[1] ?? "");
  expect(written.length).toBeGreaterThan(30);
  expect(written.toSorted()).toEqual(rowsIn(targetsTable(targets)).toSorted());
  const page = await readFile("docs/performance.md", "utf8");
  expect(page).toContain("`test/bench/results.md`");
  expect(rowsIn(page).filter((row) => rowsIn(results).includes(row))).toEqual([]);
});
