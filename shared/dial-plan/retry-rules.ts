import type { Route } from "../calls/call-request.ts";
import { attemptsMax, callBacksMax } from "../calls/tries.ts";
import { dayMs, hourMs, minuteMs } from "../lib/units.ts";
import * as z from "../lib/zod.ts";
import type { RouteKinds } from "./route-kinds.ts";

const unitsMs: Readonly<Record<string, number>> = { m: minuteMs, h: hourMs, d: dayMs };

/** A duration such as `15m`, `3h` or `2d`, in milliseconds. */
const duration = z.pipe(
  z
    .string('must be a duration such as "15m", "3h" or "2d"')
    .check(z.regex(/^[1-9]\d{0,4}[mhd]$/, 'must be a duration such as "15m", "3h" or "2d"')),
  z.transform((text) => Number(text.slice(0, -1)) * (unitsMs[text.slice(-1)] ?? 0)),
);

/** Minimum delay of a next try. */
const delayMinutesMin = 5;
const delay = z.optional(
  duration.check(z.minimum(delayMinutesMin * minuteMs, `must be at least ${delayMinutesMin}m`)),
);

/** An agent's `retry`: which ends of a call have it tried again, when, and how often in all. Durations are in milliseconds. */
export const retrySchema = z.strictObject({
  /** Maximum number of tries, the first call included: one budget over all reasons. */
  attempts: z.int().check(z.minimum(2), z.maximum(attemptsMax)),
  /** Time from the acceptance in which a next try may be made. */
  within: duration,
  /** Delay after each end. No rule calls somebody again who declined, or retries a call of unknown outcome. */
  after: z
    .strictObject({ busy: delay, no_answer: delay, voicemail: delay, failed: delay })
    .check(z.refine((after) => Object.keys(after).length > 0, "must name a result")),
  /** True: after `no_answer` and `voicemail`, another part of the callee's day is chosen. */
  spread: z._default(z.boolean(), false),
});
export type RetryRule = z.infer<typeof retrySchema>;

/** Maximum `within` of call-backs: a search for an opening is bounded by it. */
export const callBackMsMax = 90 * dayMs;

/** An agent's `callBacks`: its callees may ask to be called back. `within` is in milliseconds. */
export const callBacksSchema = z.strictObject({
  /** Time from the chain's acceptance in which a call-back may be promised. */
  within: duration.check(z.maximum(callBackMsMax, `must be at most ${callBackMsMax / dayMs}d`)),
  /** Maximum call-backs of one chain. */
  most: z.int().check(z.minimum(1), z.maximum(callBacksMax)),
});
export type CallBackRule = z.infer<typeof callBacksSchema>;

/** Describes what is wrong with an agent's `callBacks`. Paths are relative to it. */
export function callBackProblems(
  { within }: CallBackRule,
  { retentionDays, results }: { retentionDays: number; results?: unknown },
  { route, kinds }: { route: Route; kinds: Pick<RouteKinds, "readsWishes"> },
): { path: string[]; message: string }[] {
  const problems: { path: string[]; message: string }[] = [];
  if (results === undefined) {
    problems.push({ path: [], message: "needs results in the plan, which bring the wishes" });
  }
  if (!kinds.readsWishes(route)) {
    problems.push({ path: [], message: `is nothing that ${route.provider} reports` });
  }
  // As for expireAfterHours: a duplicate delivery must find its call's row.
  if (retentionDays * dayMs < within + 28 * dayMs) {
    problems.push({ path: ["within"], message: "must be at most retentionDays less 28 days" });
  }
  return problems;
}

/** The parts of a plan on which retry rules depend. */
interface PlanOfRetries {
  expireAfterHours: number;
  results?: unknown;
}

/** Describes what is wrong with an agent's `retry`. Paths are relative to it. */
export function retryProblems(
  { within, after }: RetryRule,
  { expireAfterHours, results }: PlanOfRetries,
  { route, kinds }: { route: Route; kinds: Pick<RouteKinds, "reportsVoicemail"> },
): { path: string[]; message: string }[] {
  const problems: { path: string[]; message: string }[] = [];
  if (results === undefined) {
    problems.push({
      path: [],
      message: "needs results in the plan, which report how a call ended",
    });
  }
  if (within > expireAfterHours * hourMs) {
    problems.push({ path: ["within"], message: "must be at most expireAfterHours" });
  }
  // Every provider reports the other three.
  if (after.voicemail !== undefined && !kinds.reportsVoicemail(route)) {
    const message = `is a result that ${route.provider} does not report for this route`;
    problems.push({ path: ["after", "voicemail"], message });
  }
  for (const [status, delayMs] of Object.entries(after)) {
    if (delayMs === undefined || delayMs < within) continue;
    problems.push({ path: ["after", status], message: "must be less than within" });
  }
  return problems;
}
