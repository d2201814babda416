import { randomInt } from "node:crypto";
import { functionProcesses } from "../support/processes.ts";
import { type PlatformUnderTest, type RunningService, startService } from "../support/service.ts";
import { watchMemory } from "./memory.ts";

/** Ends every running service at once, for the case that the load itself is ended. */
export function endServices(): void {
  for (const {
    npm: { pid },
  } of running) {
    if (pid === undefined) continue;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // The service has ended by itself.
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
    const started = await startService(platform, environment, stateDirectory);
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
    /** Returns the current address, which a restart changes. */
    address: () => service.address,
    end,
    /** Sends SIGKILL to all of its processes and restarts it. Resolves to the seconds since the kill. */
    async kill(killed: () => void): Promise<number> {
      const killedAt = Date.now();
      await end("SIGKILL");
      killed();
      service = await start();
      return (Date.now() - killedAt) / 1000;
    },
    /** Sends SIGKILL to a random process of a Lambda function. Returns false if there is none at the moment. */
    killFunction(): boolean {
      const all = functionProcesses(service, randomInt(2) === 0 ? "api" : "dialer");
      const one = all[randomInt(Math.max(1, all.length))];
      if (one === undefined) return false;
      process.kill(one.pid, "SIGKILL");
      return true;
    },
    /** Returns the output of all lives that are over. */
    log: () => logs.join("\n"),
  };
}
