/** Processes that the race starts, and the addresses on which they listen. */
import { type ChildProcess, spawn } from "node:child_process";
import { openSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { until } from "#test/support/service.ts";

const engines = join(import.meta.dirname, "../engines");
const startMsMax = 60_000;

/** A started process. */
export interface Child {
  pid: number;
  /** Sends the signal. Resolves once the process is gone. @throws if it had ended by itself */
  end(signal: NodeJS.Signals): Promise<void>;
}

/** Starts a command, which ends with this process. Its output goes to a log file. */
export function startChild(
  command: string,
  words: readonly string[],
  {
    log,
    ...options
  }: {
    log: string;
    environment?: Record<string, string>;
    uid?: number;
    gid?: number;
    cwd?: string;
    /** Gives it a process group, whose every process `end` signals. */
    group?: boolean;
  },
): Child {
  const output = openSync(log, "a");
  const child: ChildProcess = spawn(command, words, {
    cwd: options.cwd ?? engines,
    env: { ...process.env, NODE_ENV: "production", ...options.environment },
    stdio: ["ignore", output, output],
    detached: options.group === true,
    ...(options.uid === undefined ? {} : { uid: options.uid }),
    ...(options.gid === undefined ? {} : { gid: options.gid }),
  });
  const pid = child.pid ?? 0;
  const send = (signal: NodeJS.Signals) => {
    if (options.group === true && pid > 0) process.kill(-pid, signal);
    else child.kill(signal);
  };
  const kill = () => send("SIGKILL");
  process.once("exit", kill);
  const gone = new Promise<void>((ended) => {
    child.once("error", () => ended());
    child.once("exit", () => {
      process.off("exit", kill);
      ended();
    });
  });
  return {
    pid,
    async end(signal) {
      if (child.exitCode !== null) throw new Error(`${words.join(" ")} has ended: see ${log}`);
      send(signal);
      await gone;
    },
  };
}

/** Starts a file of `engines/` in Node. */
export const startScript = (file: string, environment: Record<string, string>, log: string) =>
  startChild(process.execPath, [file], { environment, log });

/** Resolves once somebody listens on the loopback port. @throws if nobody does in time */
export function untilListening(port: number): Promise<void> {
  const isListening = () =>
    new Promise<boolean>((tried) => {
      const socket = createConnection({ host: "127.0.0.1", port });
      const told = (is: boolean) => () => {
        socket.destroy();
        tried(is);
      };
      socket.once("connect", told(true)).once("error", told(false));
    });
  return until(isListening, { hangMs: startMsMax, everyMs: 20 });
}
