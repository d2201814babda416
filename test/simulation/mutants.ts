/**
 * `npm run mutants [-- --only "claim|cap" --seeds 100 --quick]`: breaks one load-bearing piece of code at a time, in a
 * copy of the project, and runs its unit tests, then simulations, directed schedules and explorations on the
 * copy. One of them must fail. A test that exceeds its time limit shows nothing: such mutants have a list of their own.
 * Runs the same on an unbroken copy first, and ends if it fails. Exits with 1 unless every mutant is killed.
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
import { printHelp } from "../../infra/cli/help.ts";

printHelp(`npm run mutants -- [OPTIONS]

Breaks one critical line at a time in a copy of the project. Tests and simulations must notice; survivors end it with 1.
Takes hours.

  --only TEXT    mutants whose names match this regular expression
  --seeds N      simulations of each mutant (150)
  --quick        unit tests alone`);

const root = resolve(import.meta.dirname, "../..");
const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    seeds: { type: "string", default: "150" },
    /** Runs the unit tests alone. */
    quick: { type: "boolean", default: false },
  },
});
/** Maximum time of one run of a copy: first of the unbroken one, then by the time that this has taken. */
let runMsMax = 30 * 60_000;
const runMsMin = 2 * 60_000;
/** Time limit of a test in a copy: long, as a slow test must not pass for one that notices. */
const testMsMax = 60_000;

const parts = [".config", "functions", "shared", "infra", "test", "package.json", "tsconfig.json"];

/** Copies the parts of the project that are run, as they stand in `from`. */
async function copyOf(from: string): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "outbound-calls-mutant-"));
  const filter = (path: string) => !path.slice(from.length).includes("node_modules");
  for (const part of parts) {
    await cp(join(from, part), join(copy, part), { recursive: true, filter });
  }
  for (const folder of ["", "test", "infra/aws", "infra/client", "infra/mcp"]) {
    await symlink(join(root, folder, "node_modules"), join(copy, folder, "node_modules"));
  }
  return copy;
}

/** All mutants start from this copy, as files may be edited while they run. */
const first = await copyOf(root);

/** Returns a copy with some lines broken. */
async function copyWith(edits: Mutant["edits"]): Promise<string> {
  const copy = await copyOf(first);
  const limits = { testTimeout: testMsMax, hookTimeout: testMsMax };
  const config = { test: { include: ["test/**/*.test.ts"], ...limits } };
  await writeFile(join(copy, "vitest.config.mjs"), `export default ${JSON.stringify(config)};\n`);
  for (const { code, becomes } of edits) {
    // Two edits may be of one file.
    const { file, text, start, end } = searchIn(copy)(code);
    await writeFile(join(copy, file), text.slice(0, start) + becomes + text.slice(end));
  }
  return copy;
}

/** A run that has ended; `code` is undefined if it was killed after its time. */
interface Ran {
  code: number | undefined;
  text: string;
}

/** Process groups of the runs under way, which would outlive this process. */
const groups = new Set<number>();
process.once("exit", () => groups.forEach(killGroup));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}

