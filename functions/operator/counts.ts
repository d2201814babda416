import { type CallState, callStates } from "#shared/calls/states.ts";
import type { Documents } from "#shared/ports/documents.ts";
import { ledgerKeys } from "#shared/policy/ledger-epoch.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import * as z from "#shared/lib/zod.ts";
import { readUsage } from "../api/actions/read-usage.ts";
import { state, time, toIsoTime } from "../api/http/fields.ts";
import { declareRoute } from "../api/http/route.ts";
import { ledgerFields, toLedgerView } from "./ledger.ts";
import { hourMs } from "#shared/lib/units.ts";

/** Maximum counted rows of a state. */
const currentMax = 500;
const pageRows = 100;

const countsSchema = z.strictObject({
  counts: z
    .array(z.strictObject({ hour: time, state, count: z.int() }))
    .check(z.describe("Calls that reached a state in an hour")),
  current: z
    .record(z.string(), z.int())
    .check(z.describe("Calls in a state now, up to `current_max`. `/why` counts those that wait")),
  current_max: z.int(),
  ...ledgerFields,
});

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
  return { counts, ...toLedgerView(read) };
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
