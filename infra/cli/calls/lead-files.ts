import type { PlanTexts } from "#shared/answers/answers.ts";
import { agentNamesOf } from "#shared/leads/agent-names.ts";
import type { LeadTable } from "#shared/leads/lead-table.ts";
import { readLeads } from "#shared/leads/read-leads.ts";
import { readTable } from "#shared/leads/read-table.ts";
import { counted } from "./agree.ts";
import { Misuse } from "./failures.ts";
import { readBytes } from "./files.ts";
import { rolesOf } from "./lead-columns.ts";
import type { Values } from "./options.ts";
import type { Terminal } from "./terminal.ts";
import { countryIn } from "./typed-numbers.ts";

/** Reads the leads of a table, and says what its columns mean. */
export async function leadsOf(
  { path, table, plan }: { path: string; table: LeadTable; plan: PlanTexts },
  values: Values,
  say: (line: string) => void,
) {
  const { map = [], agent } = values;
  const { roles, notes } = rolesOf(table, map, agentNamesOf(plan));
  const country = countryIn(values) ?? plan.default_country ?? undefined;
  const choices = { roles, country, agent };
  const read = await readOrMisuse(() => readLeads(table, choices));
  const rowsText = counted(table.rows.length, "row");
  say(`${path}: ${table.form}, ${rowsText}, ${counted(read.leads.length, "lead")}.`);
  say(table.columns.map((name, index) => `${name} → ${roles[index]}`).join("; "));
  for (const note of notes) say(note);
  if (country !== undefined) say(`Numbers without a country code are those of ${country}.`);
  return read;
}

/** Reads a file of leads: CSV or JSON. @throws a Misuse if it is none */
export async function tableOf(path: string, terminal: Terminal): Promise<LeadTable> {
  const bytes = await readBytes(path, terminal);
  return readOrMisuse(() => readTable(bytes));
}

/** Reads leads. What is wrong with the file, or with what its columns mean, is for its reader to fix. */
async function readOrMisuse<Result>(read: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    const message = error instanceof Error ? error.message : "The file cannot be read.";
    const hint = message.startsWith("Choose") ? " --map ROLE=COLUMN chooses." : "";
    throw new Misuse(message + hint, { cause: error });
  }
}