/** Runs a Node script in a copy. */
async function run(copy: string, args: string[]): Promise<Ran> {
  const child = spawn(process.execPath, args, {
    cwd: copy,
    detached: true, // a test that loops would outlive the process that waits for it
    stdio: ["ignore", "pipe", "pipe"],
  });
  const { pid = 0 } = child;
  groups.add(pid);
  const printed: string[] = [];
  child.stdout.on("data", (chunk: Buffer) => printed.push(chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => printed.push(chunk.toString()));
  const timer = setTimeout(() => killGroup(pid), runMsMax);
  const code = await new Promise<number | null>((ended) => child.on("close", ended));
  clearTimeout(timer);
  groups.delete(pid);
  return { code: code ?? undefined, text: printed.join("") };
}

const runTests = (copy: string, tests: readonly string[], ...more: string[]) =>
  run(copy, ["node_modules/vitest/vitest.mjs", "run", "--reporter", "tap-flat", ...more, ...tests]);

const runSimulations = (copy: string) =>
  run(copy, ["test/simulation/run.ts", "--unshrunk", "--mutant", "--seeds", values.seeds]);

/** A failed check. */
interface Failure {
  told: string;
  isTimeout: boolean;
}

/** Returns the failed tests of a run, by their files. */
function failedIn(text: string): (Failure & { file: string })[] {
  return text
    .split(/^(?=(?:not )?ok )/m)
    .filter((part) => /^not ok .* > /.test(part))
    .map((part) => {
      const [line = ""] = part.split("\n");
      const told = line.replace(/^not ok \d+ - /, "").replace(/ # time.*/, "");
      const isTimeout = /^ *message: "(?:Test|Hook) timed out in /m.test(part);
      return { told, isTimeout, file: told.split(" > ", 1)[0] ?? "" };
    });
}

const timedOut = (): Failure => ({ told: `not done within ${runMsMax} ms`, isTimeout: true });

/** Returns the failed test, or undefined if all passed. @throws if the tests cannot run */
async function failedTest(copy: string, tests: readonly string[]): Promise<Failure | undefined> {
  if (tests.length === 0) return undefined;
  const quickly = await runTests(copy, tests, "--bail", "1");
  if (quickly.code === 0) return undefined;
  if (quickly.code === undefined) return timedOut();
  const files = [...new Set(failedIn(quickly.text).map(({ file }) => file))];
  // A mutant that cannot run at all shows nothing.
  if (files.length === 0) throw new Error(quickly.text.slice(0, 2000));
  // A failure is repeated once, as a test may measure time, which a busy machine makes longer.
  const again = await runTests(copy, files);
  if (again.code === undefined) return timedOut();
  const failed = failedIn(again.text);
  return failed.find(({ isTimeout }) => !isTimeout) ?? failed[0];
}

/** Returns the failed check, or undefined if all passed. */
async function failureIn(copy: string, tests: readonly string[]): Promise<Failure | undefined> {
  const failed = await failedTest(copy, tests);
  if (values.quick || (failed !== undefined && !failed.isTimeout)) return failed;
  const { code, text } = await runSimulations(copy);
  if (code === undefined) return failed ?? timedOut();
  if (code === 0) return failed;
  const lines = text.split("\n");
  const seed = lines.findIndex((line) => line.startsWith("Seed"));
  const told = seed < 0 ? lines.find((line) => line.startsWith("broken: ")) : lines[seed + 1];
  return { told: told ?? text.slice(0, 500), isTimeout: false };
}

async function twoAtOnce<Item>(items: readonly Item[], work: (item: Item) => Promise<void>) {
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all([worker(), worker()]);
}

type Outcome = "KILLED" | "SURVIVED" | "TIMED OUT" | "DOES NOT RUN";

/** Breaks a copy, and returns what has noticed. */
async function outcomeOf({ edits, tests }: Mutant): Promise<{ outcome: Outcome; told: string }> {
  const copy = await copyWith(edits);
  try {
    const failed = await failureIn(copy, tests);
    if (failed === undefined) return { outcome: "SURVIVED", told: "" };
    return { outcome: failed.isTimeout ? "TIMED OUT" : "KILLED", told: failed.told };
  } catch (error) {
    return { outcome: "DOES NOT RUN", told: String(error) };
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/**
 * Ends the process if the checks fail without a mutant, as then they would show nothing. Otherwise their time limits that of
 * each mutant's runs.
 */
async function checkUnbroken(): Promise<void> {
  const tests = [...new Set(chosen.flatMap((mutant) => mutant.tests))];
  const missing = tests.filter((test) => !existsSync(join(first, test)));
  const copy = await copyWith([]);
  const startedAt = Date.now();
  const failed =
    missing.length > 0
      ? { told: `there is no ${missing.join(", ")}` }
      : await failureIn(copy, tests).catch((error: unknown) => ({ told: String(error) }));
  await rm(copy, { recursive: true, force: true });
  runMsMax = Math.max(runMsMin, 5 * (Date.now() - startedAt));
  if (failed === undefined) return;
  await rm(first, { recursive: true, force: true });
  console.error(`Without a mutant it fails, so nothing can be shown:\n    ${failed.told}`);
  process.exit(1);
}

const only = new RegExp(values.only);
// All code is looked for before anything runs, so that changed code is reported at once.
const search = searchIn(first);
const chosen = mutants.filter(
  ({ breaks, edits }) =>
    edits.map(({ code }) => search(code)).some(({ file }) => only.test(file)) || only.test(breaks),
);
if (chosen.length === 0) {
  console.error("There is no such mutant.");
  process.exit(1);
}
await checkUnbroken();
const lists: Record<Outcome, string[]> = {
  KILLED: [],
  SURVIVED: [],
  "TIMED OUT": [],
  "DOES NOT RUN": [],
};
await twoAtOnce(chosen, async (mutant) => {
  const startedAt = Date.now();
  const { outcome, told } = await outcomeOf(mutant);
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(0);
  console.log(`${outcome} (${seconds} s): ${mutant.breaks}`);
  if (told !== "") console.log(`    ${told.slice(0, 500)}`);
  lists[outcome].push(mutant.breaks);
});
await rm(first, { recursive: true, force: true });
console.log(`${lists.KILLED.length} of ${chosen.length} were killed.`);
const hints = [
  ["SURVIVED", "nothing has noticed it"],
  ["TIMED OUT", "neither killed nor survived, as only time limits have failed"],
  ["DOES NOT RUN", "shows nothing"],
] as const;
for (const [outcome, hint] of hints) {
  for (const breaks of lists[outcome]) console.log(`${outcome}, ${hint}: ${breaks}`);
}
process.exit(lists.KILLED.length === chosen.length ? 0 : 1);
