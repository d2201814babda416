/**
 * `npm run simulate -- --seeds 2000 [--from 1] [--trouble 100] [--restores 100] [--schedules]`: runs this many simulations,
 * each from its seed, and this many of accounts in trouble. With `--schedules` it also runs the schedules
 * that random simulation would seldom find, and every order in which two dialers and a sweep may handle a
 * call. Exits with 1 at the first broken promise; a failing seed's scenario is shrunk to the smallest that
 * fails.
 */
import { parseArgs } from "node:util";
import { runDirected } from "./directed.ts";
import { explorations, isShort } from "./explorations.ts";
import { explore } from "./interleavings.ts";
import { longSchedules, quickSchedules } from "./schedules.ts";
import { restoredScenarios } from "./restores.ts";
import { runSeeds, textOf } from "./seeds.ts";
import { simulateTrouble } from "./trouble.ts";
import { printHelp } from "#infra/cli/help.ts";

printHelp(`npm run simulate -- [OPTIONS]

Simulates weeks of failures in minutes, and ends with 1 at the first broken promise. docs/guarantees.md

  --seeds N      simulations, each from its seed (500)
  --from N       first seed (1)
  --schedules    also directed schedules, and every order of steps of two dialers and a sweep
  --trouble N    simulations of accounts in trouble beside others (0)
  --restores N   simulations of a ledger that is restored from a backup (0)
  --unshrunk     reports a failing scenario as found
  --mutant       runs the quick schedules first, and only these`);

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "500" },
    from: { type: "string", default: "1" },
    schedules: { type: "boolean", default: false },
    /** Runs the quick schedules first, and only these: for a mutant. */
    mutant: { type: "boolean", default: false },
    /** Number of simulations of accounts in trouble beside accounts that are well. */
    trouble: { type: "string", default: "0" },
    /** Number of simulations of a ledger that is restored from a backup. */
    restores: { type: "string", default: "0" },
    /** Reports a failing scenario as found. */
    unshrunk: { type: "boolean", default: false },
  },
});
const [from = 0, seeds = 0] = [values.from, values.seeds].map(Number);
if (!Number.isInteger(from) || !Number.isInteger(seeds) || from < 1 || seeds < 0) {
  console.error("--from must be a whole number from 1 on, --seeds one from 0 on.");
  process.exit(2);
}

async function runTroubled(count: number): Promise<void> {
  for (let seed = from; seed < from + count; seed++) {
    const violations = await simulateTrouble(seed);
    if (violations.length === 0) continue;
    console.log(`trouble, seed ${seed}:\n${violations.join("\n")}`);
    process.exit(1);
  }
  if (count > 0) console.log(`${count} simulations of trouble: 0 violations.`);
}

async function runSchedules(schedules: typeof longSchedules): Promise<void> {
  for (const [name, all] of Object.entries(schedules)) {
    const { runs, frozen, broken } = await runDirected(all());
    console.log(`${name}: ${runs} schedules, in which ${frozen} functions stood still`);
    if (broken === undefined) continue;
    console.log(`broken: ${broken.join("\n")}`);
    process.exit(1);
  }
}

async function runExplorations(all: typeof explorations): Promise<void> {
  for (const exploration of all) {
    const { situations, endings, broken } = await explore(exploration);
    console.log(`${JSON.stringify(exploration)}: ${situations} situations, ${endings} endings`);
    if (broken === undefined) continue;
    console.log(`broken: ${[...broken.violations, ...broken.trace].join("\n")}`);
    process.exit(1);
  }
}

if (values.mutant) {
  await runExplorations(explorations.filter(isShort));
  await runSchedules(quickSchedules);
}
const isShrunk = !values.unshrunk;
const { totals, failure } = await runSeeds(from, seeds, { isShrunk }, (seed) => {
  if (seed % 100 === 0) console.error(`seed ${seed}`);
});
if (failure !== undefined) {
  console.log(textOf(failure));
  process.exit(1);
}
console.log(`${seeds} simulations, from seed ${from}: 0 violations.
${totals.accepted} calls accepted, ${totals.placed} placements, ${totals.suppressed} duplicates suppressed,
${totals.unknown} unknown outcomes, ${totals.needsReview} left to a person;
${totals.told} results told, ${totals.calledBack} callbacks taken, ${totals.forged} forged ones refused;
${totals.eventsTaken} events taken, ${totals.eventsRefused} tries to tell one failed;
functions killed ${totals.killed} times, frozen ${totals.frozen} times.`);

await runTroubled(Number(values.trouble));
const restores = Number(values.restores);
if (restores > 0) {
  const run = await runSeeds(from, restores, { isShrunk, of: restoredScenarios });
  if (run.failure !== undefined) {
    console.log(textOf(run.failure));
    process.exit(1);
  }
  const { placed, unknown, needsReview } = run.totals;
  console.log(
    `${restores} simulations of a restored ledger: 0 violations; ${placed} placements, ` +
      `${unknown} unknown outcomes, ${needsReview} left to a person.`,
  );
}

if (values.schedules) {
  await runSchedules({ ...quickSchedules, ...longSchedules });
  await runExplorations(explorations);
}
