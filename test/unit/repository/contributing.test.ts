import { existsSync } from "node:fs";
import { glob, readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "../../..");
const page = await readFile(resolve(root, "docs/contributing.md"), "utf8");

/** A guide of the page: the files that one kind of change touches, by an example. */
interface Guide {
  heading: string;
  /** Text that each file of the example has. */
  mention: RegExp;
  /** Files in which the example is looked for. */
  patterns: string[];
  /** Listed files without the example, as not every change of the kind needs them. */
  without?: string[];
}

const code = "{functions,shared,infra}/**/*.{ts,tsx,sql,css,json,toml}";

const guides: Guide[] = [
  {
    heading: "Add a provider",
    mention: /ultravox/i,
    patterns: [
      code,
      "test/support/**/*.ts",
      "test/unit/{providers,stand-ins}/*.ts",
      "docs/*.md",
      "README.md",
    ],
  },
  {
    heading: "Add a field to a call",
    mention: /\btimezone\b(?=\s*[:,}"?=)])|\.timezone\b|`timezone`/,
    patterns: [
      "functions/**/*.{ts,tsx}",
      "shared/{calls,providers}/*.ts",
      "infra/{stand-ins,cli}/**/*.ts",
      "infra/generate/examples.ts",
      "test/support/arbitrary-calls.ts",
      "test/contracts/http-api/{accepting,requests}.ts",
      "test/unit/calls/plain-call.test.ts",
      "test/unit/{dialer/checks,providers/webhook}.test.ts",
      "test/contracts/operator-api/calls.ts",
      "docs/{api,webhook,checks}.md",
      "README.md",
    ],
  },
  {
    heading: "Add a limit of an account",
    mention: /\bcallsPerDay\b/,
    patterns: [
      "shared/rules/*.ts",
      "shared/dial-plan/{account,route,setting}*.ts",
      "functions/dialer/**/*.ts",
      "test/unit/rules/{gates,lists,named,rooms}.test.ts",
      "test/unit/dialer/account-days.test.ts",
      "docs/{dial-plan,reasons}.md",
    ],
    without: [
      "shared/ports/document-kinds.ts",
      "test/upgrade/fixture-documents.ts",
      "test/unit/rules/lists.test.ts",
      "test/bench/bundle-size.ts",
    ],
  },
  {
    heading: "Add a state",
    mention: /\bREDIALED\b/,
    patterns: [
      code,
      "infra/client-python/src/**/*.py",
      "test/support/rows.ts",
      "test/unit/dialer/state-machine.test.ts",
      "test/upgrade/fixture-calls.ts",
      "docs/architecture.md",
      "docs/events.md",
      "README.md",
    ],
    without: ["shared/calls/reasons.ts", "infra/d1/0001_ledger.sql"],
  },
  {
    heading: "Add a preset of calling hours",
    mention: /\bspain\b/,
    patterns: [code, "test/**/*.ts", "docs/*.md"],
  },
  {
    heading: "Correct a time zone",
    mention:
      /zones-of-prefixes|area-codes\.csv|letterCorrections|zones\/(?:corrections|regions)|places\.ts/,
    patterns: [
      "infra/generate/**/*.{ts,csv}",
      "shared/telephony/*",
      "test/support/places.ts",
      "test/unit/telephony/zone*.ts",
    ],
  },
  {
    heading: "Add an operator endpoint",
    // Its path, its file, its view, and its command.
    mention:
      /["`]\/do-not-call|operator\/do-not-call|(?:\.|do-not-call|operator-api)\/do-not-call\.tsx?|case "do-not-call"|"do-not-call": "|\bdnc(?:: [[{]|\(\[| {6})|"checkDoNotCall"/,
    patterns: [
      "{functions,infra}/**/*.{ts,tsx}",
      "shared/answers/*.ts",
      "test/contracts/operator-api/index.ts",
      "docs/operators.md",
    ],
  },
  {
    heading: "Add a platform",
    mention: /cloudflare/i,
    patterns: ["functions/**/*.{ts,tsx,toml}", ".config/*", "package.json", "wrangler.toml"],
  },
  {
    heading: "Change what is stored",
    mention:
      /\/upgrade\/|published\.json|fixture-(?:calls|documents)|\bmisses: (?:number|row|z\.|0)/,
    patterns: [
      "shared/{calls,ports}/*.ts",
      "test/{support,unit/upgrade,unit/repository}/*.ts",
      "test/upgrade/{make-fixture,fixture,fixture-*,release,upgrade.slow.test}.ts",
      "infra/d1/*.json",
      "package.json",
    ],
  },
];

/** Paths with which the list of a section begins its lines. */
function listedIn(heading: string): string[] {
  const [, section = ""] =
    new RegExp(`^## ${heading}\\n(.*?)(?=^## |$(?![^]))`, "ms").exec(page) ?? [];
  const lines = [...section.matchAll(/^- ((?:`[^`]+`(?:, )?)+):/gm)];
  return lines.flatMap(([, paths = ""]) =>
    [...paths.matchAll(/`([^`]+)`/g)].map(([, path = ""]) => path),
  );
}

const mentions = async (path: string, mention: RegExp) =>
  mention.test(path) || mention.test(await readFile(resolve(root, path), "utf8"));

/** Files of some folders whose text, or name, has a mention. */
async function mentioning({ mention, patterns }: Guide): Promise<string[]> {
  const found: string[] = [];
  const exclude = (path: string) => /generated|node_modules|docs\/decisions/.test(path);
  for await (const path of glob(patterns, { cwd: root, exclude })) {
    if (path.endsWith("contributing.test.ts")) continue;
    if (await mentions(path, mention)) found.push(path);
  }
  return found;
}

describe("docs/contributing.md", () => {
  it("has a guide with files for each kind of change, and no other", () => {
    const headings = [...page.matchAll(/^## ((?:Add|Change|Correct) .+)$/gm)].map(
      ([, heading = ""]) => heading,
    );
    expect(headings).toEqual(guides.map(({ heading }) => heading));
  });

  it.each(guides)("lists files that exist, to $heading", ({ heading }) => {
    const listed = listedIn(heading);
    expect(listed.length).toBeGreaterThanOrEqual(3);
    expect(listed.filter((path) => !existsSync(resolve(root, path)))).toEqual([]);
  });

  it.each(guides)("lists every file that has its example, to $heading", async (guide) => {
    const found = await mentioning(guide);
    const listed = [...listedIn(guide.heading), "docs/contributing.md"];
    const missing = found.filter(
      (path) => !listed.some((entry) => path === entry || path.startsWith(`${entry}/`)),
    );
    expect(missing).toEqual([]);
    expect(found.length).toBeGreaterThanOrEqual(3);
  });

  it.each(guides)("lists no file without its example, to $heading", async (guide) => {
    const { heading, mention, without = [] } = guide;
    const idle: string[] = [];
    for (const path of listedIn(heading)) {
      if (without.includes(path) || (await stat(resolve(root, path))).isDirectory()) continue;
      if (!(await mentions(path, mention))) idle.push(path);
    }
    expect(idle).toEqual([]);
  });
});
