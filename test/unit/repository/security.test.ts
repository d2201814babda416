import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { threatTests } from "#test/support/threat-tests.ts";

const text = await readFile("SECURITY.md", "utf8");
const rows = text.split("\n").filter((line) => /^- (API\d|Logs|Supply)/.test(line));
const filesIn = (row: string) =>
  [...row.matchAll(/`(test\/[\w./-]+\.ts)`/g)].map(([, file = ""]) => file);
const named = Object.entries(threatTests).flatMap(([file, names]) =>
  names.map((name) => ({ file, name })),
);

describe("SECURITY.md", () => {
  it.each(named)("names a test that exists: $file, $name", async ({ file, name }) => {
    const source = await readFile(file, "utf8");
    // The test name is compared as written: it may contain %s and $name, and a line may break after it.
    expect(source).toContain(JSON.stringify(name));
  });

  it("names a test for each threat, of every risk", () => {
    const [, threats = ""] = /## Threats and their tests\n([\s\S]*?)\n## /.exec(text) ?? [];
    expect(rows).toEqual(threats.split("\n").filter((line) => line.startsWith("- ")));
    for (const row of rows) expect(filesIn(row).length).toBeGreaterThan(0);
    expect(new Set(rows.flatMap(filesIn))).toEqual(new Set(Object.keys(threatTests)));
    const risks = new Set(rows.map((row) => /^- (API\d+)/.exec(row)?.[1]));
    for (let risk = 1; risk <= 10; risk++) expect(risks).toContain(`API${risk}`);
  });
});
