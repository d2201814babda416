import { readNumber } from "./read-number.ts";

/** A line of which no number was read. */
interface RefusedLine {
  line: number;
  /** The reason, without the number. */
  reason: string;
  /** Text of the line or cell. Nothing that is printed or logged may have it. */
  text: string;
}

/** Numbers that were read, each once. */
export interface NumberList {
  /** Numbers in E.164. */
  numbers: string[];
  /** Numbers that were read, with those that stand there again. */
  read: number;
  refused: RefusedLine[];
}

/** A cell or line that may have a number. */
export interface Written {
  line: number;
  text: string;
  /** The reason for which the row cannot be read. */
  problem?: string | undefined;
}

/** Divides a text into its lines, and a line that has several numbers into these. */
export function linesOf(text: string): Written[] {
  return text
    .split(/\r\n|\r|\n/)
    .map((line, index): Written => ({ line: index + 1, text: line.trim() }))
    .filter((one) => one.text !== "");
}

/** Returns each number of a line that has several, or else the line as one number. */
export function partsOf({ line, text }: Written): Written[] {
  const isWhole = (part: string) => /^\+\d{7,15}$/.test(part);
  const parts = text.split(/[\s,;]+/).filter(Boolean);
  const listed = text
    .split(/[,;]/)
    .map((part) => part.trim())
    .filter(Boolean);
  const found = parts.every(isWhole) ? parts : listed;
  return found.map((part) => ({ line, text: part.replaceAll('"', "") }));
}

/** Reads numbers as people write them. Those without a country code are of `country`. */
export function readEach(all: readonly Written[], country: string | undefined): NumberList {
  const numbers = new Set<string>();
  const refused: RefusedLine[] = [];
  let count = 0;
  for (const { line, text, problem } of all) {
    const read = problem === undefined ? readNumber(text, country) : { reason: problem };
    if ("number" in read) {
      numbers.add(read.number);
      count += 1;
    } else refused.push({ line, reason: read.reason.replace(/:.*$/s, ""), text });
  }
  return { numbers: [...numbers], read: count, refused };
}

/** Reads a text of numbers: one or more a line. */
export function readNumbers(text: string, country: string | undefined): NumberList {
  return readEach(linesOf(text).flatMap(partsOf), country);
}
