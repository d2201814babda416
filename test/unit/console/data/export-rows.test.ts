import { describe, expect, it } from "vitest";
import { exportRows, type Format } from "#functions/console/data/export-rows.ts";

const columns = ["id", "reason", "result.status"];
const rowsOf = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    id: `c${n}`,
    reason: "r",
    result: { status: "busy" },
  }));

/** Exports a list of `count` rows in pages of ten. */
async function exported(
  count: number,
  {
    format = "csv",
    most = 1_000,
    stopAt = Infinity,
    fails = () => false,
  }: { format?: Format; most?: number; stopAt?: number; fails?(page: number): boolean } = {},
) {
  const slept: number[] = [];
  let asked = 0;
  let read = 0;
  const all = rowsOf(count);
  const file = await exportRows(
    { format, columns },
    {
      async load(cursor) {
        if (fails(asked++)) throw new Error("offline");
        const from = Number(cursor ?? 0);
        const end = from + 10;
        return { items: all.slice(from, end), ...(end < count ? { cursor: String(end) } : {}) };
      },
      isStopped: () => read >= stopAt,
      progress: (rows) => (read = rows),
    },
    { most, sleep: async (ms) => void slept.push(ms) },
  );
  return { ...file, text: file.parts.join(""), slept };
}

describe("an exported list", () => {
  it("has each row once, and a pause between pages", async () => {
    const { text, rows, ended, slept } = await exported(25);
    expect([rows, ended]).toEqual([25, "whole"]);
    expect(text.split("\r\n")).toEqual([
      "id,reason,result.status",
      ...rowsOf(25).map(({ id }) => `${id},r,busy`),
      "",
    ]);
    expect(slept).toHaveLength(2);
  });

  it("is a JSON object a line as NDJSON", async () => {
    const { text } = await exported(12, { format: "ndjson" });
    expect(
      text
        .trim()
        .split("\n")
        .map((line): unknown => JSON.parse(line)),
    ).toEqual(rowsOf(12));
    expect((await exported(0, { format: "ndjson" })).text).toBe("");
  });

  it.each([
    [10, 30, "full"],
    [15, 30, "full"],
    [30, 30, "whole"],
    [30, 31, "full"],
  ])("ends at %i rows of a list of %i: %s", async (most, count, ended) => {
    const file = await exported(count, { most });
    expect([file.rows, file.ended]).toEqual([most, ended]);
  });

  it("has what was read when it was stopped", async () => {
    const { rows, ended } = await exported(95, { stopAt: 20 });
    expect([rows, ended]).toEqual([20, "stopped"]);
  });

  it("asks again for a page that could not be read, and says so when it gives up", async () => {
    const again = await exported(25, { fails: (page) => page === 1 || page === 2 });
    expect([again.rows, again.ended]).toEqual([25, "whole"]);
    const given = await exported(25, { fails: (page) => page > 0 });
    expect([given.rows, given.ended]).toEqual([10, "failed"]);
  });

  it("has no field that a spreadsheet takes for a formula", async () => {
    const items = [
      "=1+1",
      "+1",
      "-1",
      "@x",
      "\tx",
      'a"b',
      "a,b",
      "a\nb",
      null,
      5,
      true,
      ["x", "=y"],
      [],
      [{ a: 1 }],
    ];
    const { parts } = await exportRows(
      { format: "csv", columns: ["value"] },
      {
        load: async () => ({ items: items.map((value) => ({ value })) }),
        isStopped: () => false,
        progress: () => undefined,
      },
    );
    expect(parts.join("").split("\r\n").slice(1, -1)).toEqual([
      "'=1+1",
      "'+1",
      "'-1",
      "'@x",
      "'\tx",
      '"a""b"',
      '"a,b"',
      '"a\nb"',
      "",
      "5",
      "true",
      "x =y",
      "",
      '"[{""a"":1}]"',
    ]);
  });
});
