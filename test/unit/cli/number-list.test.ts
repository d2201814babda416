import { describe, expect, it } from "vitest";
import { readNumberList } from "#infra/cli/calls/number-list.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);
const utf16 = (text: string) => new Uint8Array(Buffer.from(`\ufeff${text}`, "utf16le"));
const one = "+12025550123";
const two = "+12025550124";

describe("a file of numbers", () => {
  it.each<[string, Uint8Array, string[]]>([
    ["the flat file of the FTC", utf8("202,5550123\r\n202,5550124\r\n"), [one, two]],
    ["its flat file with quotes and a heading", utf8('Area,Number\n"202","5550123"\n'), [one]],
    ["one a line", utf8(`${one}\n\n${two}\n`), [one, two]],
    ["several a line", utf8(`${one} ${two}, ${one}\n`), [one, two]],
    ["with a heading alone", utf8(`Phone\n${one}\n`), [one]],
    ["in UTF-16", utf16(`${one}\r\n${two}\r\n`), [one, two]],
    ["a table", utf8(`Name,Phone\nAda,${one}\nBob,"+1 (202) 555-0124"\n`), [one, two]],
    ["a table in UTF-16 by tabs", utf16(`Name\tMobile\nAda\t${one}\n`), [one]],
    ["JSON", utf8(JSON.stringify([{ phone: one }, { phone: two }])), [one, two]],
    ["with former forms", utf8("+5215512345678\n+525512345678\n"), ["+525512345678"]],
    ["with carriage returns alone", utf8(`${one}\r${two}\r`), [one, two]],
  ])("may be %s", (_, bytes, numbers) => {
    expect(readNumberList(bytes, {})).toMatchObject({ numbers, refused: [] });
  });

  it("may have national numbers of a chosen country", () => {
    const bytes = utf8('(202) 555-0123\n"202 555 0124"\n');
    expect(readNumberList(bytes, { country: "US" }).numbers).toEqual([one, two]);
    const { numbers, refused } = readNumberList(bytes, {});
    expect([numbers, refused.map(({ line }) => line)]).toEqual([[], [1, 2]]);
  });

  it("is counted with what stands there again, and each refused line is named", () => {
    const bytes = utf8(`${one}\n${one}\n2.02555E+09\n\nnobody\n+12025\n`);
    const { numbers, read, refused } = readNumberList(bytes, {});
    expect([numbers, read]).toEqual([[one], 2]);
    expect(refused).toMatchObject([
      { line: 3, reason: "was rounded by a spreadsheet" },
      { line: 5, reason: "is no phone number" },
      { line: 6, reason: expect.stringContaining("digits") },
    ]);
  });

  it("of the FTC's form may have wrong lines, which are named", () => {
    const bytes = utf8("202,5550123\n202,55501\n202,5550124\nend of file\n");
    for (const country of [undefined, "US"]) {
      const { numbers, read, refused } = readNumberList(bytes, { country });
      expect([numbers, read]).toEqual([[one, two], 2]);
      expect(refused.map(({ line }) => line)).toEqual([2, 4]);
    }
  });

  it("that does not tell which column has the numbers is not read, unless one is chosen", () => {
    const bytes = utf8(`Phone,Mobile\n${one},${two}\n`);
    expect(() => readNumberList(bytes, {})).toThrow(/--map number=Phone or --map number=Mobile/);
    expect(readNumberList(bytes, { map: ["number=Mobile"] }).numbers).toEqual([two]);
  });

  it("never repeats a number in a reason", () => {
    const { refused } = readNumberList(utf8("+19995550123\n+4412345678901234\n"), {});
    expect(refused.length).toBeGreaterThan(0);
    for (const { reason } of refused) expect(reason).not.toMatch(/\d{4}/);
  });
});
