import { readFile } from "node:fs/promises";
import { parseJsonText } from "#shared/lib/json-fault.ts";
import { Misuse } from "./failures.ts";
import type { Terminal } from "./terminal.ts";

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

/** @throws a Misuse that names line and column if the file is not JSON */
export async function readJson(file: string, terminal: Input): Promise<unknown> {
  const text = await readText(file, terminal);
  try {
    return parseJsonText(text, nameOf(file));
  } catch (error) {
    throw new Misuse(`${error instanceof Error ? error.message : ""}.`, { cause: error });
  }
}

function nameOf(file: string): string {
  return file === "-" ? "stdin" : file;
}
