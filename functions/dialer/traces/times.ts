import type { Addition, Documents } from "#shared/ports/documents.ts";
import { isTestClient } from "#shared/calls/ids.ts";
import { withMethods } from "#shared/lib/with-methods.ts";
import { parseUsageKey } from "#shared/policy/usage.ts";

/** Number and sum of measured times, in milliseconds. */
interface Measured {
  count: number;
  ms: number;
}

/** Times of real calls that an invocation has measured: from acceptance to dialing, and of providers' answers. */
export interface Times {
  dial?: Measured;
  answer?: Measured;
}

/** Names of the counters of usage that have these times. */
export const timeCounters = {
  dial: { count: "dials", ms: "dial_ms" },
  answer: { count: "answers", ms: "answer_ms" },
} as const satisfies Record<keyof Times, Record<keyof Measured, string>>;

/** Adds measured times to the usage of real calls that an invocation counts anyway, without a further statement. */
export function addTimes(documents: Documents, times: Times): Documents {
  return withMethods(documents, {
    async addAll(additions) {
      const index = additions.findIndex(
        ({ kind, key }) => kind === "usage" && !isTestClient(parseUsageKey(key).client),
      );
      const counters = takeCounters(index < 0 ? {} : times);
      await documents.addAll(
        additions.map((addition, at): Addition =>
          at === index
            ? { ...addition, counters: { ...addition.counters, ...counters } }
            : addition,
        ),
      );
    },
  });
}

/** Returns measured times as counters, and forgets them. */
function takeCounters(times: Times): Record<string, number> {
  const counters: Record<string, number> = {};
  for (const name of ["dial", "answer"] as const) {
    const measured = times[name];
    if (measured === undefined) continue;
    const names = timeCounters[name];
    counters[names.count] = measured.count;
    counters[names.ms] = measured.ms;
    delete times[name];
  }
  return counters;
}

/** Notes a measured time. */
export function noteTime(times: Times, of: keyof Times, ms: number): void {
  const { count, ms: sum } = times[of] ?? { count: 0, ms: 0 };
  times[of] = { count: count + 1, ms: sum + Math.max(0, Math.round(ms)) };
}
