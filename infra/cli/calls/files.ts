import { readFile } from "node:fs/promises";
import { isE164 } from "../../../shared/telephony/phone-number.ts";
import { Misuse } from "./failures.ts";
import type { Terminal } from "./terminal.ts";

/** Maximum lines of one file that are named as wrong. */
const linesMax = 20;

type Input = Pick<Terminal, "readInput">;

/** Reads a file; `-` is stdin. @throws a Misuse if it cannot be read */
export async function readBytes(file: string, { readInput }: Input): Promise<Uint8Array> {
  if (file !== "-") {
    return readFile(file).catch(() => {
      throw new Misuse(`${file} cannot be read.`);
    });
  }
  if (readInput === undefined) throw new Misuse("There is nothing on stdin.");
  return readInput();
}

async function readText(file: string, terminal: Input): Promise<string> {
  return new TextDecoder().decode(await readBytes(file, terminal));
}

/** @throws a Misuse that names the line if the file is not JSON */
export async function readJson(file: string, terminal: Input): Promise<unknown> {
  const text = await readText(file, terminal);
  try {
    return JSON.parse(text);
  } catch (error) {
    const place = /line \d+ column \d+/.exec(error instanceof Error ? error.message : "")?.[0];
    const where = place === undefined ? "" : `: ${place}`;
    throw new Misuse(`${nameOf(file)} is not JSON${where}.`, { cause: error });
  }
}

/**
 * Reads phone numbers, separated by white space. A number is never printed.
 *
 * @throws a Misuse that names the lines that hold anything else
 */
export async function readNumbers(file: string, terminal: Input): Promise<string[]> {
  const lines = (await readText(file, terminal)).split(/\r?\n/);
  const found = lines.flatMap((line, index) =>
    line.split(/\s+/).flatMap((number) => (number === "" ? [] : { number, line: index + 1 })),
  );
  const wrong = [...new Set(found.flatMap(({ number, line }) => (isE164(number) ? [] : line)))];
  if (wrong.length === 0) return found.map(({ number }) => number);
  const more = wrong.length > linesMax ? ` and ${wrong.length - linesMax} more` : "";
  const named = `line${wrong.length === 1 ? "" : "s"} ${wrong.slice(0, linesMax).join(", ")}${more}`;
  throw new Misuse(
    `${nameOf(file)}, ${named}: not an E.164 number such as +12025550123. Nothing was sent.`,
  );
}

function nameOf(file: string): string {
  return file === "-" ? "stdin" : file;
}
