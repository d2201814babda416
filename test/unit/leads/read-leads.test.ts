import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { guessColumns } from "#shared/leads/columns.ts";
import { divideLeads } from "#shared/leads/divide-leads.ts";
import { toRefusedCsv } from "#shared/leads/refused-csv.ts";
import { type ReadingChoices, readLeads } from "#shared/leads/read-leads.ts";
import { describeNumber, listCountries, readNumber } from "#shared/leads/read-number.ts";
import { readNumbers } from "#shared/leads/read-numbers.ts";
import { readTable } from "#shared/leads/read-table.ts";
import { callRequestSchema } from "#shared/calls/call-request.ts";
import { isE164 } from "#shared/telephony/phone-number.ts";
import { inSlowTier, perTier } from "#test/support/per-tier.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const utf16 = (text: string) => new Uint8Array(Buffer.from(text, "utf16le"));
const latin1 = (text: string) => new Uint8Array(Buffer.from(text, "latin1"));

async function read(file: string | Uint8Array, choices: Partial<ReadingChoices> = {}) {
  const table = readTable(typeof file === "string" ? bytesOf(file) : file);
  const { roles } = guessColumns(table);
  const found = await readLeads(table, { roles, country: "US", agent: "agent_sales", ...choices });
  return { table, roles, ...found };
}

