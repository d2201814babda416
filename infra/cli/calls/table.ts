import Table from "cli-table3";
import { type Json, textOf } from "./json.ts";

/** Width below which no column of words is narrowed, and that below which no id is shortened. */
const columnMin = 8;
const idMin = 12;
const gap = "  ";
const lines =
  "top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid";
/** Characters of a table without lines. */
const noLines = {
  ...Object.fromEntries(`${lines} right right-mid`.split(" ").map((name) => [name, ""])),
  middle: gap,
};

/** A time to the second, or the key of a breaker, which `resume --breaker` takes as it stands in the table. */
const wholePattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$|breaker \w+:)/;

interface Column {
  name: string;
  cells: string[];
  isId: boolean;
  /** True for ids, times and keys, which nobody can use in pieces: other columns are left out before. */
  isWhole: boolean;
  /** Width of the longest cell. */
  natural: number;
}

/**
 * Draws rows as a table, of at most `width` characters a line: cells are wrapped first, then the last columns are left
 * out, and ids are shortened last. Without a width it is as wide as it needs.
 */
export function tableOf(
  rows: readonly Json[],
  { columns: names, width }: { columns: readonly string[]; width: number | undefined },
): { text: string; leftOut: string[] } {
  const cells = rows.map((row) => names.map((name) => textOf(row[name])));
  const all = names.map((name, index) =>
    columnOf(
      name,
      cells.map((row) => row[index] ?? ""),
    ),
  );
  const columns = width === undefined ? all : fitting(all, width);
  const widths = widthsOf(columns, width ?? Infinity);
  const table = new Table({
    head: columns.map(({ name }, place) => wrapped(name, widths[place] ?? 0)),
    chars: noLines,
    colWidths: widths,
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
  });
  for (const index of rows.keys()) {
    table.push(columns.map((column, place) => shortened(column, index, widths[place] ?? 0)));
  }
  return {
    text: table
      .toString()
      .split("\n")
      .map((line) => line.trimEnd())
      .join("\n"),
    leftOut: all.slice(columns.length).map(({ name }) => name),
  };
}

function columnOf(name: string, cells: string[]): Column {
  // The milliseconds of a time are in --json and --csv.
  const short = cells.map((cell) =>
    cell.replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d{3}Z$/, "$1Z"),
  );
  const natural = Math.max(...[name, ...short].map(({ length }) => length));
  const isId = name === "id" || name === "name";
  const isWhole = isId || short.some((cell) => wholePattern.test(cell));
  return { name, cells: short, isId, isWhole, natural };
}

function floorOf({ isWhole, natural }: Column): number {
  return isWhole ? natural : Math.min(natural, columnMin);
}

function sumOf(widths: readonly number[]): number {
  return widths.reduce((sum, one) => sum + one, 0) + gap.length * (widths.length - 1);
}

/** Returns the first columns that fit when they are narrowed, at least two. */
function fitting(all: readonly Column[], width: number): Column[] {
  let count = all.length;
  while (count > 2 && sumOf(all.slice(0, count).map(floorOf)) > width) count--;
  return all.slice(0, count);
}

/** Narrows the widest columns until all fit: ids and times only where the others are as narrow as may be. */
function widthsOf(columns: readonly Column[], width: number): number[] {
  const widths = columns.map(({ natural }) => natural);
  const floors = columns.map(floorOf);
  const idFloors = columns.map(({ isId, natural }) => Math.min(natural, isId ? idMin : columnMin));
  for (const least of [floors, idFloors]) {
    while (sumOf(widths) > width) {
      const room = widths.map((one, index) => (one > (least[index] ?? 0) ? one : 0));
      const widest = room.indexOf(Math.max(...room));
      if (room[widest] === 0) break;
      widths[widest] = (widths[widest] ?? 0) - 1;
    }
  }
  return widths;
}

/** Returns a cell in lines of a width. An id that does not fit is cut in its middle. */
function shortened({ cells, isId }: Column, index: number, width: number): string {
  const text = cells[index] ?? "";
  if (text.length <= width) return text;
  if (!isId) return wrapped(text, width);
  const end = Math.min(6, Math.floor(width / 3));
  return `${text.slice(0, width - end - 1)}…${text.slice(-end)}`;
}

/** Wraps a text between its words, so that a code such as `http_401` is found by `grep`, and longer words within. */
function wrapped(text: string, width: number): string {
  const wrappedLines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const line = wrappedLines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width) {
      wrappedLines[wrappedLines.length - 1] = `${line} ${word}`;
      continue;
    }
    for (let start = 0; start < word.length; start += width) {
      wrappedLines.push(word.slice(start, start + width));
    }
  }
  return wrappedLines.join("\n");
}

/** Draws the facts of one thing, a line each, of at most `width` characters. */
export function factsOf(facts: Json, width = Infinity): string {
  const shown = listFacts(facts);
  const nameWidth = Math.max(0, ...shown.map(([name]) => name.length)) + gap.length;
  const room = Math.max(columnMin, width - nameWidth);
  return shown
    .flatMap(([name, text]) => {
      const [first = "", ...more] = wrapped(text, room).split("\n");
      return [name.padEnd(nameWidth) + first, ...more.map((line) => " ".repeat(nameWidth) + line)];
    })
    .map((line) => line.trimEnd())
    .join("\n");
}

/** Returns the facts that there are, each by its name. */
export function listFacts(facts: Json): [name: string, text: string][] {
  return Object.entries(facts).flatMap(([name, value]): [string, string][] =>
    value === null || value === undefined ? [] : [[name, textOf(value)]],
  );
}
