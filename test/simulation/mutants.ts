/**
 * `npm run mutants [-- --only "claim|cap" --seeds 100 --quick]`: breaks one load-bearing piece of code at a time, in a
 * copy of the project, and runs its unit tests, then simulations, directed schedules and explorations on the
 * copy. One of them must fail; exits with 1 if a mutant survives.
 *
 * The list is our own and not Stryker's: each of these lines must bear its load, whereas most changes of a
 * mutation tool break no promise.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { mutants } from "./mutant-list.ts";
import { type Mutant, searchIn } from "./mutant.ts";

const root = resolve(import.meta.dirname, "../..");
const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    seeds: { type: "string", default: "150" },
    /** Runs the unit tests alone. */
    quick: { type: "boolean", default: false },
  },
});
const minutesMax = 6;

const parts = ["functions", "shared", "infra", "test", "package.json", "tsconfig.json"];

/** Copies the parts of the project that are run, as they stand in `from`. */
async function copyOf(from: string): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "outbound-calls-mutant-"));
  const filter = (path: string) => !path.slice(from.length).includes("node_modules");
  for (const part of parts) {
    await cp(join(from, part), join(copy, part), { recursive: true, filter });
  }
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  return copy;
}

/** All mutants start from this copy, as files may be edited while they run. */
const first = await copyOf(root);

/** Returns a copy with some lines broken. */
async function copyWith(edits: Mutant["edits"]): Promise<string> {
  const copy = await copyOf(first);
  const config = 'export default { test: { include: ["test/**/*.test.ts"] } };\n';
  await writeFile(join(copy, "vitest.config.js"), config);
  for (const { code, becomes } of edits) {
    // Two edits may be of one file.
    const { file, text, start, end } = searchIn(copy)(code);
    await writeFile(join(copy, file), text.slice(0, start) + becomes + text.slice(end));
  }
  return copy;
}

/** Runs a Node script in a copy. */
async function run(copy: string, args: string[]): Promise<{ code: number; text: string }> {
  const child = spawn(process.execPath, args, { cwd: copy, stdio: ["ignore", "pipe", "pipe"] });
  const printed: string[] = [];
  child.stdout.on("data", (chunk: Buffer) => printed.push(chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => printed.push(chunk.toString()));
  const timer = setTimeout(() => child.kill("SIGKILL"), minutesMax * 60_000);
  const code = await new Promise<number | null>((ended) => child.on("close", ended));
  clearTimeout(timer);
  return { code: code ?? 1, text: printed.join("") };
}

const runTests = (copy: string, tests: readonly string[]) =>
  run(copy, [
    "node_modules/vitest/vitest.mjs",
    "run",
    "--bail",
    "1",
    "--reporter",
    "tap-flat",
    ...tests,
  ]);

/** Returns the failed check, or undefined if all passed. */
async function failureIn(copy: string, tests: readonly string[]): Promise<string | undefined> {
  if (tests.length > 0) {
    const { code, text } = await runTests(copy, tests);
    // A failure is repeated once, as a test may exceed its time limit on a busy machine.
    const again = code === 0 ? code : (await runTests(copy, tests)).code;
    const failed =
      again === 0 ? undefined : text.split("\n").find((line) => /^not ok .* > /.test(line));
    if (failed !== undefined) return failed.replace(/^not ok \d+ - /, "").replace(/ # time.*/, "");
    // A mutant that cannot run at all shows nothing.
    if (again !== 0) throw new Error(text.slice(0, 2000));
  }
  if (values.quick) return undefined;
  const args = ["test/simulation/run.ts", "--unshrunk", "--mutant", "--seeds", values.seeds];
  const { code, text } = await run(copy, args);
  if (code === 0) return undefined;
  const lines = text.split("\n");
  const seed = lines.findIndex((line) => line.startsWith("Seed"));
  return (
    (seed < 0 ? lines.find((line) => line.startsWith("broken: ")) : lines[seed + 1]) ??
    text.slice(0, 500)
  );
}

async function twoAtOnce<Item>(items: readonly Item[], work: (item: Item) => Promise<void>) {
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all([worker(), worker()]);
}

/** Returns the tests that pass without a mutant. A test that fails anyway shows nothing. */
async function passing(): Promise<ReadonlySet<string>> {
  const tests = [...new Set(chosen.flatMap((mutant) => mutant.tests))];
  const copy = await copyWith([]);
  const passed = new Set<string>();
  await twoAtOnce(tests, async (test) => {
    const isThere = existsSync(join(first, test));
    const { code } = isThere ? await runTests(copy, [test]) : { code: 1 };
    if (code === 0) passed.add(test);
    else console.log(`not used, as it fails without a mutant: ${test}`);
  });
  await rm(copy, { recursive: true, force: true });
  return passed;
}

const only = new RegExp(values.only);
// All code is looked for before anything runs, so that changed code is reported at once.
const search = searchIn(first);
const chosen = mutants.filter(
  ({ breaks, edits }) =>
    edits.map(({ code }) => search(code)).some(({ file }) => only.test(file)) || only.test(breaks),
);
const passed = await passing();
const survivors: string[] = [];
await twoAtOnce(chosen, async (mutant) => {
  const copy = await copyWith(mutant.edits);
  const startedAt = Date.now();
  try {
    const tests = mutant.tests.filter((test) => passed.has(test));
    const told = await failureIn(copy, tests);
    const seconds = ((Date.now() - startedAt) / 1000).toFixed(0);
    console.log(`${told === undefined ? "SURVIVED" : "killed"} (${seconds} s): ${mutant.breaks}`);
    if (told === undefined) survivors.push(mutant.breaks);
    else console.log(`    ${told.slice(0, 150)}`);
  } catch (error) {
    survivors.push(mutant.breaks);
    console.log(`DOES NOT RUN: ${mutant.breaks}\n${String(error).slice(0, 1500)}`);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
});
await rm(first, { recursive: true, force: true });
console.log(
  `${chosen.length - survivors.length} of ${chosen.length} were killed, ${survivors.length} survived.`,
);
for (const breaks of survivors) console.log(`SURVIVED: ${breaks}`);
process.exit(survivors.length === 0 ? 0 : 1);
