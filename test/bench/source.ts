import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** Returns the number that the pattern's group matches in a source file, so that benches follow changes there. */
export async function numberIn(path: string, pattern: RegExp): Promise<number> {
  const [, found] =
    pattern.exec(await readFile(join(import.meta.dirname, "../..", path), "utf8")) ?? [];
  if (found === undefined) throw new Error(`${path} has nothing like ${pattern.source}`);
  return Number(found.replaceAll("_", ""));
}
