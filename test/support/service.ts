import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { CallRow } from "#shared/calls/call-row.ts";
import { familyOf, isRunning } from "./processes.ts";

const root = resolve(import.meta.dirname, "../..");

/**
 * Returns a port of the loopback interface that was free just now. It lies below the range that systems
 * assign by themselves, so that no other service takes it meanwhile.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + randomInt(10_000);
    const isFree = await new Promise<boolean>((tried) => {
      const server = createServer().once("error", () => tried(false));
      server.listen(port, "127.0.0.1", () => server.close(() => tried(true)));
    });
    if (isFree) return port;
  }
}

/** A row of the ledger, as the tests see it. */
export type LedgerRow = CallRow;

/** A platform as it runs here. */
export interface PlatformUnderTest {
  name: string;
  /** The npm script. */
  script: "start" | "start:aws";
  /** Path prefix of the API: the stage. */
  prefix: string;
  /** Reads the ledger's rows beside the running service. */
  rows(service: RunningService): Promise<LedgerRow[]>;
}

/** `npm start` as a separate process in a process group of its own. */
export interface RunningService {
  root: string;
  /** The root URL, with the stage if there is one. */
  address: string;
  port: number;
  stateDirectory: string;
  npm: ChildProcess;
  /** Returns everything it has printed. */
  output(): string;
  /**
   * Signals npm alone, the process that it started, or its whole group as a terminal's Ctrl-C does. Resolves once all of
   * it is gone, and every process below it.
   */
  end(signal: NodeJS.Signals, whom?: "npm" | "node" | "group"): Promise<void>;
}

export async function makeStateDirectory(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), "outbound-calls-"));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/**
 * Starts the service and waits for its ready block.
 *
 * @throws if it ends, or is not ready in time; then no process of it is left
 */
export async function startService(
  { script, prefix }: Pick<PlatformUnderTest, "script" | "prefix">,
  environment: Record<string, string>,
  stateDirectory: string,
): Promise<RunningService> {
  const port = Number(environment["PORT"] ?? (await freePort()));
  const npm = spawn("npm", ["run", script], {
    cwd: root,
    detached: true,
    env: { ...process.env, PORT: String(port), STATE_DIR: stateDirectory, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const printed: string[] = [];
  npm.stdout.on("data", (chunk: Buffer) => printed.push(chunk.toString()));
  npm.stderr.on("data", (chunk: Buffer) => printed.push(chunk.toString()));
  const output = () => printed.join("");
  const { pid = 0 } = npm;
  const group = -pid;

  const origin = `http://127.0.0.1:${port}`;
  const isReady = () => output().includes(`ready at ${origin}`);
  await until(() => isReady() || npm.exitCode !== null).catch(() => {
    process.kill(group, "SIGKILL");
    throw new Error(`npm start is not ready:\n${output()}`);
  });
  if (npm.exitCode !== null) throw new Error(`npm start ended with ${npm.exitCode}:\n${output()}`);
  return {
    root: origin,
    address: origin + prefix,
    port,
    stateDirectory,
    npm,
    output,
    async end(signal, whom = "group") {
      const family = familyOf(pid);
      process.kill({ npm: pid, node: family[1] ?? pid, group }[whom], signal);
      await until(() => !isRunning(group) && !family.some(isRunning));
    },
  };
}

/** A guard against what never comes, in milliseconds. It is no promise of the service, and judges no speed. */
const untilMsMax = 10 * 60_000;
/** After a slow look the wait is this many times as long as the look, up to a maximum in milliseconds. */
const waitPerLook = 5;
const slowWaitMsMax = 2_000;

/**
 * Waits until a condition holds, and looks every `everyMs`; less often where a look takes long, as one that reads all rows
 * does. @throws if it does not hold after `hangMs`
 */
export async function until(
  holds: () => boolean | Promise<boolean>,
  { everyMs = 50, hangMs = untilMsMax }: { everyMs?: number; hangMs?: number } = {},
): Promise<void> {
  const end = Date.now() + hangMs;
  for (;;) {
    const lookedAt = performance.now();
    if (await holds()) return;
    if (Date.now() > end) throw new Error(`not within ${hangMs} ms`);
    const slowMs = Math.min(waitPerLook * (performance.now() - lookedAt), slowWaitMsMax);
    await new Promise((next) => setTimeout(next, Math.max(everyMs, slowMs)));
  }
}

/** Time after which what may have been lost is done once more. */
const againMs = 20_000;

/**
 * Acts, and acts again every 20 s, until a condition holds. For what may be dropped when a machine is busy: the service waits
 * a second for a collector of traces, and then sends it nothing for a minute.
 */
export async function repeatUntil(
  act: () => Promise<unknown>,
  holds: () => boolean,
): Promise<void> {
  let nextAt = 0;
  await until(async () => {
    if (Date.now() >= nextAt) {
      await act();
      nextAt = Date.now() + againMs;
    }
    return holds();
  });
}
