import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";

const text = await readFile("SECURITY.md", "utf8");
const named = [...text.matchAll(/`(test\/[\w./-]+\.ts)`: ([^|\n]+?)(?: \||\.?\n)/g)].map(
  ([, file = "", name = ""]) => ({ file, name: name.trim() }),
);

it.each(named)(
  "of SECURITY.md names a test that there is: $file, $name",
  async ({ file, name }) => {
    const source = await readFile(file, "utf8");
    // The test name is compared as written: it may contain %s and $name, and a line may break after it.
    expect(source).toContain(`"${name}"`);
  },
);

it("of SECURITY.md names a test for each threat, of every risk", () => {
  const rows = text.split("\n").filter((line) => /^\| (API\d|Logs|Supply)/.test(line));
  for (const row of rows) expect(row).toMatch(/`test\/[\w./-]+\.ts`: /);
  const risks = new Set(rows.map((row) => /^\| (API\d+)/.exec(row)?.[1]));
  for (let risk = 1; risk <= 10; risk++) expect(risks).toContain(`API${risk}`);
});
