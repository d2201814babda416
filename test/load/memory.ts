import { setTimeout as sleep } from "node:timers/promises";
import { processesOf, type ServiceProcess } from "../support/processes.ts";
import type { RunningService } from "../support/service.ts";

const warmUpMs = 15_000;
const everyMs = 5_000;
const sameProcessesMsMax = 5_000;

/** Resident memory at one time, in bytes. */
export interface MemorySample {
  /** Seconds since the service's start. */
  seconds: number;
  processes: number;
  all: number;
  /** Memory of the processes that run the functions: Lambda's, or workerd. The local engines count separately. */
  functions: number;
}

/** One life of the service after warming up, from its start to its kill, under load all the time. */
export type MemoryOfLife = MemorySample[];

/** Measures each life of the service. */
export function watchMemory() {
  const lives: MemoryOfLife[] = [];
  let timer: NodeJS.Timeout | undefined;
  let measure: (() => MemorySample) | undefined;
  return {
    lives,
    follow(service: RunningService): void {
      const startedAt = Date.now();
      const life: MemoryOfLife = [];
      lives.push(life);
      measure = () => sampleOf(processesOf(service), Date.now() - startedAt);
      timer = setInterval(() => {
        const sample = measure?.();
        if (sample !== undefined && sample.seconds * 1000 >= warmUpMs) life.push(sample);
      }, everyMs);
    },
    /** Ends the measurement. Must be called before the service or its load is ended. */
    async end(): Promise<void> {
      clearInterval(timer);
      const life = lives.at(-1);
      const [first] = life ?? [];
      if (measure === undefined || first === undefined) return;
      const sample = measure;
      measure = undefined;
      let last = sample();
      // A killed process is restarted, and samples are comparable only with the same number of processes.
      for (const from = Date.now(); last.processes !== first.processes; last = sample()) {
        if (Date.now() - from > sameProcessesMsMax) return;
        await sleep(100);
      }
      life?.push(last);
    },
  };
}

function sampleOf(processes: ServiceProcess[], ms: number): MemorySample {
  const sumOf = (some: ServiceProcess[]) => some.reduce((sum, { rssBytes }) => sum + rssBytes, 0);
  return {
    seconds: ms / 1000,
    processes: processes.length,
    all: sumOf(processes),
    functions: sumOf(processes.filter(isFunction)),
  };
}

const isFunction = ({ command }: ServiceProcess) =>
  /(api|dialer)\/index\.mjs|\bworkerd\b/.test(command);
