/** Imports as the text of a module has them: for tests of who may import what. */
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import packageJson from "#package.json" with { type: "json" };

const root = resolve(import.meta.dirname, "../..");
const own: Record<string, string> = packageJson.imports;
const pattern =
  /^(?:import|export) (?:[^;"]*? from )?"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)|typeof import\("([^"]+)"\)/gm;

/** Returns what a module's text names behind `from` and `import`, types included. */
export function specifiersIn(text: string): string[] {
  return [...text.matchAll(pattern)].map(([, one, two, three]) => one ?? two ?? three ?? "");
}

/** Returns the imported file by its path from the root, or undefined for a package. Paths of `file` begin there too. */
export function targetOf(file: string, specifier: string): string | undefined {
  const [first = "", ...others] = specifier.split("/");
  const folder = own[`${first}/*`] ?? own[specifier];
  if (folder !== undefined) return join(folder.replace("*", ""), ...others);
  return specifier.startsWith(".") ? join(dirname(file), specifier) : undefined;
}

/** Returns the files that a file imports, by their paths from the root. */
export function filesImportedBy(file: string): string[] {
  return specifiersIn(readFileSync(join(root, file), "utf8"))
    .map((specifier) => targetOf(file, specifier))
    .filter((target) => target !== undefined);
}
