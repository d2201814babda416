import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Instrumenter } from "@stryker-mutator/instrumenter";
import { sample, shuffledSubarray } from "fast-check";
import { laterSuffixes } from "#config/tiers.ts";
import mutation from "#config/vitest.mutation.ts";
import { acceptedSurvivors } from "./accepted-survivors.ts";
import { applyAll } from "./break-core.ts";
import { root } from "./copies.ts";
import type { Mutant } from "./mutant.ts";
import { runMutants, type RunOptions } from "./run-mutants.ts";
import { nameSurvivor, offsetOf, toSurvivor } from "./survivors.ts";
import { toSource } from "./tree.ts";

/** The part of the tester's config that says which mutants it makes. */
export interface TesterConfig {
  mutate: string[];
  mutator: { excludedMutations: string[] };
}

const levels = ["Trace", "Debug", "Info", "Warn", "Error", "Fatal"];
/** Logger of the tester: its lines are of no use here. */
const silent: ConstructorParameters<typeof Instrumenter>[0] = Object.assign(
  Object.create(null),
  ...levels.map((level) => ({
    [level.toLowerCase()]: () => undefined,
    [`is${level}Enabled`]: () => false,
  })),
);

/** Makes the mutants of the tester, each as a changed file, without running it. */
export async function listTesterMutants({ mutate, mutator }: TesterConfig): Promise<Mutant[]> {
  const files = mutate.map((name) => ({
    name,
    mutate: true,
    content: readFileSync(join(root, name), "utf8"),
  }));
  const options = { ...mutator, plugins: null, ignorers: [] };
  const { mutants } = await new Instrumenter(silent).instrument(files, options);
  const tests = globSync(mutation.test?.include ?? [], { cwd: root });
  const sources = new Map(files.map(({ name, content }) => [name, toSource(name, content)]));
  return mutants.flatMap(({ fileName, location, mutatorName, replacement, statusReason }) => {
    const source = sources.get(fileName);
    if (source === undefined || statusReason !== undefined) return [];
    const start = fromOne(location.start);
    const end = fromOne(location.end);
    const range = { start: offsetOf(source.text, start), end: offsetOf(source.text, end) };
    const text = applyAll(source.text, [{ ...range, becomes: replacement }]);
    const place = { mutatorName, replacement, status: "", location: { start, end } };
    const breaks = nameSurvivor(toSurvivor(source, place));
    return { breaks, tests, changed: [{ file: fileName, text }] };
  });
}

/** The tester's report counts lines and columns from 1, and its instrumenter from 0. */
const fromOne = ({ line, column }: { line: number; column: number }) => ({
  line: line + 1,
  column: column + 1,
});

/**
 * Runs the tests of some mutants that a seed draws: first the quick tier's, then for those that survive the slow tier's and
 * simulations. A whole run takes hours.
 *
 * @returns true if all but accepted ones were killed
 */
export async function runDrawn(
  mutants: readonly Mutant[],
  draw: { count: number; seed: number },
  options: RunOptions,
): Promise<boolean> {
  const count = Math.min(draw.count, mutants.length);
  const some = shuffledSubarray([...mutants], { minLength: count, maxLength: count });
  const [drawn = []] = sample(some, { seed: draw.seed, numRuns: 1 });
  console.log(`${count} of ${mutants.length} mutants, drawn by seed ${draw.seed}.`);
  const isQuick = (test: string) => !laterSuffixes.some((suffix) => test.endsWith(suffix));
  const quick = drawn.map((one) => ({ ...one, tests: one.tests.filter(isQuick) }));
  const survivors = await runMutants(quick, { ...options, isQuick: true });
  console.log(`The quick tier killed ${count - survivors.length} of ${count}.`);
  const names = new Set(survivors.map(({ breaks }) => breaks));
  const left = drawn.filter(({ breaks }) => names.has(breaks));
  const still = left.length === 0 ? [] : await runMutants(left, { ...options, isQuick: false });
  const accepted = new Set(acceptedSurvivors.map(nameSurvivor));
  const unknown = still.filter(({ breaks }) => !accepted.has(breaks));
  console.log(`Both tiers killed ${count - still.length}. Not accepted: ${unknown.length}.`);
  return unknown.length === 0;
}
