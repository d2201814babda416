import { sweep, upkeep } from "./entries.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { createD1Documents } from "#shared/cloudflare/d1-documents.ts";
import { createD1Ledger } from "#shared/cloudflare/d1-ledger.ts";
import { asInvocation, d1StatementsMax, statementsLeft } from "#shared/cloudflare/invocation.ts";
import { followedRequest } from "#shared/events/outbox-ledger.ts";
import { aCall, aRequestId } from "./calls.ts";
import { createDialerBench } from "./dialer.ts";
import { rowIn, writeRows } from "./rows.ts";
import { createSqliteD1 } from "./sqlite-d1.ts";

const minuteMs = 60_000;
const startAt = "2026-06-01T10:00Z";
const own = { provider: "webhook", url: "http://127.0.0.1:9/dial" };
const plan = {
  agents: { agent_sales: own },
  results: {},
  events: {
    crm: {
      url: "https://crm.example/events",
      types: ["call.ended", "request.finished"],
      requestsPerSecond: 100, // more than requests finish
    },
  },
};

/**
 * Creates a bench over SQLite. `minute` runs the crons of a minute until the next one begins, and returns the most statements of
 * one of them. Where they take longer, those of the minutes meanwhile begin nothing.
 */
export function createDutiesBench() {
  const sqlite = createSqliteD1();
  const { database } = sqlite;
  const bench = createDialerBench({ startAt, plan });
  const { deps } = bench;
  const freshVersion = deps.random.version;
  deps.ledger = createD1Ledger(database);
  deps.documents = createD1Documents(database, { now: bench.now, freshVersion });
  deps.statementsLeft = statementsLeft;
  deps.dispatcher = { ...deps.dispatcher, endsIdle: false }; // as on Cloudflare
  const runOne = (cron: typeof sweep) =>
    asInvocation(async () => {
      await cron(deps, bench.now() + 120_000);
      return d1StatementsMax - statementsLeft();
    });
  return {
    ...bench,
    deps,
    sqlite,
    /** Runs one cron as an invocation of its own, and returns its statements. */
    runOne,
    eventsOf: bench.eventsOf,
    count: (kind: string) =>
      database.prepare("SELECT count(*) AS n FROM documents WHERE kind = ?1").bind(kind).first("n"),
    async minute() {
      const begunAt = bench.now();
      const most = Math.max(await runOne(sweep), await runOne(upkeep));
      const minutes = Math.max(1, Math.ceil((bench.now() - begunAt) / minuteMs));
      bench.advance(begunAt + minutes * minuteMs - bench.now());
      return most;
    },
    async write(rows: readonly CallRow[]) {
      for (let start = 0; start < rows.length; start += 2_000) {
        await writeRows(rows.slice(start, start + 2_000), deps.ledger, deps.documents);
      }
    },
  };
}
export type DutiesBench = ReturnType<typeof createDutiesBench>;

/** Writes waiting calls of many clients, with the documents of their backlogs. */
export async function fillBacklogs(
  bench: DutiesBench,
  { backlogs, calls = 1 }: { backlogs: number; calls?: number },
  dueAt: number,
): Promise<CallRow[]> {
  const at = bench.now();
  const rows: CallRow[] = [];
  for (let n = 0; n < backlogs; n++) {
    const client = `client_${n}`;
    const requestId = aRequestId(at);
    for (let index = 0; index < calls; index++) {
      const id = toCallId(requestId, index);
      const of = { id, requestId, client, acceptedAt: at, batchCalls: calls };
      rows.push(rowIn("WAITING", aCall(of), { at, dueAt }));
    }
  }
  await bench.write(rows);
  return rows;
}

/** Requests of one call each that have just ended, each with the document that has it followed. */
export async function finishRequests(bench: DutiesBench, count: number): Promise<void> {
  const { deps } = bench;
  const rows = Array.from({ length: count }, () =>
    rowIn("REJECTED", aCall({ acceptedAt: bench.now(), client: "crm" }), { at: bench.now() }),
  );
  await bench.write(rows);
  const version = deps.random.version;
  await deps.documents.write(
    rows.map((row) => ({ next: followedRequest(row, bench.plan, version()), seen: null })),
  );
}
