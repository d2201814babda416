import type { Labels } from "../calls/labels.ts";
import { hourMs, minuteMs } from "../lib/units.ts";

/** The names by which calls are counted. A document of kind `usage` has those of one hour. */
export interface UsageOf {
  client: string;
  agentId: string;
  /** Labels of their requests. Absent: none was sent. */
  labels?: Labels | undefined;
  /** The split that has chosen the agent, and its round. No usage is counted by it. */
  split?: string | undefined;
}

/** One step of a call, and its additions to the usage of the hour. */
export interface UsageStep {
  of: UsageOf;
  counters: Record<string, number>;
  /** Chains of the split that have ended, by their result. Negative: what an earlier step has counted is wrong. */
  chains?: Record<string, number>;
}

/** Minutes of one bar of the ends within an hour. */
export const slotMinutes = 5;

/** Prefix of the ends of calls, followed by the slot within the hour and the outcome: `@5 completed`. */
const endPrefix = "@";

/** Returns the ends that a document counts: each call once, by the state or the result with which it ended. */
export function endsIn(
  hour: number,
  counters: Readonly<Record<string, number>>,
): { at: number; outcome: string; count: number }[] {
  return Object.entries(counters).flatMap(([name, count]) => {
    const [slot = "", outcome = ""] = name.slice(endPrefix.length).split(" ");
    if (!name.startsWith(endPrefix)) return [];
    return { at: hour + Number(slot) * slotMinutes * minuteMs, outcome, count };
  });
}

/** Names the counter of calls that ended so within five minutes. */
export function endOf(outcome: string, at: number): string {
  return `${endPrefix}${Math.floor((at % hourMs) / (slotMinutes * minuteMs))} ${outcome}`;
}

/** Returns the sums of counters by name. */
export function sumCounters(
  parts: readonly Readonly<Record<string, number>>[],
): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [name, count] of parts.flatMap(Object.entries<number>))
    sums[name] = (sums[name] ?? 0) + count;
  return sums;
}