describe("a file of leads", () => {
  it.each([
    ["UTF-8", bytesOf("\ufeffphone;vorname\n202 555 0123;Zoë\n"), "CSV, UTF-8, separated by ;"],
    [
      "UTF-16 with a mark",
      utf16("\ufeffphone\tvorname\r\n202 555 0123\tZoë\r\n"),
      "CSV, UTF-16, separated by tabs",
    ],
    [
      "UTF-16 without one",
      utf16("phone,vorname\r\n202 555 0123,Zoë\r\n"),
      "CSV, UTF-16, separated by ,",
    ],
    ["Latin-1", latin1("phone|vorname\r202 555 0123|Zoë\r"), "CSV, Windows-1252, separated by |"],
    ["JSON", bytesOf('[{"phone":"202 555 0123","vorname":"Zoë"}]'), "JSON"],
    [
      "the API's JSON",
      bytesOf('[{"phone_number":"+12025550123","context":{"vorname":"Zoë"},"timezone":null}]'),
      "JSON",
    ],
  ])("is read in %s", async (_, bytes, form) => {
    const { table, leads, refused } = await read(bytes);
    expect([table.form, refused]).toEqual([form, []]);
    expect(leads.map(({ call }) => call)).toEqual([
      { phone_number: "+12025550123", agent_id: "agent_sales", context: { vorname: "Zoë" } },
    ]);
  });

  it("names the line of each row that cannot be dialed, past quoted line ends and empty lines", async () => {
    const { refused, leads } = await read(
      'name,phone,note\r\n"Ada, ""A""",202-555-0100,"two\r\nlines"\n\nBob,12,\r\nCy,+44 20 7946 0000,\nDi,202 555 0100,\nEd,202 555 0104,x,y\nFy,"202 555 0105,x\n',
    );
    expect(leads.map(({ line, call }) => [line, call.phone_number, call.context])).toEqual([
      [2, "+12025550100", { name: 'Ada, "A"', note: "two\nlines" }],
      [6, "+442079460000", { name: "Cy" }],
    ]);
    expect(refused.map(({ line, reason, isDuplicate }) => [line, reason, isDuplicate])).toEqual([
      [5, "phone number: has too few or too many digits for US", false],
      [7, "has the number of line 2", true],
      [8, "has text in 4 fields, and the first line has 3", false],
      [9, "has a quotation mark at a wrong place", false],
    ]);
  });

  it("names the lead whose number a refused row has, and offers no such row to be fixed", async () => {
    const { table, refused } = await read(
      "phone,tz\n2025550101,Mars\n2025550101,UTC\n2025550101,UTC,x\n2025550102,Mars\n2025550102,Mars\n",
    );
    expect(refused.map(({ line, isDuplicate }) => [line, isDuplicate])).toEqual([
      [2, true],
      [4, true],
      [5, false],
      [6, false],
    ]);
    expect(refused[0]?.reason).toMatch(/^time zone: .*, and has the number of line 3$/);
    const csv = toRefusedCsv(table.columns, refused);
    expect(csv.match(/^\d+/gm)).toEqual(["5", "6"]);
  });

  it("is offered to be fixed, and is read again then", async () => {
    const first = await read("name,phone\n=Ada,+1\n@Bob,+12025550199\n");
    const csv = toRefusedCsv(first.table.columns, first.refused);
    expect(csv).toBe(
      `line,refused because,name,phone\n2,phone number: is too short for a phone number,"'=Ada","'+1"\n`,
    );
    const fixed = await read(csv.replace("+1", "+1 202 555 0142"));
    expect(fixed.roles).toEqual(["ignored", "ignored", "context", "number"]);
    expect(fixed.leads.map(({ call }) => [call.phone_number, call.context])).toEqual([
      ["+12025550142", { name: "=Ada" }],
    ]);
  });

  it("is the same file to the service, whatever rows are refused for beside their number", async () => {
    const rows = ["0101,a,UTC,x", "0102,,UTC,x", "0103,a,Mars,x", "0101,b,UTC,x", "12,a,UTC,x"];
    const note = "x".repeat(33_000);
    const csv = `phone,agent_id,timezone,note\n${rows.map((row) => `202555${row}\n`).join("")}2025550104,a,,${note}\n`;
    const ways = [
      await read(csv, { agent: undefined }),
      await read(csv, { agent: "b" }),
      await read(csv, { roles: ["number", "agent", "ignored", "ignored"] }),
      await read(csv.replace("Mars", "").replace(note, "y"), { agent: undefined }),
      await read("phone,agent_id\n2025550104,a\n2025550103,a\n2025550102,a\n2025550101,a\n"),
    ];
    expect(ways.map(({ leads }) => leads.length)).toEqual([1, 2, 4, 3, 4]);
    const divided = await Promise.all(ways.map((way) => divideLeads(way)));
    expect(new Set(divided.map(({ file }) => file)).size).toBe(1);
    expect(divided.map(({ parts }) => parts[0]?.leads.length)).toEqual([1, 2, 4, 3, 4]);
    const { file } = await divideLeads(await read("phone\n2025550101\n"));
    expect(divided[0]?.file).not.toBe(file);
  });

  it.each([
    ["PK\u0003\u0004 a workbook", "workbook or an archive"],
    ["phone\n2025550123\0", "is no text"],
    ["+12025550123,Ada\n+12025550124,Bob\n", "must have the names of the columns"],
    ["phone\n", "has no rows"],
    ["", "has no rows"],
    ["[1", "is not JSON"],
    ['{"phone": "1"}', "must be a JSON array"],
    [`phone\n${"2025550123\n".repeat(100_001)}`, "more than 100,000 rows"],
  ])("that is none is refused as a whole", inSlowTier, (text, why) => {
    expect(() => readTable(bytesOf(text))).toThrow(why);
  });

  it("has its columns guessed by name and content", () => {
    const guess = (header: string, row: string) =>
      guessColumns(readTable(bytesOf(`${header}\n${row}\n`))).roles;
    expect(guess("First name;Mobile Phone;Agent ID;Time-Zone", "a;b;c;d")).toEqual([
      "context",
      "number",
      "agent",
      "timezone",
    ]);
    expect(guess("id,Teléfono,", "1,2,")).toEqual(["context", "number", "ignored"]);
    expect(guess("a,b", "12,202 555 0123")).toEqual(["context", "context"]);
    expect(guess("a,b", "12,x")).toEqual(["context", "context"]);
  });

  it("needs one column of numbers", async () => {
    const one = { roles: ["number", "number"] as const };
    await expect(read("a,b\n1,2\n", one)).rejects.toThrow(
      "Choose one column for the phone number.",
    );
    await expect(read("a,b\n1,2\n")).rejects.toThrow("Choose one column for the phone number.");
  });
});

