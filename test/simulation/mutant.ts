import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A load-bearing piece of code, and a change that breaks it. */
export interface Mutant {
  /** The rule that no longer holds. */
  breaks: string;
  edits: { code: string; becomes: string }[];
  /** Tests of this code. */
  tests: readonly string[];
}

type Edit = [code: string, becomes: string];
/** The broken rule, code that appears once in the core, its replacement, and further edits if needed. */
type Row = [breaks: string, code: string, becomes: string, ...further: Edit[]];

export function mutantsOf(tests: readonly string[], rows: readonly Row[]): Mutant[] {
  return rows.map(([breaks, code, becomes, ...further]) => ({
    breaks,
    tests,
    edits: [[code, becomes] satisfies Edit, ...further].map(([one, other]) => ({
      code: one,
      becomes: other,
    })),
  }));
}

const folders = [
  "functions/dialer",
  "functions/api/actions",
  "functions/api/callbacks",
  "functions/api/calls",
  "functions/api/operator",
  "shared",
  "test/support",
];
/** True for core files. In test/support only the ports in memory count, which follow the rules of the engines' adapters. */
const isCore = (file: string) => !file.startsWith("test/") || file.includes("/memory-");

/** The place of a piece of code: offsets in the text of a file. */
export interface FoundCode {
  file: string;
  text: string;
  start: number;
  end: number;
}

interface Source {
  file: string;
  text: string;
  compacted: ReturnType<typeof compact>;
}

/**
 * Reads the core, and returns a search for a piece of code wherever it stands and however it is formatted, so that
 * moving or formatting it changes no list. The search throws if the code does not appear exactly once.
 *
 * @param root folder of the project or of a copy of it
 */
export function searchIn(root: string): (code: string) => FoundCode {
  const sources = folders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) =>
        join(folder, name),
      ),
    )
    .filter((file) => file.endsWith(".ts") && isCore(file))
    .map((file): Source => {
      const text = readFileSync(join(root, file), "utf8");
      return { file, text, compacted: compact(text) };
    });
  return (code) => {
    const found = sources.flatMap((source) => placesOf(compact(code).text, source));
    const [one, ...others] = found.map((place) => withComma(code, place));
    if (one === undefined) throw new Error(`nowhere in the core: ${code}`);
    if (others.length === 0) return one;
    throw new Error(`in ${found.map(({ file }) => file).join(" and ")}: ${code}`);
  };
}

/** Includes the comma at the end of the code, which `compact` may leave out. */
function withComma(code: string, place: FoundCode): FoundCode {
  const isLeftOut = code.trimEnd().endsWith(",") && place.text[place.end] === ",";
  return isLeftOut ? { ...place, end: place.end + 1 } : place;
}

function placesOf(sought: string, { file, text, compacted }: Source): FoundCode[] {
  const { text: all, offsets } = compacted;
  const places: FoundCode[] = [];
  for (let at = all.indexOf(sought); at >= 0; at = all.indexOf(sought, at + 1)) {
    const start = offsets[at] ?? 0;
    places.push({ file, text, start, end: (offsets[at + sought.length - 1] ?? 0) + 1 });
  }
  return places;
}

/** The text without white space and trailing commas, and the offset of each character that is left. */
function compact(text: string): { text: string; offsets: number[] } {
  const kept = [...text.matchAll(/[^\s,]|,(?!\s*(?:[)\]}]|$))/g)];
  return { text: kept.map(([one]) => one).join(""), offsets: kept.map(({ index }) => index) };
}
