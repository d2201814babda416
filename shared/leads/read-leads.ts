import { isTimeZone } from "../telephony/time-zone.ts";
import type { ColumnRole } from "./columns.ts";
import { readNumber } from "./read-number.ts";
import type { LeadTable, Row } from "./lead-table.ts";

// The limits of the endpoints. test/unit/leads/read-leads.test.ts compares them with shared/calls/call-request.ts, which
// no browser can load.
const contextEntriesMax = 100;
const contextBytesMax = 32 * 1024;
const agentPattern = /^[^\p{C}\p{Zl}\p{Zp}]{1,128}$/u;
/** Rows that are read before the page may draw again. */
const rowsAtOnce = 1_000;

/** The person to be called, as a row describes them. */
export interface Lead {
  line: number;
  /** The number as the file has it. */
  original: string;
  call: {
    phone_number: string;
    agent_id: string;
    context?: Record<string, string>;
    timezone?: string;
  };
}

/** A row of which no call is made. */
export interface RefusedRow extends Row {
  reason: string;
  /** True if a lead has the same number, so that the row would call the same person once more. */
  isDuplicate: boolean;
}

export interface LeadsRead {
  leads: Lead[];
  refused: RefusedRow[];
  /** Numbers of the leads, and of rows that were refused for their agent, time zone or context, each once. */
  numbers: string[];
}

/** Choices for the reading of a table. */
export interface ReadingChoices {
  /** Meaning of each column. */
  roles: readonly ColumnRole[];
  /** Country of numbers without a country code, such as `US`. */
  country?: string | undefined;
  /** Agent of rows that name none. */
  agent?: string | undefined;
}

/** @throws an Error for people if no lead can be read with these choices */
function checkChoices({ roles }: ReadingChoices): void {
  const count = (role: ColumnRole) => roles.filter((one) => one === role).length;
  if (count("number") !== 1) throw new Error("Choose one column for the phone number.");
  if (count("agent") > 1) throw new Error("Choose one column at most for the agent.");
  if (count("timezone") > 1) throw new Error("Choose one column at most for the time zone.");
}

/**
 * Reads the leads of a table. Of rows with the same number the first one counts, so that nobody is called twice from one file.
 *
 * @param pause lets the page draw between portions
 */
export async function readLeads(
  { columns, rows, unit }: LeadTable,
  choices: ReadingChoices,
  pause: () => Promise<void> = async () => undefined,
): Promise<LeadsRead> {
  checkChoices(choices);
  const leads: Lead[] = [];
  const refused: RefusedRow[] = [];
  const lines = new Map<string, number>();
  const numbers = new Set<string>();
  const numberOfRefused = new Map<RefusedRow, string>();
  for (const [index, row] of rows.entries()) {
    if (index > 0 && index % rowsAtOnce === 0) await pause();
    const { problem: reason } = row;
    const read = reason === undefined ? readRow(row, columns, choices) : { reason };
    if ("number" in read) numbers.add(read.number);
    if ("reason" in read) {
      const one = { ...row, reason: read.reason, isDuplicate: false };
      refused.push(one);
      const number = numberIn(row, choices);
      if (number !== undefined) numberOfRefused.set(one, number);
      continue;
    }
    numbers.add(read.call.phone_number);
    const first = lines.get(read.call.phone_number);
    if (first === undefined) {
      lines.set(read.call.phone_number, row.line);
      leads.push(read);
    } else {
      refused.push({ ...row, reason: `has the number of ${unit} ${first}`, isDuplicate: true });
    }
  }
  for (const [one, number] of numberOfRefused) {
    const line = lines.get(number);
    if (line === undefined) continue;
    one.reason += `, and has the number of ${unit} ${line}`;
    one.isDuplicate = true;
  }
  return { leads, refused, numbers: [...numbers] };
}

/** Returns the number in a row's column of numbers, also of a row that cannot be read as a whole. */
function numberIn({ cells }: Row, { roles, country }: ReadingChoices): string | undefined {
  const read = readNumber(cells[roles.indexOf("number")] ?? "", country);
  return "number" in read ? read.number : undefined;
}

/** Reads the lead of a row, or returns why there is none, with the number if that could be read. */
function readRow(
  { line, cells }: Row,
  columns: readonly string[],
  { roles, country, agent }: ReadingChoices,
): Lead | { reason: string; number?: string } {
  const cellOf = (role: ColumnRole) => (cells[roles.indexOf(role)] ?? "").trim();
  const original = cellOf("number");
  if (original === "") return { reason: "phone number: none is given" };
  const read = readNumber(original, country);
  if ("reason" in read) return { reason: `phone number: ${read.reason}` };
  const { number } = read;
  const refuse = (reason: string) => ({ reason, number });
  const agent_id = cellOf("agent") || (agent ?? "").trim();
  if (agent_id === "") return refuse("agent: none is named");
  if (!agentPattern.test(agent_id)) return refuse("agent: must be 1 to 128 printable characters");
  const timezone = cellOf("timezone");
  if (timezone !== "" && !isTimeZone(timezone)) {
    return refuse("time zone: must be an IANA time zone, UTC, Z or an offset ±HH:MM");
  }
  const context = contextOf(cells, columns, roles);
  if (typeof context === "string") return refuse(`context: ${context}`);
  return {
    line,
    original,
    call: {
      phone_number: number,
      agent_id,
      ...(Object.keys(context).length > 0 && { context }),
      ...(timezone !== "" && { timezone }),
    },
  };
}

function contextOf(
  cells: readonly string[],
  columns: readonly string[],
  roles: readonly ColumnRole[],
): Record<string, string> | string {
  const entries = columns.flatMap((name, index): [string, string][] => {
    const value = cells[index] ?? "";
    const isGiven = roles[index] === "context" && value.trim() !== "";
    return isGiven ? [[name.replace(/^context\./, ""), value]] : [];
  });
  if (entries.some(([name]) => name === "__proto__")) return "must not have the key __proto__";
  if (entries.some((pair) => pair.some((text) => !text.isWellFormed()))) {
    return "must not contain an unpaired surrogate";
  }
  if (entries.length > contextEntriesMax) return `must have at most ${contextEntriesMax} entries`;
  const context = Object.fromEntries(entries);
  // Columns such as `name` and `context.name` are one entry.
  const lost = entries.find(([name, value]) => context[name] !== value);
  if (lost !== undefined) return `has two texts for ${lost[0]}`;
  const bytes = new TextEncoder().encode(JSON.stringify(context)).byteLength;
  return bytes > contextBytesMax ? `must be at most ${contextBytesMax} bytes as JSON` : context;
}