describe("a phone number", () => {
  it.each([
    ["(202) 555-0123", "US", "+12025550123"],
    ["1-202-555-0123", "US", "+12025550123"],
    ["12025550123", "US", "+12025550123"],
    ["011 44 20 7946 0123", "US", "+442079460123"],
    ["+1 (202) 555.0123", undefined, "+12025550123"],
    ["tel:+1-202-555-0123", undefined, "+12025550123"],
    ["'+12025550123", "DE", "+12025550123"],
    ["\u202a+49\u00a030 901820\u202c", "US", "+4930901820"],
    ["030/901820", "DE", "+4930901820"],
    ["0044 20 7946 0123", "DE", "+442079460123"],
    ["06 12 34 56 78", "FR", "+33612345678"],
    ["020 7946 0123", "GB", "+442079460123"],
    ["+12215550123", "US", "+12215550123"],
    ["0044 20 7946 0018", undefined, "+442079460018"],
    ["+44 (0)20 7946 0018", undefined, "+442079460018"],
    ["+49\u00a030\u2013901820", undefined, "+4930901820"],
    ["+52 1 55 1234 5678", undefined, "+525512345678"], // as WhatsApp's exports have it
    ["5215512345678", "MX", "+525512345678"],
  ])("%s in %s is %s", (text, country, number) => {
    expect(readNumber(text, country)).toEqual({ number });
  });

  it.each([
    ["", "has no phone number"],
    ["2.02555E+09", "was rounded by a spreadsheet"],
    ["30901820.0", "has decimals"],
    ["202 555 0123 x7", "has an extension"],
    ["call Ada", "is no phone number"],
    ["202 555 01", "has too few or too many digits for US"],
    ["(221) 555 0123", "is no known number of US: if it is right, write it as [+]12215550123$"],
    ["+999 555 0123", "has no country code"],
    ["202 555 0123 / 202 555 0124", "^has two numbers$"],
  ])("%s is refused: %s", (text, why) => {
    expect(readNumber(text, "US")).toEqual({ reason: expect.stringMatching(why) });
  });

  it.each([
    ["4917612345678", "DE", "+4917612345678", "+494917612345678"],
    ["49 176 12345678", "DE", "+4917612345678", "+494917612345678"],
    ["491701234567", "DE", "+491701234567", "+49491701234567"],
    ["62812341009", "ID", "+62812341009", "+6262812341009"],
    ["38344123456", "XK", "+38344123456", "+38338344123456"],
  ])("%s in %s may be two numbers, and is refused", (text, country, one, other) => {
    const reason = `may lack its +: write it as ${one} or as ${other}`;
    expect(readNumber(text, country)).toEqual({ reason });
    expect(readNumbers(text, country).refused[0]?.reason).toBe("may lack its +");
    for (const number of [one, other]) expect(readNumber(number, country)).toEqual({ number });
  });

  it.each([
    ["US", ["2025550123", "1 202 555 0123", "12025550123", "(202) 555-0123", "202/555/0123"]],
    ["FR", ["0612345678", "612345678", "33612345678", "33 6 12 34 56 78", "0033 612345678"]],
    ["GB", ["02079460123", "2079460123", "442079460123", "44 20 7946 0123", "44 (0)20 79460123"]],
    ["IT", ["3912345678", "3931234567", "393331234567"]],
    ["DE", ["0176 12345678", "0171/1234567", "49 30 901820", "49 (0)176 12345678"]],
  ])("of %s without a + is read where it can be but one", (country, texts) => {
    expect(readNumbers(texts.join("\n"), country).refused).toEqual([]);
  });

  it("is refused where a slash follows a whole number", () => {
    for (const text of ["040 123456/57", "+49 40 123456/57", "040 123456 / 040 123457"])
      expect(readNumber(text, "DE")).toEqual({ reason: "has two numbers" });
  });

  it("needs a country where it has no country code", () => {
    for (const country of ["US", undefined])
      expect(readNumber("+999 555 0100", country)).toEqual({
        reason: "has no country code that exists",
      });
    expect(readNumber("202 555 0123", undefined)).toEqual({
      reason: expect.stringContaining("no country is chosen"),
    });
    expect(listCountries()).toContainEqual({ country: "DE", code: "49" });
  });

  it("is described as people write it, with its country", () => {
    expect(describeNumber("+12025550123")).toEqual({ shown: "+1 202 555 0123", country: "US" });
    expect(describeNumber("+442079460123").country).toBe("GB");
  });

  it("is read alike in a text of several lines, of a comma, and alone", () => {
    const text = "(202) 555-0123\n+1 202 555 0124, 202.555.0125\r\n\n202 555 0123\nAda\n12\n";
    expect(readNumbers(text, "US")).toEqual({
      numbers: ["+12025550123", "+12025550124", "+12025550125"],
      read: 4,
      refused: [
        { line: 5, reason: "is no phone number", text: "Ada" },
        { line: 6, reason: "has too few or too many digits for US", text: "12" },
      ],
    });
  });

  it("that is read is one that the endpoints take", () => {
    const digits = fc.stringMatching(/^\+?[0-9 ()-]{5,18}$/);
    const countries = fc.constantFrom("US", "DE", "GB", "FR", "IT", "MX", "BR", "IN", "AU", "RU");
    fc.assert(
      fc.property(digits, countries, (text, country) => {
        const found = readNumber(text, country);
        if ("number" in found) expect(isE164(found.number)).toBe(true);
      }),
      { numRuns: perTier({ quick: 60, long: 3_000 }) },
    );
  });
});

