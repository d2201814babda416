/**
 * `npm run bench -- engines`: races this service and the engines that somebody might use in its stead, one
 * after the other, and writes their figures, tables and pictures. Options: `--runs 3` repeats it; `--minute 20`
 * shortens each of its minutes, and posts fewer calls; `--only dbos,restate` races some and writes
 * nothing; `--draw` makes tables and pictures anew from the last figures.
 */
import { readFile, writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Engine } from "./race/engine.ts";
import { figuresOf } from "./race/figures.ts";
import { oursOnAws, oursOnWorkerd } from "./race/ours.ts";
import { fatesPicture, latencyPicture, ratePicture } from "./race/pictures.ts";
import { race, type Workload } from "./race/race.ts";
import { bullmq, dbos, pgBoss, restate } from "./race/rivals.ts";
import { costsTable, fatesTable, type Run, shortTable, timesTable } from "./race/tables.ts";

const root = join(import.meta.dirname, "../..");
const resultsFile = join(import.meta.dirname, "engines/results.json");
const engines: Record<string, Engine> = {
  workerd: oursOnWorkerd,
  aws: oursOnAws,
  bullmq,
  "pg-boss": pgBoss,
  dbos,
  restate,
};

/** Results of a race, as they are committed. */
interface Results {
  date: string;
  machine: string;
  workload: Workload;
  /** Engines that could not be raced, and why. */
  leftOut: string[];
  runs: Run[];
  /** The machine's load average over 15 minutes at the end of each run: above its cores, other work ran too. */
  loads: number[];
}

const { values: given } = parseArgs({
  options: {
    runs: { type: "string", default: "1" },
    minute: { type: "string", default: "60" },
    only: { type: "string" },
    draw: { type: "boolean", default: false },
  },
});
const minute = Number(given.minute);
const callsPerSecond = 2000 / 180;
const workload: Workload = {
  killSeconds: minute,
  killEverySeconds: 3,
  hangSeconds: minute,
  busySeconds: minute,
  settleSecondsMax: 180,
  calls: Math.round(callsPerSecond * minute * 3),
};

/** Races each engine once. An engine that fails ends the race, so that no table lacks it unseen. */
async function raceAll(names: readonly string[], results: Results): Promise<Run> {
  const run: Run = [];
  for (const name of names) {
    const engine = engines[name];
    if (engine === undefined) {
      throw new Error(`There is no engine ${name}. There are ${Object.keys(engines).join(", ")}.`);
    }
    const absent = engine.absent?.();
    if (absent !== undefined) {
      console.error(`\n!!! ${engine.name} is left out: ${absent}.\n`);
      if (!results.leftOut.includes(engine.name)) results.leftOut.push(engine.name);
      continue;
    }
    const figures = figuresOf(engine, await race(engine, workload), workload.killSeconds);
    run.push(figures);
    const { perSecond: _, ...told } = figures;
    console.log(JSON.stringify(told));
  }
  return run;
}

/** The page of all figures of the race. README.md has a short one. */
const racePage = "test/bench/engines/results.md";

/** Replaces what stands between a page's comments `<!-- name -->` and `<!-- /name -->`. */
async function fill(page: string, name: string, text: string): Promise<void> {
  const path = join(root, page);
  const old = await readFile(path, "utf8");
  const between = new RegExp(`(<!-- ${name} -->\n)[^]*?(<!-- /${name} -->)`);
  if (!between.test(old)) throw new Error(`${page} has no place for ${name}`);
  await writeFile(
    path,
    old.replace(between, (_, start: string, end: string) => `${start}\n${text}\n\n${end}`),
  );
}

async function draw({
  date,
  machine,
  leftOut,
  runs,
  loads,
  workload: done,
}: Results): Promise<void> {
  const count = runs.length === 1 ? "one run" : `${runs.length} runs, medians and ranges`;
  const lead =
    `Measured on ${date} by \`npm run bench -- engines --runs ${runs.length}\`: ${count}; ${machine}; load average ${Math.max(...loads).toFixed(1)}. ${
      done.hangSeconds === 60 ? "" : `Each of the minutes took ${done.hangSeconds} s. `
    }${leftOut.length === 0 ? "" : `**Left out: ${leftOut.join(", ")}.** `}`.trim();
  await fill(racePage, "fates", `${lead}\n\n${fatesTable(runs)}`);
  await fill(racePage, "times", timesTable(runs));
  await fill(racePage, "costs", costsTable(runs));
  await fill("README.md", "race", shortTable(runs));
  const pictures = join(root, "docs/pictures");
  await writeFile(join(pictures, "race-fates.svg"), fatesPicture(runs));
  await writeFile(join(pictures, "race-latency.svg"), latencyPicture(runs));
  await writeFile(join(pictures, "race-rate.svg"), ratePicture(runs));
}

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
if (given.draw) {
  const results: Results = JSON.parse(await readFile(resultsFile, "utf8"));
  await draw(results);
} else {
  const [cpu] = cpus();
  const results: Results = {
    date: new Date().toISOString().slice(0, 10),
    machine: `Node ${process.version}, ${cpus().length} cores (${cpu?.model ?? "unknown"})`,
    workload,
    leftOut: [],
    runs: [],
    loads: [],
  };
  const names = given.only?.split(",") ?? Object.keys(engines);
  for (let n = 0; n < Number(given.runs); n++) {
    results.runs.push(await raceAll(names, results));
    results.loads.push(loadavg()[2] ?? 0);
    console.log([fatesTable, timesTable, costsTable].map((of) => of(results.runs)).join("\n\n"));
    // Each run is written at once: a race takes long, and a later run may be cut off.
    if (given.only === undefined) {
      await writeFile(resultsFile, JSON.stringify(results));
      await draw(results);
    }
  }
}
