import Papa from "papaparse";
import { isNumberLike, judgeHeading } from "./phone-words.ts";
import { type LeadTable, refusedColumns, type Row } from "./lead-table.ts";

/** Separators that are told apart by the first lines. */
const separators = [",", ";", "\t", "|"];
/** Lines that are looked at to find the separator and the column names. */
const firstLines = 20;

/** Rows as they were parsed, each with the line at which it begins. */
interface Parsed {
  line: number;
  /** Lines that it covers. */
  lines: number;
  cells: string[];
  /** True if a quotation mark stands at a wrong place. */
  isBroken: boolean;
}

/** Layout of a file, with which its rows are compared. */
interface Layout {
  columns: readonly string[];
  separator: string;
  /** Lines of the file, from line 1 on. */
  lines: readonly string[];
  /** Numbers of fields that its rows have. */
  counts: ReadonlySet<number>;
  /** Index of the first column that has phone numbers in most rows; -1 if there is none. */
  numberAt: number;
}

/**
 * Reads a CSV.
 *
 * @throws an Error for people if it has no line of column names
 */
export function readCsv(original: string, encoding: string): LeadTable {
  // Papa Parse takes one kind of line end for the whole file, and would join lines that end otherwise.
  const text = original.replace(/\r\n?/g, "\n");
  const named = /^"?sep=([^"\n\p{L}\d])"?[,;\t ]*\n/iu.exec(text);
  const separator = named?.[1] ?? separatorOf(text);
  const parsed = parse(text, { separator, skipped: named?.[0] ?? "" });
  const begin = headingsIn(parsed);
  const headings = parsed[begin];
  const shown = separator === "\t" ? "tabs" : separator;
  const at = begin > 0 ? `, column names in line ${headings?.line}` : "";
  const form = `CSV, ${encoding}, separated by ${shown}${at}`;
  if (headings === undefined) return { columns: [], rows: [], form, unit: "line" };
  const columns = columnsOf(headings.cells);
  const plain = parsed.slice(begin + 1).filter(({ lines }) => lines === 1);
  const counts = plain.map(({ cells }) => cells.length).filter((count) => count > 1);
  const isNumberColumn = (index: number) =>
    plain.filter(({ cells }) => isNumberIn(cells[index] ?? "")).length * 2 > plain.length;
  const layout: Layout = {
    columns,
    separator,
    lines: text.split("\n"),
    counts: new Set([columns.length, ...counts]),
    numberAt: [...columns.keys()].findIndex(isNumberColumn),
  };
  const rows = parsed.slice(begin + 1).flatMap((row) => rowsOf(row, layout));
  refuseTitle(rows, layout);
  return { columns, rows, form, unit: "line" };
}

/** Parses a text behind the line that names its separator, and leaves out empty rows. */
function parse(
  text: string,
  { separator, skipped }: { separator: string; skipped: string },
): Parsed[] {
  const { data, errors } = Papa.parse<string[]>(text.slice(skipped.length), {
    delimiter: separator,
    newline: "\n",
  });
  const broken = new Set(errors.map(({ row }) => row));
  let next = skipped === "" ? 1 : 2;
  return data.flatMap((cells, index) => {
    const line = next;
    const lines = 1 + cells.reduce((sum, cell) => sum + cell.split("\n").length - 1, 0);
    next += lines;
    return isEmpty(cells) ? [] : { line, lines, cells, isBroken: broken.has(index) };
  });
}

/** Returns the separator that most of the first lines have outside of quotation marks, or else the first line most often. */
function separatorOf(text: string): string {
  const lines = text
    .slice(0, 100_000)
    .replace(/"[^"]*"/g, "")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .slice(0, firstLines);
  const scores = separators.map((separator) => {
    const having = lines.filter((line) => line.includes(separator)).length;
    return having * 1_000 + Math.min(999, (lines[0] ?? "").split(separator).length);
  });
  return separators[scores.indexOf(Math.max(...scores))] ?? ",";
}

/** Returns the index of the column names: 0, or behind the titles above them, which have one cell each. */
function headingsIn(parsed: readonly Parsed[]): number {
  const texts = parsed
    .slice(0, firstLines)
    .map(({ cells }) => cells.filter((cell) => cell.trim() !== ""));
  const begin = texts.findIndex((cells) => cells.length > 1);
  const titles = texts.slice(0, Math.max(0, begin));
  const areTitles = titles.every(([title = ""]) => /\p{L}/u.test(title));
  return areTitles && texts[begin]?.some(hasNumber) === false ? begin : 0;
}

