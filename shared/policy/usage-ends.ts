import { hourMs, minuteMs } from "../lib/units.ts";

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
