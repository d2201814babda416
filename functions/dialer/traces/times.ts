import type { Documents } from "#shared/ports/documents.ts";
import { isTestClient } from "#shared/calls/ids.ts";
import { withMethods } from "#shared/lib/with-methods.ts";
import { parseUsageKey } from "#shared/policy/usage.ts";

/** Counters of usage that have the times of real calls: their number, and their sum in milliseconds. */
export const timeCounters = {
  /** Time from acceptance to dialing. */
  dial: { count: "dials", ms: "dial_ms" },
  /** Time of a provider's answer. */
  answer: { count: "answers", ms: "answer_ms" },
} as const;

/** Counts and sums that an invocation has measured, by counter. */
export type Times = Map<string, number>;

/** Adds measured times to the usage of real calls that an invocation counts anyway, without a further statement. */
export function addTimes(documents: Documents, times: Times): Documents {
  return withMethods(documents, {
    async addAll(additions) {
      const index = additions.findIndex(
        ({ kind, key }) => kind === "usage" && !isTestClient(parseUsageKey(key).client),
      );
      const usage = additions[index];
      if (usage === undefined) return documents.addAll(additions);
      const counters = { ...usage.counters, ...Object.fromEntries(times) };
      times.clear();
      await documents.addAll(additions.with(index, { ...usage, counters }));
    },
  });
}

/** Notes a measured time. */
export function noteTime(times: Times, of: keyof typeof timeCounters, ms: number): void {
  const names = timeCounters[of];
  times.set(names.count, (times.get(names.count) ?? 0) + 1);
  times.set(names.ms, (times.get(names.ms) ?? 0) + Math.max(0, Math.round(ms)));
}
