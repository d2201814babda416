import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { answerRows, classes, recordRows } from "../../support/provider-answers/index.ts";
import { resultRows } from "../../support/provider-results/index.ts";

const text = await readFile("docs/provider-answers.md", "utf8");

/** Returns the cells of the table under a heading. */
function tableUnder(heading: string): string[][] {
  const [, section = ""] = text.split(`\n## ${heading}\n`);
  const [ofHeading = ""] = section.split("\n## ");
  const lines = ofHeading.split("\n").filter((line) => line.startsWith("|"));
  return lines.slice(2).map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe("the page of providers' answers", () => {
  it("has a row for each documented answer that the adapters are tested with, and no other", () => {
    expect(tableUnder("Answers to a request")).toEqual(answerRows());
  });

  it("has a row for each record that look-ups are tested with, and no other", () => {
    expect(tableUnder("Records that a look-up reads")).toEqual(recordRows());
  });

  it("has a row for each record that results are tested with, and no other", () => {
    expect(tableUnder("Records of results")).toEqual(resultRows());
  });

  it("says how many there are", () => {
    const records = `${recordRows().length} records of look-ups and ${resultRows().length} of results`;
    const counts = `${answerRows().length} answers, ${records}`;
    expect(text).toContain(counts);
  });

  it("says what becomes of a call by each class", () => {
    const told = tableUnder("Classes").map(([name]) => name);
    expect(new Set(told)).toEqual(new Set(Object.values(classes)));
  });

  it("tells no two answers of a provider alike", () => {
    for (const rows of [answerRows(), recordRows(), resultRows()]) {
      const keys = rows.map((cells) => cells.slice(0, -2).join(" | "));
      expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
    }
  });
});
