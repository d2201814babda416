import { existsSync } from "node:fs";
import { join } from "node:path";
import { copyProject, removeCopy, root, run, whileChanged } from "./copies.ts";
import type { Mutant } from "./mutant.ts";

/** Maximum time of one run of a copy: first of the unbroken one, then by the time that this has taken. */
const firstRunMsMax = 30 * 60_000;
const runMsMin = 2 * 60_000;

/** A failed check. */
interface Failure {
  told: string;
  isTimeout: boolean;
}

export interface RunOptions {
  /** Simulations of each mutant. */
  seeds: string;
  /** True to run the tests alone. */
  isQuick: boolean;
  /** Mutants that run at once, each in a copy of its own. */
  atOnce: number;
}

type Outcome = "KILLED" | "SURVIVED" | "TIMED OUT" | "DOES NOT RUN";

/**
 * Runs each mutant's tests, then simulations, directed schedules and explorations, in a copy of the project. One of them
 * must fail. A test that exceeds its time limit shows nothing: such mutants have a list of their own.
 *
 * @returns the mutants that were not killed: all of them if the tests fail without a mutant
 */
export async function runMutants(
  mutants: readonly Mutant[],
  options: RunOptions,
): Promise<readonly Mutant[]> {
  const copies: string[] = [];
  try {
    while (copies.length < options.atOnce) copies.push(await copyProject(root));
    const runMsMax = await checkUnbroken(copies[0] ?? "", mutants, options);
    if (runMsMax === undefined) return mutants;
    return await runAll(copies, mutants, { ...options, runMsMax });
  } finally {
    await Promise.all(copies.map(removeCopy));
  }
}

type Runs = RunOptions & { runMsMax: number };

async function runAll(
  copies: string[],
  mutants: readonly Mutant[],
  runs: Runs,
): Promise<readonly Mutant[]> {
  const outcomes = new Map<Mutant, Outcome>();
  const rest = mutants.values();
  await Promise.all(
    copies.map(async (copy) => {
      for (const mutant of rest) {
        const startedAt = Date.now();
        const { outcome, told } = await whileChanged(copy, mutant.changed, () =>
          outcomeOf(copy, mutant.tests, runs),
        );
        const seconds = ((Date.now() - startedAt) / 1000).toFixed(0);
        console.log(`${outcome} (${seconds} s): ${mutant.breaks}`);
        if (told !== "") console.log(`    ${told.slice(0, 500)}`);
        outcomes.set(mutant, outcome);
      }
    }),
  );
  return report(outcomes);
}

function report(outcomes: ReadonlyMap<Mutant, Outcome>): readonly Mutant[] {
  const named = (sought: Outcome) =>
    [...outcomes].flatMap(([{ breaks }, outcome]) => (outcome === sought ? breaks : []));
  console.log(`${named("KILLED").length} of ${outcomes.size} mutants were killed.`);
  const hints = [
    ["SURVIVED", "nothing has noticed it"],
    ["TIMED OUT", "neither killed nor survived, as only time limits have failed"],
    ["DOES NOT RUN", "shows nothing"],
  ] as const;
  for (const [outcome, hint] of hints) {
    for (const breaks of named(outcome)) console.log(`${outcome}, ${hint}: ${breaks}`);
  }
  return [...outcomes.keys()].filter((mutant) => outcomes.get(mutant) !== "KILLED");
}

async function outcomeOf(
  copy: string,
  tests: readonly string[],
  runs: Runs,
): Promise<{ outcome: Outcome; told: string }> {
  try {
    const failed = await findFailure(copy, tests, runs);
    if (failed === undefined) return { outcome: "SURVIVED", told: "" };
    return { outcome: failed.isTimeout ? "TIMED OUT" : "KILLED", told: failed.told };
  } catch (error) {
    return { outcome: "DOES NOT RUN", told: String(error) };
  }
}

/**
 * Runs the checks without a mutant: if they fail, they would show nothing.
 *
 * @returns the time limit of each mutant's runs in milliseconds, or undefined if the checks fail
 */