/**
 * Returns the names of columns. Those of one name are numbered: `Notes`, `Notes 2`.
 *
 * @throws an Error for people if these are no names
 */
function columnsOf(cells: readonly string[]): string[] {
  if (cells.some(hasNumber)) {
    throw new Error("The first line has a phone number: it must have the names of the columns.");
  }
  const names = cells.map((cell, i) => cell.trim().replaceAll(/\s+/g, " ") || `column ${i + 1}`);
  const taken = new Set<string>();
  return names.map((name) => {
    let unique = name;
    for (let count = 2; taken.has(unique) || (unique !== name && names.includes(unique)); count++) {
      unique = `${name} ${count}`;
    }
    taken.add(unique);
    return unique;
  });
}

/** @throws an Error for people if the headings are a title: most rows have more, and no heading names a phone number */
function refuseTitle(rows: readonly Row[], { columns }: Layout): void {
  const { length } = columns;
  const isKnown = (name: string) => refusedColumns.includes(name) || judgeHeading(name) !== "no";
  const wide = rows.filter(({ cells }) => cells.length > length);
  if (columns.some(isKnown)) return;
  if (wide.length < 2 || wide.length * 2 <= rows.length) return;
  const names = length === 1 ? "1 name" : `${length} names`;
  throw new Error(
    `The first line has ${names}, and most rows have more: put the names of the columns first.`,
  );
}

function hasNumber(cell: string): boolean {
  return cell.replace(/\D/g, "").length >= 7;
}

/** Returns a row with as many cells as there are columns, or why it cannot be read; of one that swallowed others, all lines. */
function rowsOf(row: Parsed, layout: Layout): Row[] {
  const { line, cells, isBroken } = row;
  const { columns } = layout;
  if (isBroken || hasSwallowed(row, layout)) return linesOf(row, layout);
  if (cells.length <= columns.length) {
    const problem = "is the last one, lacks fields and has no line end: the file may be cut off";
    const cut = isCutOff(row, layout) ? { problem } : {};
    return [{ line, cells: filled(cells, columns.length), ...cut }];
  }
  const end = cells.findLastIndex((cell) => cell.trim() !== "") + 1;
  if (end <= columns.length) return [{ line, cells: cells.slice(0, columns.length) }];
  const problem = `has text in ${end} fields, and the first line has ${columns.length}`;
  return [{ line, cells: cells.slice(0, end), problem }];
}

/**
 * True if a cell of several lines has one like those of the file: with a phone number, and as many fields; or with its phone
 * number where the file's lines have it. The first line begins in the cell's own column.
 */
function hasSwallowed({ cells }: Parsed, { counts, separator, numberAt }: Layout): boolean {
  return cells.some((cell, column) => {
    const lines = cell.split("\n").map((line) => line.split(separator));
    if (lines.length === 1) return false;
    return lines.some((fields, index) => {
      const isRow = counts.has(fields.length) && fields.some(isNumberIn);
      const own = fields[index === 0 ? numberAt - column : numberAt] ?? "";
      return isRow || (fields.length > 1 && isNumberIn(own));
    });
  });
}

function isNumberIn(field: string): boolean {
  return isNumberLike(field.replaceAll('"', "").trim());
}

/** Returns the lines that a quotation mark has joined, each as a refused row with its own cells. */
function linesOf(row: Parsed, { columns, separator, lines }: Layout): Row[] {
  const first = row.line;
  const joined = lines.slice(first - 1, first - 1 + row.lines).flatMap((text, index) => {
    const cells = text.split(separator);
    return isEmpty(cells) ? [] : { line: first + index, cells: filled(cells, columns.length) };
  });
  const last = joined.at(-1)?.line ?? first;
  const own =
    last === first
      ? "has a quotation mark at a wrong place"
      : `has a quotation mark that joins the lines ${first} to ${last}: remove it or double it`;
  const other = `is joined to line ${first} by a quotation mark there`;
  return joined.map((one) => ({ ...one, problem: one.line === first ? own : other }));
}

/** True for a last row that lacks cells and a line end: the file may be cut off, and with it the row's number. */
function isCutOff({ line, lines, cells }: Parsed, layout: Layout): boolean {
  return line + lines - 1 === layout.lines.length && cells.length < layout.columns.length;
}

function filled(cells: readonly string[], count: number): string[] {
  return [...cells, ...Array<string>(Math.max(0, count - cells.length)).fill("")];
}

function isEmpty(cells: readonly string[]): boolean {
  return cells.every((cell) => cell.trim() === "");
}
