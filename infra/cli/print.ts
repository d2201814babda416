import { createInterface } from "node:readline";
import { inspect } from "node:util";
import { shownText } from "#shared/lib/shown-text.ts";

/** Prints a line to stdout. All that others may have written goes to a terminal by the functions of this file. */
export function print(line: string): void {
  console.log(shownText(line));
}

/** Prints a line to stderr. */
export function complain(line: string): void {
  console.error(shownText(line));
}

/** Prints an error to stderr: the message of one that says what to do, and all of another. */
export function complainOf(error: unknown, isExpected: boolean): void {
  complain(isExpected && error instanceof Error ? error.message : inspect(error));
}

/** Prints each line of another command's output, once it is whole. */
export function showLines(
  stream: NodeJS.ReadableStream,
  show: (line: string) => void = print,
): void {
  createInterface({ input: stream, crlfDelay: Infinity }).on("line", show);
}
