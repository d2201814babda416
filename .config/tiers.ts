import { globSync } from "node:fs";
import { resolve } from "node:path";
import { filesImportedBy } from "../test/support/imports.ts";

const root = resolve(import.meta.dirname, "..");
/** Files that import this one run in both tiers: it says why. */
const sized = "test/support/per-tier.ts";

/** Suffixes of the files that the quick tier leaves out: of the slow tier, and of commands of `npm run test:long`. */
export const laterSuffixes = [".slow.test.ts", ".long.test.ts"] as const;
/** With LONG=1 a file of `npm run test:long` can be named. */
const slowSuffixes = new Set(laterSuffixes.slice(0, process.env["LONG"] === "1" ? 2 : 1));

/** Returns the test files below a folder that the slow tier runs: those of its own, and those whose sizes depend on the tier. */
export function slowFiles(folder: string): string[] {
  return testFiles(folder).filter((file) => {
    const suffix = laterSuffixes.find((one) => file.endsWith(one));
    return suffix === undefined ? reaches(file) : slowSuffixes.has(suffix);
  });
}

function testFiles(folder: string): string[] {
  return globSync(`${folder}/**/*.test.ts`, { cwd: root });
}

const known = new Map<string, boolean>();

/** Returns whether a file imports `sized`, itself or through other files of test/. */
function reaches(file: string): boolean {
  if (file === sized) return true;
  const found = known.get(file);
  if (found !== undefined) return found;
  known.set(file, false); // files may import each other
  const isReached = filesImportedBy(file).some((one) => one.startsWith("test/") && reaches(one));
  known.set(file, isReached);
  return isReached;
}
