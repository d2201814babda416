import { readFileSync } from "node:fs";

/** A load-bearing line, and a change that breaks it. */
export interface Mutant {
  /** The rule that no longer holds. */
  breaks: string;
  edits: { file: string; line: string; becomes: string }[];
  /** Unit tests of this line. */
  tests: readonly string[];
}

type Edit = [line: string, becomes: string, file?: string];
/** The broken rule, a line that appears once in its file, its replacement, and further edits if needed. */
type Row = [breaks: string, line: string, becomes: string, ...further: Edit[]];

/** @param files files of which one contains the line */
export function mutantsIn(
  files: string | readonly string[],
  tests: readonly string[],
  rows: readonly Row[],
): Mutant[] {
  return rows.map(([breaks, line, becomes, ...further]) => {
    const edits: Edit[] = [[line, becomes], ...further];
    return {
      breaks,
      tests,
      edits: edits.map(([text, into, where]) => ({
        file: where ?? fileWith(text, [files].flat()),
        line: text,
        becomes: into,
      })),
    };
  });
}

function fileWith(line: string, files: readonly string[]): string {
  const found = files.find((file) => readFileSync(file, "utf8").includes(line));
  return found ?? files[0] ?? "";
}
