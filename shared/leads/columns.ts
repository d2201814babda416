import { isNumberLike, judgeHeading, type PhoneHeading, wordsOf } from "./phone-words.ts";
import { type LeadTable, refusedColumns } from "./lead-table.ts";

/** Meanings of a column. */
export const columnRoles = ["number", "agent", "timezone", "context", "ignored"] as const;
export type ColumnRole = (typeof columnRoles)[number];

/** Guess at the meanings of the columns of a table. */
export interface GuessedColumns {
  /** Meaning of each column. No column has the number where there is a doubt. */
  roles: ColumnRole[];
  /** Present where it is not sure which column has the phone numbers: a person must choose. */
  doubt?: Doubt;
  /** Sentences about what a person might not expect. */
  notes: string[];
}

interface Doubt {
  why: string;
  /** Names of the columns that may have the phone numbers. */
  candidates: string[];
}

type Columns = Pick<LeadTable, "columns" | "rows">;

/** Cells of a column that are looked at to find the phone numbers. */
const cellsMax = 200;
/** Mean step between ids that count as one after another. */
const idStepMax = 100;

/**
 * Guesses what the columns of a table mean. The words of the headings and the cells together show the phone number.
 * If they do not agree on one column, the guess is in doubt: a stranger would be called with somebody else's data.
 *
 * @param agents ids of the dial plan's agents, or `*` for any; undefined if they are not known
 */
export function guessColumns(table: Columns, agents?: readonly string[]): GuessedColumns {
  const { columns } = table;
  const words = columns.map((name) => wordsOf(name).join(" "));
  const timezone = words.findIndex((name) => ["timezone", "time zone", "tz"].includes(name));
  const { agent, notes } = findAgent(table, words, agents);
  const isIgnored = (name: string) => /^column \d+$/.test(name) || refusedColumns.includes(name);
  const free = columns.flatMap((name, index) => {
    const isTaken = index === agent || index === timezone || isIgnored(name);
    return isTaken || name.startsWith("context.") ? [] : index;
  });
  const found = findNumber(table, free);
  const roles = columns.map((name, index): ColumnRole => {
    if (index === found.number) return "number";
    if (index === agent) return "agent";
    if (index === timezone) return "timezone";
    return isIgnored(name) ? "ignored" : "context";
  });
  return { roles, notes, ...(found.doubt && { doubt: found.doubt }) };
}

/** Finds the column of the phone numbers among those at the indexes, or the reason for which a person must choose. */
function findNumber(
  { columns, rows }: Columns,
  indexes: readonly number[],
): { number?: number; doubt?: Doubt } {
  const candidates = indexes.map((index) => {
    const name = columns[index] ?? "";
    const cells = firstCells(rows, index);
    const heading = judgeNumberHeading(name, cells);
    const isHolding = cells.length > 0 && cells.filter(isNumberLike).length * 2 >= cells.length;
    return { index, name, cells, heading, isHolding };
  });
  const named = candidates.filter(({ heading }) => heading !== "no");
  const holding = candidates.filter(({ isHolding }) => isHolding);
  const both = named.filter(({ isHolding }) => isHolding);
  const doubt = (why: string, these: readonly { name: string }[]) => ({
    doubt: { why, candidates: these.map(({ name }) => name) },
  });

  const [only, ...more] = both;
  if (more.length > 0 || (holding.length === 0 && named.length > 1)) {
    const why = "More than one column may have the phone numbers.";
    return doubt(why, more.length > 0 ? both : named);
  }
  if (only !== undefined) {
    const [first = ""] = only.cells;
    if (!/\d/.test(first) && judgeHeading(first) === "surely") {
      return doubt(`${only.name} may be a title, as ${first} stands below it.`, [only]);
    }
    const signs = [named.length > 1, only.heading === "perhaps", looksLikeIds(only.cells)];
    if (signs.filter(Boolean).length < 2) return { number: only.index };
    return doubt(`${only.name} may be a column of ids.`, named);
  }
  if (holding.length > 0) {
    const names = named.map(({ name }) => name).join(", ");
    const why =
      named.length > 0
        ? `${names} is named like a column of phone numbers, but has none.`
        : "No column that has numbers is named like one of phone numbers.";
    return doubt(why, [...named, ...holding]);
  }
  const [empty] = named;
  return empty === undefined ? {} : { number: empty.index };
}

/** Returns the first cells of a column that are not empty, of rows that can be read. */
function firstCells(rows: LeadTable["rows"], index: number): string[] {
  const found: string[] = [];
  for (const { cells, problem } of rows) {
    const cell = (cells[index] ?? "").trim();
    if (cell !== "" && problem === undefined) found.push(cell);
    if (found.length === cellsMax) break;
  }
  return found;
}

/** Judges a heading. `Number` alone names phone numbers where they have a `+`, which no id has. */
function judgeNumberHeading(name: string, cells: readonly string[]): PhoneHeading {
  const isPlain = ["number", "numbers"].includes(wordsOf(name).join(" "));
  if (isPlain && cells.length > 0 && cells.every((cell) => /^'?\+/.test(cell))) return "perhaps";
  return judgeHeading(name);
}

/** True if the cells show all signs of ids: digits alone, of one length, one after another in some order. */
function looksLikeIds(cells: readonly string[]): boolean {
  const [first = ""] = cells;
  const isPlain = cells.every((cell) => /^\d+$/.test(cell) && cell.length === first.length);
  if (cells.length < 3 || !isPlain) return false;
  const ids = cells.map(Number);
  return Math.max(...ids) - Math.min(...ids) <= idStepMax * (ids.length - 1);
}

/**
 * Finds the column of agents: headed `agent_id` or `agent`, with at least one agent of the plan. Rows that name another are
 * then refused. Without a list of agents to compare with, only `agent_id` counts: `Agent` is often a person.
 */
function findAgent(
  { columns, rows }: Columns,
  words: readonly string[],
  agents: readonly string[] | undefined,
): { agent: number; notes: string[] } {
  const isOpen = agents === undefined || agents.includes("*");
  const notes: string[] = [];
  for (const heading of ["agent id", "agentid", "agent"]) {
    const index = words.indexOf(heading);
    if (index < 0) continue;
    const name = columns[index] ?? "";
    const values = rows.map(({ cells }) => (cells[index] ?? "").trim());
    if (isOpen ? heading !== "agent" : values.some((value) => agents.includes(value))) {
      return { agent: index, notes: [...notes, `${name} names the agent of each row.`] };
    }
    const why = isOpen
      ? "the dial plan takes any agent, so only a column named agent_id is taken for agents"
      : "it names no agent of the dial plan";
    if (values.some((value) => value !== "")) notes.push(`${name} is context: ${why}.`);
  }
  return { agent: -1, notes };
}
