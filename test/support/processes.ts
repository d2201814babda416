import { readdirSync, readFileSync } from "node:fs";
import type { RunningService } from "./service.ts";

/** A process below a running service. */
export interface ServiceProcess {
  pid: number;
  command: string;
  /** Resident memory. */
  rssBytes: number;
}

/** Returns the processes of the service's group; empty on systems without /proc. */
export function processesOf({ npm }: Pick<RunningService, "npm">): ServiceProcess[] {
  return namesIn("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
        const processGroup = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2]);
        if (processGroup !== npm.pid) return [];
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
        const [, kibibytes] =
          /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
        return [{ pid: Number(pid), command, rssBytes: Number(kibibytes ?? 0) * 1024 }];
      } catch {
        return []; // the process has ended meanwhile
      }
    });
}

/** Returns the processes that run a Lambda function of the AWS shape. */
export function functionProcesses(
  service: Pick<RunningService, "npm">,
  name: "api" | "dialer",
): ServiceProcess[] {
  return processesOf(service).filter(({ command }) => command.includes(`${name}/index.mjs`));
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
