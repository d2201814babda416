import { glob, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "../../..");

/**
 * Words by which code names a feature, and the maximum files that do so: a change of the feature opens them. They may only
 * become fewer. Counted is the code of functions and shared, without comments, the page and what is generated.
 */
const features: Readonly<Record<string, { words: RegExp; most: number }>> = {
  "circuit breakers": { words: /breaker/i, most: 23 },
  "dead letters": { words: /dead.?letter/i, most: 16 },
  restores: { words: /restore/i, most: 15 },
  // Indexes of DynamoDB have attributes of this name.
  "hash keys": { words: /hash.?key(?!: ["`])/i, most: 13 },
};

async function readCode(): Promise<Map<string, string>> {
  const code = new Map<string, string>();
  for await (const path of glob("{functions,shared}/**/*.ts", { cwd: root })) {
    if (/generated|^functions\/console\//.test(path)) continue;
    const text = await readFile(join(root, path), "utf8");
    code.set(path, text.replaceAll(/\/\*.*?\*\//gs, "").replaceAll(/(?<!:)\/\/.*$/gm, ""));
  }
  return code;
}

const code = await readCode();

describe("a feature is named by few files", () => {
  it.each(Object.entries(features))("%s", (_, { words, most }) => {
    const naming = [...code].flatMap(([path, text]) => (words.test(text) ? path : []));
    expect(naming.length).toBeGreaterThan(0);
    expect(naming.length, naming.join("\n")).toBeLessThanOrEqual(most);
  });
});
