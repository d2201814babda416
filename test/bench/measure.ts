/** The measuring method of all parts: in turns, by the CPU time of processes, as medians and ranges. */
import { readFile } from "node:fs/promises";

/** Number of rounds that count. */
export const rounds = 9;

/** One side of a comparison. */
export interface Contender {
  name: string;
  /** Does the work once. @returns its cost, in any unit that all contenders share */
  round(): Promise<number>;
}

/** Costs of one contender's rounds. */
export interface Costs {
  name: string;
  median: number;
  low: number;
  high: number;
}

/** Contenders that could not be measured, by name, each with the reason. */
export type Failed = Map<string, string>;

/**
 * Lets the contenders take turns, A B C and then C B A, so that anything that slows the machine down affects
 * all of them. The first rounds of each, in which its code is compiled, do not count.
 *
 * @param options.failed takes up a contender whose round fails, and the others go on without it. Absent: the failure is
 * thrown
 */
export async function inTurns(
  contenders: readonly Contender[],
  {
    count = rounds,
    warmUps = 1,
    failed,
  }: { count?: number; warmUps?: number; failed?: Failed } = {},
): Promise<Costs[]> {
  const costs = new Map<Contender, number[]>(contenders.map((one) => [one, []]));
  for (let round = 0; round < warmUps + count; round++) {
    for (const one of round % 2 === 0 ? contenders : contenders.toReversed()) {
      if (!costs.has(one)) continue;
      globalThis.gc?.(); // garbage of the previous side must not count for this one
      try {
        const cost = await one.round();
        if (round >= warmUps) costs.get(one)?.push(cost);
      } catch (error) {
        if (failed === undefined) throw error;
        failed.set(one.name, reasonOf(error));
        costs.delete(one);
      }
    }
  }
  return [...costs].map(([{ name }, numbers]) => ({ name, ...summary(numbers) }));
}

/** Returns why something could not be measured, in one line. */
export function reasonOf(error: unknown): string {
  return String(error instanceof Error ? error.message : error).split("\n", 1)[0] ?? "";
}

/** Returns the median of the numbers, the lowest and the highest. */
export function summary(numbers: readonly number[]): Omit<Costs, "name"> {
  const sorted = numbers.toSorted((a, b) => a - b);
  const median = sorted[sorted.length >> 1];
  const low = sorted[0];
  const high = sorted.at(-1);
  if (median === undefined || low === undefined || high === undefined) {
    throw new Error("nothing was measured");
  }
  return { median, low, high };
}

/** Returns the microseconds of CPU, user and system, that this process spends on `work`. */
export async function cpuOf(work: () => Promise<void> | void): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

const clockTicksPerSecond = 100;

/** Returns the microseconds of CPU that another process has spent so far, to the hundredth of a second. Linux only. */
export async function cpuOfProcess(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ((Number(fields[11]) + Number(fields[12])) / clockTicksPerSecond) * 1_000_000;
}
