import type { Documents } from "#shared/ports/documents.ts";
import { isTestClient } from "#shared/calls/ids.ts";
import { withMethods } from "#shared/lib/with-methods.ts";
import { parseUsageKey } from "#shared/policy/usage.ts";

/** Times of real calls: from acceptance to dialing, and of a provider's answer. */
export type Timed = "dial" | "answer";

/** Counters of usage that have a time: how often it was measured, and the sum in milliseconds. */
export const countOf = (of: Timed) => `${of}s`;
export const sumOf = (of: Timed) => `${of}_ms`;

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
export function noteTime(times: Times, of: Timed, ms: number): void {
  const add = (counter: string, count: number) =>
    times.set(counter, (times.get(counter) ?? 0) + count);
  add(countOf(of), 1);
  add(sumOf(of), Math.max(0, ms));
}
