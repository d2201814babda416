import { formulaStart } from "../lib/csv.ts";
import { decodeText } from "./decode-text.ts";
import { type LeadTable, refusedColumns, type Row } from "./lead-table.ts";
import { readCsv } from "./read-csv.ts";

const fileBytesMax = 50 * 1024 * 1024;
const rowsMax = 100_000;

/**
 * Reads a file of leads: CSV with a line of column names, or JSON, an array of objects.
 *
 * @throws an Error for people if the file cannot be read as a whole
 */
export function readTable(bytes: Uint8Array): LeadTable {
  if (bytes.byteLength > fileBytesMax) throw new Error("The file is larger than 50 MB.");
  const { text, encoding } = decodeText(bytes);
  const isJson = /^\s*[[{]/.test(text);
  const table = isJson ? readJson(text) : readCsv(text, encoding);
  if (table.rows.length === 0) throw new Error("The file has no rows.");
  if (table.rows.length > rowsMax) throw new Error("The file has more than 100,000 rows.");
  const isRefusedFile = refusedColumns.every((name) => table.columns.includes(name));
  return isRefusedFile ? withoutApostrophes(table) : table;
}

/** Takes off the apostrophes that a file of refused rows has before what a spreadsheet would take for a formula. */
function withoutApostrophes({ columns, rows, ...table }: LeadTable): LeadTable {
  const bare = (cell: string) =>
    cell.startsWith("'") && formulaStart.test(cell.slice(1)) ? cell.slice(1) : cell;
  return {
    ...table,
    columns: columns.map(bare),
    rows: rows.map((row) => ({ ...row, cells: row.cells.map(bare) })),
  };
}

function readJson(text: string): LeadTable {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error("The file begins like JSON, and is not JSON.");
  }
  if (!Array.isArray(value)) throw new Error("The file must be a JSON array of objects.");
  const items = value.map((item: unknown) => (isObject(item) ? flatten(item) : undefined));
  const columns = [...new Set(items.flatMap((item) => [...(item?.keys() ?? [])]))];
  const rows = items.map((item, index): Row => {
    const line = index + 1;
    if (item === undefined) return { line, cells: [], problem: "is no object" };
    const cells = columns.map((name) => item.get(name));
    const wrong = columns.find((_, column) => cells[column] === null);
    return {
      line,
      cells: cells.map((cell) => cell ?? ""),
      ...(wrong !== undefined && { problem: `has no text in ${wrong}` }),
    };
  });
  return { columns, rows, form: "JSON", unit: "item" };
}

/** Returns the fields of an object as texts, those of its `context` under `context.NAME`; null where a field is no text. */
function flatten(item: Record<string, unknown>): Map<string, string | null> {
  const fields = new Map<string, string | null>();
  for (const [name, value] of Object.entries(item)) {
    if (name === "context" && isObject(value)) {
      for (const [key, inner] of Object.entries(value)) fields.set(`context.${key}`, textOf(inner));
    } else if (value !== null) fields.set(name, textOf(value));
  }
  return fields;
}

function textOf(value: unknown): string | null {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
