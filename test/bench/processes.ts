import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";

/** A process of one side of a comparison. */
export interface Side {
  /** The side's first message; the port is that of its HTTP server, if it has one. */
  ready: { port?: number };
  child: ChildProcess;
  /** Sends `message` and resolves to the next message that comes back. */
  ask<Answer>(message: unknown): Promise<Answer>;
  /** Resolves to the microseconds of CPU spent so far. */
  cpu(): Promise<number>;
  stop(): void;
}

/**
 * Starts a file of competitors/, or of this folder by `../`, in a process of its own, and waits until it is
 * ready. Its output is discarded, so that logging costs the same everywhere.
 */
export async function startSide(
  file: string,
  environment: Record<string, string> = {},
): Promise<Side> {
  const child = fork(join(import.meta.dirname, "competitors", file), {
    env: { ...process.env, NODE_ENV: "production", ...environment },
    execArgv: [],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const stop = () => child.kill("SIGKILL");
  process.once("exit", stop);
  const next = <Answer>() =>
    new Promise<Answer>((resolve, reject) => {
      const ended = () => reject(new Error(`${file} ended`));
      child.once("exit", ended);
      child.once("message", (message: Answer) => {
        child.off("exit", ended);
        resolve(message);
      });
    });
  const ask = <Answer>(message: unknown) => {
    const answer = next<Answer>();
    child.send(Object(message));
    return answer;
  };
  const ready = await next<Side["ready"]>();
  return {
    child,
    ready,
    ask,
    async cpu() {
      const { user, system } = await ask<NodeJS.CpuUsage>({ ask: "cpu" });
      return user + system;
    },
    stop() {
      process.off("exit", stop);
      stop();
    },
  };
}
