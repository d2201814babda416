import { type CallState, callStates } from "#shared/calls/states.ts";
import type { Documents } from "#shared/ports/documents.ts";
import type { DocumentsRead } from "#shared/ports/document-kinds.ts";
import { ledgerKeys, sweepKey } from "#shared/policy/ledger-epoch.ts";
import { forecastSize } from "#shared/policy/ledger-size.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import * as z from "#shared/lib/zod.ts";
import { readUsage } from "../api/actions/read-usage.ts";
import { state, time, toIsoTime } from "../api/http/fields.ts";
import { declareRoute } from "../api/http/route.ts";
import { findSuspendedSince } from "./restores.ts";
import { hourMs } from "#shared/lib/units.ts";

/** Maximum counted rows of a state. */
const currentMax = 500;
const pageRows = 100;

/** The time of the last sweep, in answers. */
export const lastSweepAt = z
  .nullable(time)
  .check(z.describe("When the last full round of the sweep began; null before the first"));

const countsSchema = z.strictObject({
  counts: z
    .array(z.strictObject({ hour: time, state, count: z.int() }))
    .check(z.describe("Calls that reached a state in an hour")),
  current: z
    .record(z.string(), z.int())
    .check(z.describe("Calls in a state now, up to `current_max`. `/why` counts those that wait")),
  current_max: z.int(),
  last_sweep_at: lastSweepAt,
  ledger_size: z
    .nullable(
      z.strictObject({
        bytes: z.int(),
        bytes_max: z.int(),
        full_at: z
          .nullable(time)
          .check(z.describe("When it is full, if it grows as in the last day")),
      }),
    )
    .check(z.describe("null: it may grow without end")),
  suspended_since: z
    .nullable(time)
    .check(z.describe("Since when nothing is dialed, as the ledger was restored; null otherwise")),
});
type Counts = z.infer<typeof countsSchema>;

const countCalls = declareRoute({
  operationId: "countCalls",
  summary: "Calls by state and hour, and current counts",
  method: "get",
  path: "/counts",
  query: z.strictObject({
    hours: z
      ._default(z.coerce.number().check(z.int(), z.minimum(1), z.maximum(168)), 24)
      .check(z.describe("Number of hours up to now")),
  }),
  answer: countsSchema,
  async handle({ deps, query }) {
    const { documents } = deps;
    const [byHour, current] = await Promise.all([
      countsOf(query.hours, deps.clock.now(), documents),
      currentNow(deps.ledger),
    ]);
    return { ...byHour, current, current_max: currentMax };
  },
});

export const countRoutes = [countCalls];

async function countsOf(hours: number, now: number, documents: Documents) {
  const [read, { usage }] = await Promise.all([
    documents.read(ledgerKeys),
    readUsage({ from: now - (hours - 1) * hourMs, to: now }, documents),
  ]);
  const byHour = Map.groupBy(usage, ({ hour }) => hour);
  const counts = [...byHour].toReversed().flatMap(([hour, own]) =>
    callStates.flatMap((reached) => {
      const count = own.reduce((sum, { counters }) => sum + (counters[reached] ?? 0), 0);
      return count === 0 ? [] : [{ hour: toIsoTime(hour), state: reached, count }];
    }),
  );
  return {
    counts,
    last_sweep_at: findLastSweepAt(read),
    ledger_size: findSize(read),
    suspended_since: findSuspendedSince(read),
  };
}

/** Returns the time at which the last full round of the sweep began; null before the first one. */
export function findLastSweepAt(read: DocumentsRead): string | null {
  const { fullRoundAt = 0 } = read.get(sweepKey.kind, sweepKey.key)?.value ?? {};
  return fullRoundAt === 0 ? null : toIsoTime(fullRoundAt);
}

/** Returns the size of the ledger as the sweeps have seen it; null where they see none. */
function findSize(read: DocumentsRead): Counts["ledger_size"] {
  const history = read.get(sweepKey.kind, sweepKey.key)?.value.size;
  const forecast = history && forecastSize(history);
  if (history === undefined || forecast === undefined) return null;
  const { bytes, fullAt = null } = forecast;
  return { bytes, bytes_max: history.bytesMax, full_at: toIsoTime(fullAt) };
}

/** Counts the calls in each state that is not final, up to 500 each. Those that wait are counted by `/why` alone. */
async function currentNow(ledger: CallLedger): Promise<Record<string, number>> {
  const [dialing, unknown, reviewed] = await Promise.all([
    ledger.dialing(currentMax),
    countIn("UNKNOWN", ledger),
    countIn("NEEDS_REVIEW", ledger),
  ]);
  return { DIALING: dialing.length, UNKNOWN: unknown, NEEDS_REVIEW: reviewed };
}

/** Counts rows page by page, as the ledger reads each row whole. */
async function countIn(counted: CallState, ledger: CallLedger): Promise<number> {
  let count = 0;
  let before: string | undefined;
  for (let page = 0; page < currentMax / pageRows; page++) {
    const { rows, unreadable, next } = await ledger.list({
      state: counted,
      before,
      limit: pageRows,
    });
    count += rows.length + unreadable;
    if (next === undefined) break;
    before = next;
  }
  return count;
}
