import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** The number that the pattern's group finds in a source file, so that this follows a change there. */
export async function numberIn(path: string, pattern: RegExp): Promise<number> {
  const [, found] =
    pattern.exec(await readFile(join(import.meta.dirname, "../..", path), "utf8")) ?? [];
  if (found === undefined) throw new Error(`${path} has nothing like ${pattern.source}`);
  return Number(found.replaceAll("_", ""));
}
