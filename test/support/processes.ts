import { readdirSync, readFileSync } from "node:fs";
import type { ChildProcess } from "node:child_process";

/** A service that was started. */
interface Started {
  npm: Pick<ChildProcess, "pid">;
}

/** A process below a running service. */
export interface ServiceProcess {
  pid: number;
  command: string;
  /** Resident memory. */
  rssBytes: number;
}

/** Returns the processes of the service's group; empty on systems without /proc. */
export function processesOf({ npm }: Started): ServiceProcess[] {
  return namesIn("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        if (Number(statOf(Number(pid))?.[2]) !== npm.pid) return [];
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
  service: Started,
  name: "api" | "dialer" | "dispatcher",
): ServiceProcess[] {
  return processesOf(service).filter(({ command }) => command.trim().endsWith(`index.mjs ${name}`));
}

/** Returns a process and all below it, whatever group they are in; the process alone on systems without /proc. */
export function familyOf(pid: number): number[] {
  const parents = namesIn("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ pid: Number(name), parent: Number(statOf(Number(name))?.[1]) }));
  const family = [pid];
  for (const member of family) {
    family.push(...parents.filter(({ parent }) => parent === member).map((child) => child.pid));
  }
  return family;
}

/** Checks whether a process runs. One that has ended, and that nobody has waited for yet, does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return statOf(pid)?.[0] !== "Z";
  } catch {
    return false;
  }
}

/** Returns the state, the parent and the group of a process, and more; undefined if it has ended or without /proc. */
function statOf(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
