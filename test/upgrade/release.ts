/**
 * `npm run release`: gives the unreleased version of CHANGELOG.md the day of `--date`, today by default, and lists its
 * migrations in infra/d1/published.json. From then on its migrations and its fixture do not change, and tests hold them.
 * With `--next` it begins the version after it, in all files that name one.
 */
import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { printHelp } from "#infra/cli/help.ts";
import { findReleaseProblems, readReleases, releaseNext, startNext } from "../support/releases.ts";

printHelp(`npm run release -- --date 2027-01-31
npm run release -- --next 0.2.1

Makes the version's fixture a last time, dates it in CHANGELOG.md (default: today), and freezes its migrations.
--next  begins the next version: its section of CHANGELOG.md, its number in all files, its fixture`);

const { values } = parseArgs({
  options: {
    date: { type: "string", default: new Date().toISOString().slice(0, 10) },
    next: { type: "string" },
  },
});
const makeFixture = () => execFileSync("npm", ["run", "fixture"], { stdio: "inherit" });

async function release(): Promise<void> {
  const released = releaseNext(await readReleases(), values.date);
  makeFixture();
  const problems = findReleaseProblems({ ...(await readReleases()), ...released });
  if (problems.length > 0) throw new Error(`Nothing is released:\n${problems.join("\n")}`);
  const json = `${JSON.stringify(released.published, null, 2)}\n`;
  await writeFile("infra/d1/published.json", json);
  await writeFile("CHANGELOG.md", released.changelog);
  console.log(
    'Released. Commit it. Before the next change, run "npm run release -- --next VERSION".',
  );
}

async function start(version: string): Promise<void> {
  const { changelog, files } = startNext(await readReleases(), version);
  for (const [name, text] of Object.entries(files)) await writeFile(name, text);
  await writeFile("CHANGELOG.md", changelog);
  makeFixture();
  console.log(
    `${version} has begun. Commit it, and fill "Upgrading" in CHANGELOG.md by its release.`,
  );
}

await (values.next === undefined ? release() : start(values.next));
