import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { execFile } from "node:child_process";

const root = resolve(import.meta.dirname, "../..");

/** A port of the loopback interface that was free a moment ago. */
export async function freePort(): Promise<number> {
  return new Promise((found, failed) => {
    const server = createServer().once("error", failed);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => found(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

/** A row of the ledger, read beside the running service with the command that README.md gives. */
export interface LedgerRow {
  id: string;
  state: string;
  reason: string;
  attempt: number;
  agent_id: string;
  call: string | null;
}

/** `npm start` as a process of its own, in a process group of its own. */
export interface RunningService {
  address: string;
  port: number;
  stateDirectory: string;
  npm: ChildProcess;
  /** Everything it has printed. */
  output(): string;
  rows(): Promise<LedgerRow[]>;
  /** Signals npm alone, or its whole group as a terminal's Ctrl-C does; resolves once all of it is gone. */
  end(signal: NodeJS.Signals, whom?: "npm" | "group"): Promise<void>;
}

export async function makeStateDirectory(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), "outbound-calls-"));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** Starts the service and waits for its ready block. */
export async function startService(
  environment: Record<string, string>,
  stateDirectory: string,
): Promise<RunningService> {
  const port = await freePort();
  const npm = spawn("npm", ["start"], {
    cwd: root,
    detached: true,
    env: { ...process.env, PORT: String(port), STATE_DIR: stateDirectory, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const printed: string[] = [];
  npm.stdout.on("data", (chunk: Buffer) => printed.push(chunk.toString()));
  npm.stderr.on("data", (chunk: Buffer) => printed.push(chunk.toString()));
  const output = () => printed.join("");
  const group = -(npm.pid ?? 0);
  const isGone = () => {
    try {
      process.kill(group, 0);
      return false;
    } catch {
      return true;
    }
  };

  const address = `http://127.0.0.1:${port}`;
  await until(() => output().includes(`ready at ${address}`) || npm.exitCode !== null, 30_000);
  if (npm.exitCode !== null) throw new Error(`npm start ended with ${npm.exitCode}:\n${output()}`);
  return {
    address,
    port,
    stateDirectory,
    npm,
    output,
    rows: () => query("SELECT * FROM calls", stateDirectory),
    async end(signal, whom = "group") {
      process.kill(whom === "group" ? group : (npm.pid ?? 0), signal);
      await until(isGone, 20_000);
    },
  };
}

async function query(sql: string, stateDirectory: string): Promise<LedgerRow[]> {
  const { stdout } = await promisify(execFile)(
    "npx",
    ["wrangler", "d1", "execute", "LEDGER", "--local", "--json"].concat([
      "--persist-to",
      stateDirectory,
      "--command",
      sql,
    ]),
    { cwd: root, maxBuffer: 64 * 1024 * 1024, env: { ...process.env, CI: "1" } },
  );
  const answers: { results: LedgerRow[] }[] = JSON.parse(stdout);
  return answers.flatMap(({ results }) => results);
}

/** Waits until something holds; throws where it does not in time. */
export async function until(holds: () => boolean | Promise<boolean>, msMax: number): Promise<void> {
  const end = Date.now() + msMax;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`not within ${msMax} ms`);
    await new Promise((next) => setTimeout(next, 50));
  }
}
