import { readFileSync } from "node:fs";

/** A load-bearing line, and what breaks it. */
export interface Mutant {
  /** What no longer holds. */
  breaks: string;
  edits: { file: string; line: string; becomes: string }[];
  /** Unit tests that are about the line. */
  tests: readonly string[];
}

type Edit = [line: string, becomes: string, file?: string];
/** What no longer holds, a line that stands once in its file, what it becomes, and further edits where they are needed. */
type Row = [breaks: string, line: string, becomes: string, ...further: Edit[]];

/** @param files a line stands in one of them */
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
