import { existsSync } from "node:fs";
import { glob, readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "../../..");
const page = await readFile(resolve(root, "docs/contributing.md"), "utf8");

/** Paths that the table of a section lists in its first column. */
function listedIn(heading: string): string[] {
  const [, section = ""] =
    new RegExp(`^## ${heading}\\n(.*?)(?=^## |$(?![^]))`, "ms").exec(page) ?? [];
  const rows = [...section.matchAll(/^\| (`[^|]+`) +\|/gm)];
  return rows.flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, path = ""]) => path),
  );
}

/** Files of some folders whose text, or name, has a mention. */
async function mentioning(mention: RegExp, patterns: string[]): Promise<string[]> {
  const found: string[] = [];
  const exclude = (path: string) => /generated|node_modules|docs\/decisions/.test(path);
  for await (const path of glob(patterns, { cwd: root, exclude })) {
    if (mention.test(path) || mention.test(await readFile(resolve(root, path), "utf8")))
      found.push(path);
  }
  return found;
}

const code = "{functions,shared,infra}/**/*.{ts,tsx,sql,css,json,toml}";

const headings = [...page.matchAll(/^## (Add .+)$/gm)].map(([, heading = ""]) => heading);

/** An example of each task, all of whose files mention it. */
const examples = [
  {
    heading: "Add a provider",
    mention: /ultravox/i,
    patterns: [code, "test/support/**/*.ts", "docs/*.md", "README.md"],
  },
  {
    heading: "Add a preset of calling hours",
    mention: /\bspain\b/,
    patterns: [code, "test/**/*.ts", "docs/*.md"],
  },
  {
    heading: "Add an operator endpoint",
    mention: /["`]\/do-not-call|operator\/do-not-call|["`/]do-not-call\.tsx?"/,
    patterns: [
      "{functions,infra}/**/*.{ts,tsx}",
      "test/contracts/operator-api/index.ts",
      "docs/*.md",
    ],
  },
  {
    heading: "Add a platform",
    mention: /cloudflare/i,
    patterns: ["functions/**/*.{ts,tsx,toml}", ".config/*", "package.json", "wrangler.toml"],
  },
];

describe("docs/contributing.md", () => {
  it.each(headings)("lists files that exist, to %s", (heading) => {
    const listed = listedIn(heading);
    expect(listed.length).toBeGreaterThanOrEqual(3);
    expect(listed.filter((path) => !existsSync(resolve(root, path)))).toEqual([]);
  });

  it.each(examples)(
    "lists every file that mentions its example, to $heading",
    async ({ heading, mention, patterns }) => {
      const found = await mentioning(mention, patterns);
      const listed = [...listedIn(heading), "docs/contributing.md"];
      const missing = found.filter(
        (path) => !listed.some((entry) => path === entry || path.startsWith(`${entry}/`)),
      );
      expect(missing).toEqual([]);
      expect(found.length).toBeGreaterThanOrEqual(3);
    },
  );
});
