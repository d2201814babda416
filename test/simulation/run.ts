/**
 * `npm run simulate -- --seeds 2000 [--from 1] [--schedules]`: runs so many simulations, each from its seed; with
 * `--schedules` those too that chance would seldom find, and every order in which two dialers and a sweep may handle
 * one call. Ends with 1 at the first that breaks a promise; what a seed brought is shrunk to the least that breaks it.
 */
import { parseArgs } from "node:util";
import {
  closing,
  lookedUpByNumber,
  meanwhile,
  runDirected,
  sentOnceMore,
  standingStill,
  waitingForPace,
} from "./directed.ts";
import { explorations, explore } from "./interleavings.ts";
import { runSeeds, textOf } from "./seeds.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "500" },
    from: { type: "string", default: "1" },
    schedules: { type: "boolean", default: false },
    /** As it was found. */
    unshrunk: { type: "boolean", default: false },
  },
});
const [from = 0, seeds = 0] = [values.from, values.seeds].map(Number);
if (!Number.isInteger(from) || !Number.isInteger(seeds) || from < 1 || seeds < 0) {
  console.error("--from must be a whole number from 1 on, --seeds one from 0 on.");
  process.exit(2);
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
${totals.unknown} unknown outcomes, ${totals.parked} parked;
functions killed ${totals.killed} times, frozen ${totals.frozen} times.`);

if (values.schedules) {
  for (const schedules of [
    closing(),
    sentOnceMore(),
    waitingForPace(),
    lookedUpByNumber(),
    ...Object.values(meanwhile).map(standingStill),
  ]) {
    const { runs, frozen, broken } = await runDirected(schedules);
    console.log(`${runs} schedules, in which ${frozen} functions stood still`);
    if (broken === undefined) continue;
    console.log(broken.join("\n"));
    process.exit(1);
  }
  for (const exploration of explorations) {
    const { situations, endings, broken } = await explore(exploration);
    console.log(`${JSON.stringify(exploration)}: ${situations} situations, ${endings} endings`);
    if (broken === undefined) continue;
    console.log([...broken.violations, ...broken.trace].join("\n"));
    process.exit(1);
  }
}
