import * as fc from "fast-check";
import { type Scenario, scenarios } from "./scenario.ts";
import { type Report, simulate } from "./simulate.ts";

const counts = [
  "accepted",
  "placed",
  "suppressed",
  "unknown",
  "needsReview",
  "killed",
  "frozen",
  "told",
  "calledBack",
  "forged",
  "eventsTaken",
  "eventsRefused",
] as const;
export type Totals = Record<(typeof counts)[number], number>;

/** A seed that broke a promise, and the smallest scenario that still does. */
export interface Failure {
  seed: number;
  scenario: Scenario;
  violations: string[];
  /** The latest events. */
  trace: string[];
}

const shrinkMsMax = 60_000;
const traceLinesMax = 150;

/**
 * Runs one simulation per seed, starting at `from`, until one breaks a promise. That one is shrunk.
 *
 * @param progress is called after every seed
 */
export async function runSeeds(
  from: number,
  count: number,
  { isShrunk, of = scenarios }: { isShrunk: boolean; of?: fc.Arbitrary<Scenario> },
  progress: (seed: number, totals: Totals) => void = () => undefined,
): Promise<{ totals: Totals; failure?: Failure }> {
  const totals: Totals = {
    accepted: 0,
    placed: 0,
    suppressed: 0,
    unknown: 0,
    needsReview: 0,
    killed: 0,
    frozen: 0,
    told: 0,
    calledBack: 0,
    forged: 0,
    eventsTaken: 0,
    eventsRefused: 0,
  };
  for (let seed = from; seed < from + count; seed++) {
    let latest: Report | undefined;
    const property = fc.asyncProperty(of, async (scenario) => {
      latest = await simulate(scenario);
      return latest.violations.length === 0;
    });
    const options = {
      seed,
      numRuns: 1,
      unbiased: true,
      endOnFailure: !isShrunk,
      interruptAfterTimeLimit: shrinkMsMax,
    };
    const { counterexample } = await fc.check(property, options);
    if (counterexample !== null) {
      const [scenario] = counterexample;
      const { violations, trace } = await simulate(scenario, { traced: true });
      return {
        totals,
        failure: { seed, scenario, violations, trace: trace.slice(-traceLinesMax) },
      };
    }
    for (const name of counts) totals[name] += latest?.[name] ?? 0;
    progress(seed, totals);
  }
  return { totals };
}

/** Describes a failure for people, with the way to repeat it. */
export function textOf({ seed, scenario, violations, trace }: Failure): string {
  return [
    `Seed ${seed} breaks a promise:`,
    ...violations.slice(0, 10),
    `The least that does (npm run simulate -- --seeds 1 --from ${seed} shows it again):`,
    JSON.stringify(scenario),
    ...trace,
  ].join("\n");
}
