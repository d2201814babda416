import { shownText } from "../../shared/lib/shown-text.ts";

/** Prints a line to stdout. All that others may have written goes to a terminal by these two functions. */
export function print(line: string): void {
  console.log(shownText(line));
}

/** Prints a line to stderr. */
export function complain(line: string): void {
  console.error(shownText(line));
}
