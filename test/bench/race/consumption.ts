/** CPU and memory of processes and all of their children, from /proc. Linux only. */
import { readdirSync, readFileSync } from "node:fs";

const clockTicksPerSecond = 100;
const sampleMs = 500;
/** A memory sample asks the kernel for each page table, so it is taken less often. */
const samplesPerMemorySample = 4;

export type Part = "engine" | "database";
export interface Consumption {
  cpuSeconds: Record<Part, number>;
  /** Highest sum of resident memory; pages that processes share are counted once (PSS). */
  memoryBytesMax: number;
}

interface Process {
  pid: number;
  parent: number;
  /** Time of its start, which tells it from another process with its number later on. */
  startedAt: string;
  cpuSeconds: number;
}

function readProcess(pid: number): Process | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const cpuSeconds = (Number(fields[11]) + Number(fields[12])) / clockTicksPerSecond;
    return { pid, parent: Number(fields[1]), startedAt: fields[19] ?? "", cpuSeconds };
  } catch {
    return undefined; // the process has ended meanwhile
  }
}

/** True if the process only builds what is then run: wrangler's bundling before each start of `npm start`. */
function isBuilding(pid: number): boolean {
  try {
    return /wrangler|esbuild/.test(readFileSync(`/proc/${pid}/cmdline`, "utf8"));
  } catch {
    return true;
  }
}

function memoryOf(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
    return Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

function withChildren(roots: readonly number[], all: readonly Process[]): Process[] {
  const found = all.filter(({ pid }) => roots.includes(pid));
  for (const one of found) found.push(...all.filter(({ parent }) => parent === one.pid));
  return found.filter(({ pid }) => !isBuilding(pid));
}

/** Watches an engine's processes until `stop`, which resolves to what they consumed meanwhile. */
export function watchConsumption(roots: () => Record<Part, number[]>) {
  const cpu: Record<Part, Map<string, { first: number; last: number }>> = {
    engine: new Map(),
    database: new Map(),
  };
  let memoryBytesMax = 0;
  let samples = 0;
  function sample(): void {
    const all = readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => readProcess(Number(name)) ?? []);
    const isFirst = samples === 0;
    const withMemory = samples++ % samplesPerMemorySample === 0;
    let memoryBytes = 0;
    const now = roots();
    for (const part of ["engine", "database"] as const) {
      for (const { pid, startedAt, cpuSeconds } of withChildren(now[part], all)) {
        const key = `${pid} ${startedAt}`;
        // Consumption before the watch began does not count.
        const first = cpu[part].get(key)?.first ?? (isFirst ? cpuSeconds : 0);
        cpu[part].set(key, { first, last: cpuSeconds });
        if (withMemory) memoryBytes += memoryOf(pid);
      }
    }
    memoryBytesMax = Math.max(memoryBytesMax, memoryBytes);
  }
  sample();
  const timer = setInterval(sample, sampleMs);
  const sumOf = (part: Part) =>
    [...cpu[part].values()].reduce((sum, { first, last }) => sum + last - first, 0);
  return {
    /** Takes a sample now: the last one before a kill. */
    sample,
    stop(): Consumption {
      clearInterval(timer);
      sample();
      return {
        cpuSeconds: { engine: sumOf("engine"), database: sumOf("database") },
        memoryBytesMax,
      };
    },
  };
}