describe("the limits of a row", () => {
  const zones = ["Europe/Paris", "us/eastern", "UTC", "Z", "+05:30", "+15:00", "Mars/Base", "EST5"];
  const cell = fc.oneof(
    fc.string({ maxLength: 8 }),
    fc.constantFrom("x".repeat(128), "x".repeat(129), "a\u2028b", "\ud800", "é".repeat(16_400)),
  );
  it("are those of the endpoints", async () => {
    const rows = fc.record({
      agent: cell,
      timezone: fc.constantFrom("", ...zones),
      context: fc.dictionary(fc.constantFrom("a", "b", "__proto__", "\udfff"), cell, {
        maxKeys: 3,
      }),
    });
    await fc.assert(
      fc.asyncProperty(rows, async ({ agent, timezone, context }) => {
        const given = Object.entries(context).filter(([, value]) => value.trim() !== "");
        const columns = ["phone", "agent", "tz", ...given.map(([name]) => name)];
        const cells = ["2025550123", agent, timezone, ...given.map(([, value]) => value)];
        const { leads } = await readLeads(
          { columns, rows: [{ line: 2, cells }], form: "", unit: "line" },
          {
            roles: ["number", "agent", "timezone", ...given.map(() => "context" as const)],
            country: "US",
          },
        );
        const judged = callRequestSchema.safeParse({
          phone_number: "+12025550123",
          agent_id: agent.trim(),
          ...(given.length > 0 && { context: JSON.parse(toJson(given)) }),
          ...(timezone !== "" && { timezone }),
        });
        expect(leads.length === 1).toBe(judged.success);
        if (judged.success) expect(leads[0]?.call).toEqual(judged.data);
      }),
      { numRuns: perTier({ quick: 15, long: 500 }) },
    );
  });

  it("refuse a context that would lose one of two texts of a name", async () => {
    const { leads, refused } = await read(
      "phone,name,context.name\n2025550101,Ada,Bob\n2025550102,Ada,Ada\n2025550103,,Bob\n",
    );
    expect(leads.map(({ line, call }) => [line, call.context])).toEqual([
      [3, { name: "Ada" }],
      [4, { name: "Bob" }],
    ]);
    expect(refused[0]?.reason).toBe("context: has two texts for name");
  });

  it("allow a hundred entries of context, and no more", async () => {
    const row = async (count: number) => {
      const names = Array.from({ length: count }, (_, index) => `f${index}`);
      return read(`phone,${names.join()}\n2025550123,${names.join()}\n`);
    };
    expect((await row(100)).leads).toHaveLength(1);
    expect((await row(101)).refused[0]?.reason).toContain("at most 100 entries");
  });
});

/** Returns the JSON of an object with these entries, also one named `__proto__`. */
function toJson(entries: readonly [string, string][]): string {
  return `{${entries.map((pair) => pair.map((text) => JSON.stringify(text)).join(":")).join(",")}}`;
}
