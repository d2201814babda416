import { labelViews } from "#shared/calls/labels.ts";
import { resultStatuses } from "#shared/calls/call-result.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { callStates, states } from "#shared/calls/states.ts";
import { isLaterTry } from "#shared/calls/chain.ts";
import { requestIdOf } from "#shared/calls/ids.ts";
import * as z from "#shared/lib/zod.ts";
import { holderNameText, listHolding } from "#shared/rules/texts.ts";
import { type ExpectedEnd, readExpectedEnds } from "./forecast/expected-ends.ts";
import type { RouteDeps } from "../api/http/context.ts";
import { time, toIsoTime } from "../api/http/fields.ts";
import { minuteMs } from "#shared/lib/units.ts";

/** The rate of a request is measured over this time up to now. */
const rateMinutes = 15;
/** Maximum agents and reasons that one answer lists. */
const namesMax = 20;

/** A request as operators see it. Its counts are of `counted` calls: all, or a sample spread evenly over the request. */
export const requestViewSchema = z
  .strictObject({
    id: z.string(),
    client: z.string(),
    ...labelViews,
    accepted_at: time,
    total: z.int().check(z.describe("Calls of the request")),
    agents: z.array(z.string()).check(z.describe("Of the counted calls, at most 20")),
    counted: z
      .int()
      .check(
        z.describe(
          "Calls that were read: all, or a sample spread evenly over the request; every count is of these",
        ),
      ),
    queued: z.int().check(z.describe("Of these, calls without a row: they are still on the queue")),
    by_state: z.partialRecord(z.enum(callStates), z.int()),
    waiting: z
      .nullable(z.int())
      .check(z.describe("All of its calls that wait, as `why` counts them; null: not known")),
    by_result: z
      .partialRecord(z.enum(resultStatuses), z.int())
      .check(z.describe("Of the placed calls whose result is known")),
    calls_per_minute: z
      .number()
      .check(
        z.describe(
          `Calls of the whole request that ended in the last ${rateMinutes} minutes, a minute`,
        ),
      ),
    last_due_at: z.nullable(time).check(z.describe("When the last of the waiting calls is due")),
    expected_end_at: z
      .nullable(time)
      .check(
        z.describe(
          "When the last of its waiting calls is expected to be dialed, or to end otherwise, by the same queues as a forecast; null where none waits, calls are on the queue still, or it cannot be estimated: see `blocked_by`",
        ),
      ),
    blocked_by: z
      .array(
        z.strictObject({
          reason: z
            .string()
            .check(
              z.describe(
                `As in a row (${listHolding()}); \`not_read\`: not all that waits could be read`,
              ),
            ),
          name: z.string().check(z.describe(holderNameText)),
          calls: z.int(),
        }),
      )
      .check(
        z.describe(
          "What holds its waiting calls now, except their turn; the cause of most calls first",
        ),
      ),
  })
  .check(z.meta({ id: "OperatorRequest", description: "A request and how far it is." }));
export type RequestView = z.infer<typeof requestViewSchema>;

/** Returns `most` indexes spread evenly over a request, or all indexes if there are no more. */
export function listFinishedIndexes(total: number, most: number): number[] {
  if (total <= most) return Array.from({ length: total }, (_, index) => index);
  return Array.from({ length: most }, (_, n) => Math.floor(((n + 0.5) * total) / most));
}

/** Returns the view of a request. `counted` is the number of calls that were read, and `rows` are those that exist. */
export function toRequestView(
  one: CallRow,
  {
    rows,
    counted,
    now,
    end,
  }: { rows: readonly CallRow[]; counted: number; now: number; end: ExpectedEnd | undefined },
): RequestView {
  const total = one.batchCalls;
  const perCounted = total / counted;
  const open = rows.filter(({ state }) => states[state].open);
  const dueTimes = open.flatMap(({ state, dueAt }) => (state === "WAITING" ? (dueAt ?? []) : []));
  const lastDueAt = dueTimes.length === 0 ? null : Math.max(...dueTimes);
  const queued = counted - rows.length;
  const age = Math.max(minuteMs, now - one.acceptedAt);
  const windowMs = Math.min(rateMinutes * minuteMs, age);
  const endedLately = rows.filter((row) => (endedAt(row) ?? 0) > now - windowMs).length;
  const perMinute = (endedLately * perCounted * minuteMs) / windowMs;
  return {
    id: requestIdOf(one.id),
    client: one.client,
    ...one.labels,
    accepted_at: toIsoTime(one.acceptedAt),
    total,
    agents: [...new Set(rows.map(({ agentId }) => agentId))].toSorted().slice(0, namesMax),
    counted,
    queued,
    by_state: countEqual(rows.map(({ state }) => state)),
    waiting: end === undefined ? 0 : end.waiting,
    by_result: countEqual(rows.flatMap(({ result }) => result?.status ?? [])),
    calls_per_minute: Math.round(perMinute * 100) / 100,
    last_due_at: toIsoTime(lastDueAt),
    // Nothing is known yet of calls that are on the queue still.
    expected_end_at: toIsoTime(queued > 0 ? null : (end?.at ?? null)),
    blocked_by: end?.blockedBy ?? [],
  };
}

/** Reads the expected ends of requests, by the rows that were looked at of each, except where all of them have ended. */
export function readEnds(
  requests: readonly { id: string; total: number; rows: readonly CallRow[] }[],
  deps: RouteDeps,
): Promise<Map<string, ExpectedEnd>> {
  const waits = ({ state }: CallRow) => state === "WAITING";
  const open = requests.filter(({ total, rows }) => rows.length < total || rows.some(waits));
  const tries = open.flatMap(({ id, rows }) =>
    rows.filter((row) => waits(row) && isLaterTry(row)).map((row) => [row.id, id] as const),
  );
  return readExpectedEnds(
    open.map(({ id }) => id),
    deps,
    new Map(tries),
  );
}

/** Returns the time at which a call stopped being open; undefined while it is open. */
function endedAt({ state, history, updatedAt }: CallRow): number | undefined {
  if (states[state].open) return undefined;
  // Later steps may be a result or an operator's decision.
  const step = history.findLast((entry) => states[entry.state].open);
  const ended = step === undefined ? history[0] : history[history.indexOf(step) + 1];
  return ended?.at ?? updatedAt;
}

/** Counts equal values. */
export function countEqual<Value extends string>(
  values: readonly Value[],
): Partial<Record<Value, number>> {
  const counts: Partial<Record<Value, number>> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

/** Counts the rows by reason, the most frequent first, at most 20 reasons. */
export function countReasons(rows: readonly CallRow[]): { reason: string; count: number }[] {
  return Object.entries(countEqual(rows.map(({ reason }) => reason)))
    .map(([reason, count = 0]) => ({ reason, count }))
    .toSorted((one, other) => other.count - one.count)
    .slice(0, namesMax);
}
