import type { ResultStatus } from "#shared/calls/call-result.ts";
import * as z from "#shared/lib/zod.ts";
import { costsIn, usageCounters } from "#shared/policy/usage.ts";
import type { Usage } from "./read-usage.ts";

type EndStatus = Exclude<ResultStatus, "live">;

/** Sums of usage, as answers show them. */
export const measures = {
  accepted: z.int().check(z.describe("Calls that clients posted, at their first row")),
  placed: z.int(),
  rejected: z.int(),
  expired: z.int(),
  cancelled: z.int(),
  results: z
    .strictObject({
      completed: z.int(),
      no_answer: z.int(),
      busy: z.int(),
      declined: z.int(),
      voicemail: z.int(),
      failed: z.int(),
      invalid: z.int(),
      blocked: z.int(),
      unknown: z.int(),
    } satisfies Record<EndStatus, unknown>)
    .check(z.describe("Results of placed calls, each try by itself, when they became known")),
  by_person: z
    .int()
    .check(z.describe("Completed calls that a person answered, as far as the provider says")),
  answer_rate: z
    .nullable(z.number())
    .check(z.describe("Completed calls among all with a known result; null where none is known")),
  opted_out: z
    .int()
    .check(z.describe("Callees who asked not to be called again, by callbacks or records")),
  seconds: z.int().check(z.describe("Length of all conversations")),
  cost: z
    .array(z.looseObject({ amount: z.string(), currency: z.string() }))
    .check(z.describe("Cost by currency, of the calls whose provider's record has one")),
  mean_seconds: z
    .nullable(z.number())
    .check(z.describe("Mean length of completed calls whose length is known; null where none is")),
};
const measuresSchema = z.strictObject(measures);
export type Measures = z.infer<typeof measuresSchema>;

/** Sums the outcomes of calls. A late result of another hour may have taken the place of `unknown`: no sum is negative. */
export function sumUsage(usage: readonly Pick<Usage, "counters">[]): Measures {
  const sums: Record<string, number> = {};
  for (const { counters } of usage)
    for (const [name, count] of Object.entries(counters)) sums[name] = (sums[name] ?? 0) + count;
  const of = (name: string) => Math.max(0, sums[name] ?? 0);
  const { accepted, human, optedOut, seconds, completedSeconds, completedTimed } = usageCounters;
  const results = {
    completed: of("completed"),
    no_answer: of("no_answer"),
    busy: of("busy"),
    declined: of("declined"),
    voicemail: of("voicemail"),
    failed: of("failed"),
    invalid: of("invalid"),
    blocked: of("blocked"),
    unknown: of("unknown"),
  };
  const all = Object.values(results).reduce((sum, count) => sum + count, 0) - results.unknown;
  const timed = of(completedTimed);
  return {
    accepted: of(accepted),
    placed: of("PLACED"),
    rejected: of("REJECTED"),
    expired: of("EXPIRED"),
    cancelled: of("CANCELLED"),
    results,
    by_person: of(human),
    answer_rate: all === 0 ? null : results.completed / all,
    opted_out: of(optedOut),
    seconds: of(seconds),
    cost: costsIn(sums),
    mean_seconds: timed === 0 ? null : of(completedSeconds) / timed,
  };
}
