/**
 * `npm run mutants [-- --only claim]`: breaks one load-bearing line at a time, in a copy of the project, and runs the
 * simulations and explorations on it. Every one must make them fail; ends with 1 where one survives.
 *
 * A list of its own, and not Stryker's: what matters is that each of these lines bears its load, and most of a mutation
 * tool's changes break nothing that a promise is about.
 */
import { spawn } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { inLanes } from "../../functions/dialer/lanes.ts";
import { mutants, type Mutant } from "./mutant-list.ts";

const root = resolve(import.meta.dirname, "../..");
const { values } = parseArgs({
  options: { only: { type: "string", default: "" }, seeds: { type: "string", default: "400" } },
});

/** A copy of what the simulation runs, with one line broken. */
async function copyWith({ edits }: Mutant): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "outbound-calls-mutant-"));
  for (const part of ["functions", "shared", "infra", "test", "package.json", "tsconfig.json"]) {
    const filter = (path: string) => !path.includes("node_modules");
    await cp(join(root, part), join(copy, part), { recursive: true, filter });
  }
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  for (const { file, line, becomes } of edits) {
    const path = join(copy, file);
    const text = await readFile(path, "utf8");
    if (text.split(line).length !== 2) throw new Error(`${file} has not once: ${line}`);
    await writeFile(
      path,
      text.replace(line, () => becomes),
    );
  }
  return copy;
}

/** What the suite said; undefined where nothing was found. */
async function suiteIn(copy: string): Promise<string | undefined> {
  const args = ["test/simulation/run.ts", "--unshrunk", "--schedules", "--seeds", values.seeds];
  const suite = spawn(process.execPath, args, { cwd: copy, stdio: ["ignore", "pipe", "pipe"] });
  const printed: string[] = [];
  const errors: string[] = [];
  suite.stdout.on("data", (chunk: Buffer) => printed.push(chunk.toString()));
  suite.stderr.on("data", (chunk: Buffer) => errors.push(chunk.toString()));
  const code = await new Promise<number | null>((ended) => suite.on("close", ended));
  if (code === 0) return undefined;
  const lines = printed.join("").split("\n");
  const seen = lines.findIndex((line) => line.startsWith("Seed"));
  const tellsNothing = /^(\{|\d+ |functions |$)/;
  const told = seen < 0 ? lines.find((line) => !tellsNothing.test(line)) : lines[seen + 1];
  // Broken so that it does not run at all, it shows nothing.
  if (told === undefined || told === "") throw new Error(errors.join("").slice(0, 2000));
  return told;
}

const survivors: string[] = [];
const chosen = mutants.filter(({ breaks }) => breaks.includes(values.only));
await inLanes(chosen, { lanes: 2, group: () => "", groupLanes: () => 2 }, async (mutant) => {
  const copy = await copyWith(mutant);
  const startedAt = Date.now();
  try {
    const told = await suiteIn(copy);
    const seconds = ((Date.now() - startedAt) / 1000).toFixed(0);
    console.log(`${told === undefined ? "SURVIVED" : "killed"} (${seconds} s): ${mutant.breaks}`);
    if (told === undefined) survivors.push(mutant.breaks);
    else console.log(`    ${told.slice(0, 150)}`);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
});
console.log(
  `${chosen.length - survivors.length} of ${chosen.length} were killed, ${survivors.length} survived.`,
);
process.exit(survivors.length === 0 ? 0 : 1);
