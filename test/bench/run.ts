/**
 * `npm run bench`: installs the competitors, runs each part in a process of its own, one after the other,
 * prints their tables and writes them to results.json and results.md. `npm run bench -- accept batch` runs those
 * parts alone, and leaves the others as they were measured last. `npm run bench -- engines` is apart: half an hour
 * in which engines race (engines.ts).
 */
import { fork, spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { printHelp } from "#infra/cli/help.ts";
import { reasonOf } from "./measure.ts";
import { markdownOf, type Section, targetsTable } from "./report.ts";

const here = import.meta.dirname;
const root = join(here, "../..");
/** Parts in running order: a part may compute with the counts of previous ones. */
const parts = [
  "accept",
  "batch",
  "bodies",
  "callbacks",
  "forecast",
  "dialing",
  "services",
  "paces",
  "round-trips",
  "deliveries",
  "cold-start",
  "results",
  "open-calls",
  "money",
  "growth",
  "client-lists",
  "waiting",
  "crons",
  "duties",
  "purge",
  "long-day",
  "calling-hours",
  "bundle-size",
];

function run(command: string, args: string[], cwd: string): void {
  const { status } = spawnSync(command, args, { cwd, stdio: ["ignore", "inherit", "inherit"] });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed in ${cwd}`);
}

/** Runs a part. Its environment has the previous counts as JSON in COUNTS. */
function sectionOf(part: string, counts: Record<string, number>): Promise<Section> {
  return new Promise((resolve, reject) => {
    const child = fork(join(here, `${part}.ts`), {
      env: { ...process.env, COUNTS: JSON.stringify(counts) },
      execArgv: ["--expose-gc"],
    });
    let section: Section | undefined;
    child.on("message", (message: Section) => {
      section = message;
    });
    child.on("error", reject);
    child.on("exit", (code) => {
      if (section === undefined || code !== 0) reject(new Error(`${part} ended with ${code}`));
      else resolve(section);
    });
  });
}

/** Formats written files, by their paths from the root. */
function format(...paths: string[]): void {
  run("oxfmt", ["-c", ".config/oxfmt.json", ...paths], root);
}

/** Installs the packages of the bench, and checks the types of a folder that uses them. */
function prepare(folder: string): void {
  run(process.execPath, ["infra/cli/packages.ts", "test/bench"], root);
  run("tsc", ["-p", join(here, folder)], here);
}

printHelp(`npm run bench -- [PART …]

Measures what a call costs, beside alternatives, and writes test/bench/results.md. Without a part: all of them.
Parts:
  ${parts.join("\n  ")}
  engines       apart from the others: the race, which takes half an hour`);

const chosen = process.argv.slice(2);
if (chosen[0] === "engines") {
  prepare("engines");
  run(process.execPath, [join(here, "engines.ts"), ...chosen.slice(1)], here);
  format("README.md", "test/bench/engines/results.md", "test/bench/engines/results.json");
  process.exit();
}
const unknown = chosen.filter((part) => !parts.includes(part));
if (unknown.length > 0) {
  console.error(`There is no part ${unknown.join(", ")}. There are ${parts.join(", ")}.`);
  process.exit(1);
}
prepare("competitors");

/** A part's results, as they are kept in results.json. */
interface Measured {
  /** Day of the run, such as `2026-11-21`. */
  date: string;
  machine: string;
  /** Commit that was measured, and a `+` if it had changes that are in no commit. */
  commit: string;
  /** The load average over a minute at the start and at the end. What is more than the part's own was other work. */
  loads: [number, number];
  section: Section;
}

const resultsFile = join(here, "results.json");
type Results = Record<string, Partial<Measured> & Pick<Measured, "section">>;
const readResults = async (): Promise<Results> => JSON.parse(await readFile(resultsFile, "utf8"));
const countsOf = (results: Results) =>
  Object.fromEntries(parts.flatMap((part) => Object.entries(results[part]?.section.counts ?? {})));

/** Measures a part. */
async function measure(part: string): Promise<Measured> {
  const [cpu] = cpus();
  const machine = `Node ${process.version}, ${cpus().length} cores (${cpu?.model ?? "unknown"})`;
  const commit = commitNow();
  const [before = 0] = loadavg();
  const section = await sectionOf(part, countsOf(await readResults()));
  const date = new Date().toISOString().slice(0, 10);
  return { date, machine, commit, loads: [before, loadavg()[0] ?? 0], section };
}

function commitNow(): string {
  const git = (...args: string[]) => spawnSync("git", args, { cwd: root, encoding: "utf8" }).stdout;
  const changed = git(
    "status",
    "--porcelain",
    "--",
    "functions",
    "shared",
    "infra",
    "test/bench/*.ts",
  );
  return `${git("rev-parse", "--short=8", "HEAD").trim()}${changed === "" ? "" : "+"}`;
}

/** Returns when and where a part was measured. */
function originOf({ date, machine, commit, loads }: Results[string]): string {
  const load = loads?.map((one) => one.toFixed(1)).join(" at the start, ");
  const at = commit === undefined ? "" : `, at ${commit}`;
  return `_Measured on ${date}${at}: ${machine}${load === undefined ? "" : `; load average ${load} at the end`}._`;
}

/** Writes the page of all results as they are kept. */
async function writePage(): Promise<void> {
  const results = await readResults();
  const known = parts.flatMap((part) => results[part] ?? []);
  const lead =
    "Written by `npm run bench`. Costs are CPU time, in turns in one run: medians, and the range in brackets.";
  const targets = targetsTable(known.flatMap(({ section }) => section.targets));
  const told = known.map((one) => `${markdownOf(one.section)}\n${originOf(one)}\n`);
  const text = `# Speed and cost\n\n${lead}\n\n## Targets\n\n${targets}\n\n${told.join("\n")}`;
  await writeFile(join(here, "results.md"), text);
  format("test/bench/results.md", "test/bench/results.json");
}

const ran = parts.filter((part) => chosen.length === 0 || chosen.includes(part));
const targets: Section["targets"] = [];
/** Parts that could not be measured. What an earlier run has measured of them stays. */
const failed: string[] = [];
for (const part of ran) {
  const one = await measure(part).catch((error: unknown) => {
    failed.push(`${part}: ${reasonOf(error)}`);
    return undefined;
  });
  if (one === undefined) continue;
  // Read anew, as a run of other parts may have ended meanwhile.
  await writeFile(resultsFile, JSON.stringify({ ...(await readResults()), [part]: one }));
  await writePage();
  targets.push(...one.section.targets);
  console.log(markdownOf(one.section));
}
console.log(targetsTable(targets));
if (failed.length > 0) {
  console.error(["Not measured:", ...failed].join("\n- "));
  process.exitCode = 1;
}
