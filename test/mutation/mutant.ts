import type { Edit } from "./edits.ts";

/** A file's text with a mutant in it. */
export interface Changed {
  file: string;
  text: string;
}

/** A broken project: what breaks, the tests of this code, and the changed files. */
export interface Mutant {
  breaks: string;
  tests: readonly string[];
  changed: readonly Changed[];
}

/** A change of the core that no operator of the mutation tester makes, and the rule that it breaks. */
export interface HandMade {
  /** The rule that no longer holds. */
  breaks: string;
  edits: readonly (readonly [path: string, edit: Edit])[];
  /** Tests of this code. */
  tests: readonly string[];
}

/** The rule that is broken, the place (see `findPlace`), how it breaks, and further places where two checks bear one load. */
export type Row = [breaks: string, path: string, edit: Edit, ...further: [string, Edit][]];

export function toMutants(tests: readonly string[], rows: readonly Row[]): HandMade[] {
  return rows.map(([breaks, path, edit, ...further]) => ({
    breaks,
    tests,
    edits: [[path, edit], ...further],
  }));
}
