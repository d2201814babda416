import { randomInt } from "node:crypto";
import { functionProcesses } from "../support/processes.ts";
import { type PlatformUnderTest, type RunningService, startService } from "../support/service.ts";
import { watchMemory } from "./memory.ts";

/** A start at the state of a long run reads much of it first. */
const readyMsMax = 120_000;

/** Ends every service that runs, at once: what is to be done where the load itself is ended. */
export function endServices(): void {
  for (const {
    npm: { pid },
  } of running) {
    if (pid === undefined) continue;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  }
}
const running = new Set<RunningService>();

/** Starts a service that keeps one state directory, however often it is killed. */
export async function startLives(
  platform: PlatformUnderTest,
  environment: Record<string, string>,
  stateDirectory: string,
) {
  const logs: string[] = [];
  const memory = watchMemory();
  const start = async () => {
    const started = await startService(platform, environment, stateDirectory, readyMsMax);
    running.add(started);
    memory.follow(started);
    return started;
  };
  let service = await start();
  const end = async (signal: NodeJS.Signals) => {
    await memory.end();
    await service.end(signal);
    running.delete(service);
    logs.push(service.output());
  };
  return {
    memory,
    /** Where it is just now: a restart moves it. */
    address: () => service.address,
    end,
    /** SIGKILL to all of it, and a new life. Answers with the seconds from the kill on. */
    async kill(killed: () => void): Promise<number> {
      const killedAt = Date.now();
      await end("SIGKILL");
      killed();
      service = await start();
      return (Date.now() - killedAt) / 1000;
    },
    /** SIGKILL to any process of a Lambda function; false where there is none at the moment. */
    killFunction(): boolean {
      const all = functionProcesses(service, randomInt(2) === 0 ? "api" : "dialer");
      const one = all[randomInt(Math.max(1, all.length))];
      if (one === undefined) return false;
      process.kill(one.pid, "SIGKILL");
      return true;
    },
    /** All that it has printed in the lives that are over. */
    log: () => logs.join("\n"),
  };
}
