import { describe, expect, it } from "vitest";
import { guessColumns } from "#shared/leads/columns.ts";
import type { LeadTable } from "#shared/leads/lead-table.ts";
import { toRefusedCsv } from "#shared/leads/refused-csv.ts";
import { readLeads } from "#shared/leads/read-leads.ts";
import { readTable } from "#shared/leads/read-table.ts";
import { type ListFile, listFiles } from "#test/support/list-files.ts";
import { quotedLists } from "#test/support/quoted-lists.ts";

const read = (file: string | Uint8Array) =>
  readTable(typeof file === "string" ? new TextEncoder().encode(file) : file);

async function leadsIn(table: LeadTable) {
  const guessed = guessColumns(table, ["sales", "support"]);
  const choices = { roles: guessed.roles, country: "US", agent: "sales" };
  return { ...guessed, ...(await readLeads(table, choices)) };
}

/** Reads a file as the page and the command do, up to the leads and the rows that are refused. */
async function outcomeOf({ file }: ListFile): Promise<ListFile["outcome"]> {
  let table: LeadTable;
  try {
    table = read(file);
  } catch (error) {
    return { error: error instanceof Error ? error.message : "" };
  }
  const { doubt } = guessColumns(table, ["sales", "support"]);
  if (doubt !== undefined) return { choose: doubt.candidates };
  const outcome = await leadsIn(table).catch((error: unknown) => String(error));
  if (typeof outcome === "string") return { error: outcome.replace("Error: ", "") };
  const { leads, refused } = outcome;
  return {
    leads: leads.map(({ line, call: { phone_number, agent_id, context = {} } }) =>
      [line, phone_number.slice(-4), agent_id, ...Object.entries(context).flat()].join("|"),
    ),
    ...(refused.length > 0 && {
      refused: refused.map(({ line, reason }) => `${line}: ${reason}`),
    }),
  };
}

const files = [...listFiles, ...quotedLists];

describe("a list", () => {
  it("table is as long as it is meant to be", () => {
    expect(files.length).toBeGreaterThanOrEqual(40);
  });

  it.each(files.map((one) => [one.name, one] as const))("with %s", async (_, one) => {
    expect(await outcomeOf(one)).toEqual(one.outcome);
  });

  const refusing = files.filter(({ outcome }) => "leads" in outcome && outcome.refused);
  it.each(refusing.map((one) => [one.name, one] as const))(
    "of what is refused in one with %s is read again",
    async (_, { file }) => {
      const table = read(file);
      const all = (await leadsIn(table)).refused;
      const refused = all.filter(({ isDuplicate }) => !isDuplicate);
      const fix = read(toRefusedCsv(table.columns, refused));
      expect(fix.columns).toEqual(["line", "refused because", ...table.columns]);
      expect(fix.rows.map(({ cells }) => Number(cells[0]))).toEqual(
        refused.map(({ line }) => line),
      );
      // Only a row that has more than the columns has still to be fixed for the file.
      const isWide = (reason: string) => reason.startsWith("has text in");
      const expected = refused.map(({ reason }) => isWide(reason));
      expect(fix.rows.map(({ problem }) => problem !== undefined)).toEqual(expected);
    },
  );

  it("of refused rows is read once it is fixed, also twice", async () => {
    const first = read(
      "Name,Phone,Note\n=Ada,12,\nBob,202 555 0142,a,b\nCy,202 555 0143,cut\nDi,202 555 0144",
    );
    const once = await leadsIn(first);
    expect(once.leads.map(({ line }) => line)).toEqual([4]);
    const csv = toRefusedCsv(first.columns, once.refused);
    const second = read(csv.replace("a,b", `"a,b"`));
    const twice = await leadsIn(second);
    expect(twice.leads.map(({ call }) => [call.phone_number, call.context])).toEqual([
      ["+12025550142", { Name: "Bob", Note: "a,b" }],
      ["+12025550144", { Name: "Di" }],
    ]);
    const third = toRefusedCsv(second.columns, twice.refused);
    expect(third.split("\n")[0]).toBe("line,refused because,Name,Phone,Note");
    const thrice = await leadsIn(read(third.replace(",12,", ",202 555 0141,")));
    expect(thrice.leads.map(({ call }) => [call.phone_number, call.context])).toEqual([
      ["+12025550141", { Name: "=Ada" }],
    ]);
  });
});
