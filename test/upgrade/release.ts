/**
 * `npm run release`: gives the unreleased version of CHANGELOG.md the day of `--date`, today by default, and lists its
 * migrations in infra/d1/published.json. From then on its migrations and its fixture do not change, and tests hold them.
 */
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { printHelp } from "#infra/cli/help.ts";
import { findReleaseProblems, readReleases, releaseNext } from "../support/releases.ts";

printHelp(`npm run release -- --date 2027-01-31

Makes the version's fixture a last time, dates it in CHANGELOG.md (default: today), and freezes its migrations.`);

const { values } = parseArgs({
  options: { date: { type: "string", default: new Date().toISOString().slice(0, 10) } },
});
const before = await readReleases();
const released = releaseNext(before, values.date);
const problems = findReleaseProblems({ ...before, ...released });
if (problems.length > 0) throw new Error(`Nothing is released:\n${problems.join("\n")}`);
const json = `${JSON.stringify(released.published, null, 2)}\n`;
await writeFile("infra/d1/published.json", json);
await writeFile("CHANGELOG.md", released.changelog);
console.log(
  "Released. Commit it, and set the next version in package.json when the first change of it comes.",
);
