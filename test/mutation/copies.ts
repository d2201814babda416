import { spawn } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Changed } from "./mutant.ts";

export const root = resolve(import.meta.dirname, "../..");
const parts = [
  ".config",
  "functions",
  "shared",
  "infra",
  "test",
  "package.json",
  "tsconfig.json",
  "wrangler.toml",
];
const packageFolders = ["", "test", "infra/aws", "infra/client", "infra/mcp"];
/** Time limit of a test in a copy: long, as a slow test must not pass for one that notices. */
const testMsMax = 120_000;

/** Copies what of a project is run, with a Vitest config that runs any test file. */
export async function copyProject(from: string): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "outbound-calls-mutant-"));
  const filter = (path: string) => !path.slice(from.length).includes("node_modules");
  for (const part of parts) {
    await cp(join(from, part), join(copy, part), { recursive: true, filter });
  }
  for (const folder of packageFolders) {
    await symlink(join(root, folder, "node_modules"), join(copy, folder, "node_modules"));
  }
  const limits = { testTimeout: testMsMax, hookTimeout: testMsMax };
  const shared = { isolate: false, setupFiles: ["test/support/end-left-work.ts"] };
  const provide = { tier: "slow" };
  const config = { test: { include: ["test/**/*.test.ts"], provide, ...shared, ...limits } };
  await writeFile(join(copy, "vitest.config.mjs"), `export default ${JSON.stringify(config)};\n`);
  return copy;
}

/** Changes files of a copy while work runs. */
export async function whileChanged<Result>(
  copy: string,
  changed: readonly Changed[],
  work: () => Promise<Result>,
): Promise<Result> {
  const before = await Promise.all(
    changed.map(async ({ file }) => ({ file, text: await readFile(join(copy, file), "utf8") })),
  );
  const write = ({ file, text }: Changed) => writeFile(join(copy, file), text);
  await Promise.all(changed.map(write));
  try {
    return await work();
  } finally {
    await Promise.all(before.map(write));
  }
}

/** A run that has ended. */
export interface Ran {
  /** Exit code. Undefined: the run was killed after its time. */
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

/** Runs a Node script in a folder. */
export async function run(
  cwd: string,
  args: readonly string[],
  { msMax, isShown = false }: { msMax: number; isShown?: boolean },
): Promise<Ran> {
  const child = spawn(process.execPath, args, {
    cwd,
    detached: true, // a test that loops would outlive the process that waits for it
    stdio: ["ignore", "pipe", "pipe"],
  });
  const { pid = 0 } = child;
  groups.add(pid);
  const printed: string[] = [];
  const keep = (chunk: Buffer) => {
    printed.push(chunk.toString());
    if (isShown) process.stdout.write(chunk);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  const timer = setTimeout(() => killGroup(pid), msMax);
  const code = await new Promise<number | null>((ended) => child.on("close", ended));
  clearTimeout(timer);
  groups.delete(pid);
  return { code: code ?? undefined, text: printed.join("") };
}

export async function removeCopy(copy: string): Promise<void> {
  await rm(copy, { recursive: true, force: true });
}
