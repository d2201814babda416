import { Hono } from "hono";
import { type CallState, callStates, watchBacklog } from "../../../shared/calls/call-row.ts";
import { countsKeyOf } from "../../../shared/documents/counts.ts";
import type { Documents, DocumentsRead } from "../../../shared/documents/documents.ts";
import type { CallLedger } from "../../../shared/ledger/call-ledger.ts";
import type { ApiEnv, OperatorDeps } from "../context.ts";
import { endOfTime, timeOf } from "./call-views.ts";
import { countsQuerySchema } from "./schemas.ts";
import { query } from "./validate.ts";

/** The document that tells when the sweep was last round. */
export const sweepKey = { kind: "sweep", key: "sweep" } as const;

const hourMs = 3_600_000;
/** Rows of a state are counted so far. */
const standingMost = 500;
const pageRows = 100;
/** Backlogs that are asked at once for what waits in them, and of all backlogs how many are. */
const backlogsAtOnce = 20;
const backlogsMost = 1000;

/** How many calls came into each state by hour, how many stand in one now, and when the sweep was last round. */
export function countsRoutes(deps: OperatorDeps) {
  return new Hono<ApiEnv>().get("/", query(countsQuerySchema), async (c) => {
    const { hours } = c.req.valid("query");
    const documents = await deps.documents();
    const [byHour, standing] = await Promise.all([
      countsOf(hours, deps.clock.now(), documents),
      standingNow(await deps.ledger(), documents),
    ]);
    return c.json({ ...byHour, standing, standing_most: standingMost });
  });
}

async function countsOf(hours: number, now: number, documents: Documents) {
  const keys = Array.from({ length: hours }, (_, n) => countsKeyOf(now - (hours - 1 - n) * hourMs));
  const read = await documents.read([...keys, sweepKey]);
  const counts = keys.flatMap(({ kind, key }) => {
    const counted = read.get(kind, key)?.value ?? {};
    const hour = timeOf(Number(key) * hourMs);
    return callStates.flatMap((state) => {
      const count = counted[state] ?? 0;
      return count === 0 ? [] : [{ hour, state, count }];
    });
  });
  return { counts, swept_at: sweptAtIn(read) };
}

/** When the last full round of the sweep began; null before the first one. */
export function sweptAtIn(read: DocumentsRead): string | null {
  const { fullRoundAt = 0 } = read.get(sweepKey.kind, sweepKey.key)?.value ?? {};
  return fullRoundAt === 0 ? null : timeOf(fullRoundAt);
}

/** Calls in the states in which something may yet happen to them, or has to: each counted up to 500. */
async function standingNow(
  ledger: CallLedger,
  documents: Documents,
): Promise<Record<string, number>> {
  // No index has DIALING: those are what is watched and not UNKNOWN. Where more are watched it is an estimate.
  const watched = { backlogs: [{ key: watchBacklog }], until: endOfTime, each: 2 * standingMost };
  const [waiting, [watch = []], unknown, reviewed] = await Promise.all([
    waitingNow(ledger, documents),
    ledger.due(watched),
    countIn("UNKNOWN", ledger),
    countIn("NEEDS_REVIEW", ledger),
  ]);
  const dialing = Math.min(standingMost, Math.max(0, watch.length - unknown));
  return { WAITING: waiting, DIALING: dialing, UNKNOWN: unknown, NEEDS_REVIEW: reviewed };
}

/** Counts rows page by page, as each comes with all of its call. */
async function countIn(state: CallState, ledger: CallLedger): Promise<number> {
  let count = 0;
  let before: string | undefined;
  for (let page = 0; page < standingMost / pageRows; page++) {
    const { rows, next } = await ledger.list({ state, before, limit: pageRows });
    count += rows.length;
    if (next === undefined) break;
    before = next;
  }
  return count;
}

/** How many calls wait in all backlogs: counted until there are 500, or 1,000 backlogs have been asked. */
async function waitingNow(ledger: CallLedger, documents: Documents): Promise<number> {
  let count = 0;
  let after: string | undefined;
  for (let asked = 0; asked < backlogsMost && count < standingMost; asked += backlogsAtOnce) {
    const listed = await documents.list("backlog", { after, limit: backlogsAtOnce });
    if (listed.length === 0) break;
    const backlogs = listed.map(({ key }) => ({ key }));
    const found = await ledger.due({ backlogs, until: endOfTime, each: standingMost - count });
    count += found.reduce((sum, places) => sum + places.length, 0);
    after = listed.at(-1)?.key;
  }
  return Math.min(count, standingMost);
}
