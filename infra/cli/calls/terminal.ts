import { SingleBar } from "cli-progress";
import { csvField } from "#shared/lib/csv.ts";
import { type Json, textOf } from "./json.ts";
import type { Values } from "./options.ts";
import { factsOf, listFacts, tableOf } from "./table.ts";

/** The surroundings of the command, replaced in tests. */
export interface Terminal {
  environment: Record<string, string | undefined>;
  fetch(url: string, init: RequestInit): Promise<Response>;
  /** Prints a line to stdout. */
  print(line: string): void;
  /** Prints a line to stderr. */
  complain(line: string): void;
  /** True if progress is shown. */
  isInteractive: boolean;
  sleep(ms: number): Promise<void>;
  /** Asks a person and resolves to the answer. Absent where nobody can be asked. */
  ask?(question: string): Promise<string>;
  /** Reads stdin to its end. */
  readInput?(this: void): Promise<Uint8Array>;
  /** True where stdout is no terminal: rows are lines of cells with tabs between, whole and without names. */
  isPiped?: boolean;
  /** Maximum width of tables. Absent, they are as wide as they need. */
  columns?: number | undefined;
  /** Clears the screen. Absent where stdout is no screen. */
  clear?(): void;
}

/** Shows a command's progress to people who wait for it. */
export function barOf(total: number, { json }: Values, { isInteractive }: Terminal) {
  if (!isInteractive || json === true || total < 2)
    return { update: () => undefined, stop: () => undefined };
  const bar = new SingleBar({ format: "{bar} {value}/{total}", stream: process.stderr });
  bar.start(total, 0);
  return { update: (value: number) => bar.update(value), stop: () => bar.stop() };
}

/** Where and in which form a command prints. */
interface Output {
  values: Values;
  terminal: Terminal;
}

/**
 * Prints rows: as a table of these columns, in a pipe a line each with tabs between the cells, with --csv as comma-separated values (RFC 4180) under their names, or with
 * --json each row whole, one per line.
 */
export function show(
  rows: Json[],
  columns: string[],
  { values: { json, csv }, terminal: { print, complain, isPiped = false, columns: width } }: Output,
): void {
  if (json === true) {
    for (const row of rows) print(JSON.stringify(row));
    return;
  }
  if (csv === true) {
    print(columns.join(","));
    for (const row of rows) print(columns.map((column) => csvField(row[column])).join(","));
    return;
  }
  if (isPiped) {
    for (const row of rows) print(columns.map((column) => textOf(row[column])).join("\t"));
    return;
  }
  if (rows.length === 0) {
    print("None.");
    return;
  }
  const { text, leftOut } = tableOf(rows, { columns, width });
  print(text);
  if (leftOut.length > 0) complain(`Without ${leftOut.join(", ")}: for these, widen the terminal.`);
}

/** Prints the facts of one thing: a line each, in a pipe with a tab after the name. */
export function showFacts(facts: Json, { print, isPiped = false, columns }: Terminal): void {
  if (isPiped) for (const fact of listFacts(facts)) print(fact.join("\t"));
  else print(factsOf(facts, columns));
}

/** Prints a sentence beside a table. In a pipe it goes to stderr: whoever reads the rows takes each line for one. */
export function note(line: string, { print, complain, isPiped = false }: Terminal): void {
  (isPiped ? complain : print)(line);
}

/** Prints a line for people, or with --json the answer. */
export function say(line: string, answer: Json, { values, terminal }: Output): void {
  terminal.print(values.json === true ? JSON.stringify(answer) : line);
}