async function checkUnbroken(
  copy: string,
  mutants: readonly Mutant[],
  options: RunOptions,
): Promise<number | undefined> {
  const tests = [...new Set(mutants.flatMap((mutant) => mutant.tests))];
  const missing = tests.filter((test) => !existsSync(join(copy, test)));
  const startedAt = Date.now();
  const failed =
    missing.length > 0
      ? { told: `there is no ${missing.join(", ")}` }
      : await findFailure(copy, tests, { ...options, runMsMax: firstRunMsMax }).catch(
          (error: unknown) => ({ told: String(error) }),
        );
  if (failed === undefined) return Math.max(runMsMin, 5 * (Date.now() - startedAt));
  console.error(`Without a mutant it fails, so nothing can be shown:\n    ${failed.told}`);
  return undefined;
}

/** Returns the failed check, or undefined if all passed. @throws if the tests cannot run */
async function findFailure(
  copy: string,
  tests: readonly string[],
  { seeds, isQuick, runMsMax }: Runs,
): Promise<Failure | undefined> {
  const failed = await findFailedTest(copy, tests, runMsMax);
  if (isQuick || (failed !== undefined && !failed.isTimeout)) return failed;
  const args = ["test/simulation/run.ts", "--unshrunk", "--mutant", "--seeds", seeds];
  const { code, text } = await run(copy, args, { msMax: runMsMax });
  if (code === undefined) return failed ?? timedOut(runMsMax);
  if (code === 0) return failed;
  const lines = text.split("\n");
  const seed = lines.findIndex((line) => line.startsWith("Seed"));
  const told = seed < 0 ? lines.find((line) => line.startsWith("broken: ")) : lines[seed + 1];
  return { told: told ?? text.slice(0, 500), isTimeout: false };
}

const timedOut = (msMax: number): Failure => ({
  told: `not done within ${msMax} ms`,
  isTimeout: true,
});

async function findFailedTest(
  copy: string,
  tests: readonly string[],
  msMax: number,
): Promise<Failure | undefined> {
  const quickly = await runTests(copy, tests, msMax);
  if (quickly.every(({ code }) => code === 0)) return undefined;
  if (quickly.some(({ code }) => code === undefined)) return timedOut(msMax);
  const files = [...new Set(quickly.flatMap(({ text }) => failedIn(text)).map(({ file }) => file))];
  // A mutant that cannot run at all shows nothing.
  if (files.length === 0)
    throw new Error(quickly.map(({ text }) => text.slice(0, 2000)).join("\n"));
  // A failure is repeated once, as a test may measure time, which a busy machine makes longer.
  const again = await runTests(copy, files, msMax);
  if (again.some(({ code }) => code === undefined)) return timedOut(msMax);
  const failed = again.flatMap(({ text }) => failedIn(text));
  return failed.find(({ isTimeout }) => !isTimeout) ?? failed[0];
}

/** Runs test files: those of Cloudflare's runtime in their project, the others with the copy's own config. */
async function runTests(copy: string, tests: readonly string[], msMax: number) {
  const inRuntime = tests.filter((test) => test.startsWith("test/cloudflare/"));
  const others = tests.filter((test) => !inRuntime.includes(test));
  const runs = [];
  if (others.length > 0) runs.push(await runVitest(copy, ["--bail", "1", ...others], msMax));
  const project = ["--config", ".config/vitest.config.ts", "--project", "cloudflare"];
  if (inRuntime.length > 0) runs.push(await runVitest(copy, [...project, ...inRuntime], msMax));
  return runs;
}

const runVitest = (copy: string, args: readonly string[], msMax: number) =>
  run(copy, ["node_modules/vitest/vitest.mjs", "run", "--reporter", "tap-flat", ...args], {
    msMax,
  });

/** Returns the failed tests of a run, by their files. Tests that were left out after the first failure have no error. */
function failedIn(text: string): (Failure & { file: string })[] {
  return text
    .split(/^(?=(?:not )?ok )/m)
    .filter((part) => /^not ok .* > /.test(part) && /^ *error:/m.test(part))
    .map((part) => {
      const [line = ""] = part.split("\n");
      const told = line.replace(/^not ok \d+ - /, "").replace(/ # time.*/, "");
      const isTimeout = /^ *message: "(?:Test|Hook) timed out in /m.test(part);
      const file = /test\/\S+\.test\.ts/.exec(told)?.[0] ?? "";
      return { told, isTimeout, file };
    });
}
