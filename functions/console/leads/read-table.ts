import Papa from "papaparse";
import { decodeText } from "./decode-text.ts";

const fileBytesMax = 50 * 1024 * 1024;
const rowsMax = 100_000;
/** Separators that are told apart by the line of column names. */
const separators = [",", ";", "\t", "|"];

/** A row of a file of leads. */
export interface Row {
  /** Line of the file at which it begins, from 1; in JSON its position in the array. */
  line: number;
  cells: readonly string[];
  /** Reason for which the row cannot be read. */
  problem?: string;
}

/** A file of leads as rows and columns. */
export interface LeadTable {
  columns: readonly string[];
  rows: readonly Row[];
  /** Form of the file, such as `CSV, UTF-8, separated by ;`. */
  form: string;
  /** Noun for the position of a row. */
  unit: "line" | "item";
}

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
  const twice = table.columns.find((name, index) => table.columns.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`The file has two columns named ${twice}.`);
  return table;
}

function readCsv(original: string, encoding: string): LeadTable {
  // Papa Parse takes one kind of line end for the whole file, and would join lines that end otherwise.
  const text = original.replace(/\r\n?/g, "\n");
  const separator = separatorOf(text);
  const { data, errors } = Papa.parse<string[]>(text, { delimiter: separator, newline: "\n" });
  const broken = new Map(errors.map(({ row = -1 }) => [row, true]));
  const rows: Row[] = [];
  let columns: readonly string[] | undefined;
  let line = 1;
  for (const [index, cells] of data.entries()) {
    const begin = line;
    line += 1 + cells.reduce((sum, cell) => sum + cell.split("\n").length - 1, 0);
    if (cells.every((cell) => cell.trim() === "")) continue;
    if (columns === undefined) columns = columnsOf(cells);
    else rows.push(rowOf(begin, { cells, columns, isBroken: broken.has(index) }));
  }
  const shown = separator === "\t" ? "tabs" : separator;
  return {
    columns: columns ?? [],
    rows,
    form: `CSV, ${encoding}, separated by ${shown}`,
    unit: "line",
  };
}

/** Returns the separator that stands most often in the first line, outside of quotation marks. */
function separatorOf(text: string): string {
  const first = /^\s*([^\n]*)/.exec(text)?.[1] ?? "";
  const bare = first.replace(/"[^"]*"/g, "");
  const counts = separators.map((separator) => bare.split(separator).length);
  return separators[counts.indexOf(Math.max(...counts))] ?? ",";
}

function columnsOf(cells: readonly string[]): string[] {
  if (cells.some((cell) => cell.replace(/\D/g, "").length >= 7)) {
    throw new Error("The first line has a phone number: it must have the names of the columns.");
  }
  return cells.map((cell, index) => cell.trim() || `column ${index + 1}`);
}

function rowOf(
  line: number,
  { cells, columns, isBroken }: { cells: string[]; columns: readonly string[]; isBroken: boolean },
): Row {
  if (isBroken) return { line, cells, problem: "has a quotation mark at a wrong place" };
  if (cells.length === columns.length) return { line, cells };
  const problem = `has ${cells.length} fields, and the first line has ${columns.length}`;
  return { line, cells, problem };
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
