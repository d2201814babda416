/** Sweeps and upkeeps over SQLite, through D1's adapter, which refuses more statements than D1 takes of an invocation. */
import { describe, expect, it } from "vitest";
import { sweep } from "../../../functions/dialer/sweep/sweep.ts";
import { upkeep } from "../../../functions/dialer/sweep/upkeep.ts";
import type { CallRow } from "../../../shared/calls/call-row.ts";
import { toCallId } from "../../../shared/calls/ids.ts";
import { createD1Documents } from "../../../shared/cloudflare/d1-documents.ts";
import { createD1Ledger } from "../../../shared/cloudflare/d1-ledger.ts";
import { asInvocation, statementsLeft } from "../../../shared/cloudflare/d1-statements.ts";
import { followedRequest } from "../../../shared/events/outbox-ledger.ts";
import { restoreKey, upkeepKey } from "../../../shared/policy/controls.ts";
import { aCall, aRequestId } from "../../support/calls.ts";
import { createDialerBench } from "../../support/dialer.ts";
import { suspendedAt } from "../../support/document-values.ts";
import { perTier } from "../../support/per-tier.ts";
import { rowIn, writeRows } from "../../support/rows.ts";
import { createSqliteD1 } from "../../support/sqlite-d1.ts";

/** `npm run test:schedules` runs this file with its largest sizes. */
const isLong = process.env["LONG"] === "1";
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const startAt = "2026-06-01T10:00Z";
const own = { provider: "webhook", url: "http://127.0.0.1:9/dial" };
const plan = {
  agents: { agent_sales: own },
  results: {},
  events: {
    crm: { url: "https://crm.example/events", types: ["call.ended", "request.finished"] },
  },
};

/** Creates a bench over SQLite. `minute` runs the crons of a minute, and returns the most statements of one of them. */
function createBench() {
  const { database } = createSqliteD1();
  const bench = createDialerBench({ startAt, plan });
  const { deps } = bench;
  const freshVersion = deps.random.version;
  deps.ledger = createD1Ledger(database);
  deps.documents = createD1Documents(database, { now: bench.now, freshVersion });
  deps.statementsLeft = statementsLeft;
  const runOne = (cron: typeof sweep) =>
    asInvocation(async () => {
      await cron(deps, bench.now() + 120_000);
      return 1_000 - statementsLeft();
    });
  return {
    ...bench,
    deps,
    eventsOf: bench.eventsOf,
    count: (kind: string) =>
      database.prepare("SELECT count(*) AS n FROM documents WHERE kind = ?1").bind(kind).first("n"),
    async minute() {
      const most = Math.max(await runOne(sweep), await runOne(upkeep));
      bench.advance(minuteMs);
      return most;
    },
    async write(rows: readonly CallRow[]) {
      for (let start = 0; start < rows.length; start += 2_000) {
        await writeRows(rows.slice(start, start + 2_000), deps.ledger, deps.documents);
      }
    },
  };
}
type DutiesBench = ReturnType<typeof createBench>;

/** Writes waiting calls of many clients, with the documents of their backlogs. */
async function fillBacklogs(
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
async function finishRequests(bench: DutiesBench, count: number): Promise<void> {
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

const unfinished = async ({ deps }: DutiesBench) =>
  (await deps.documents.list("request", { limit: 100_000 })).filter(
    ({ value }) => value.finishedAt === null,
  ).length;

const isSlow = perTier({ quick: 0, slow: 1 }) === 1;
const sizes = [200, 1_200, ...(isSlow ? [10_000] : [])];
const rates = [60, 600, ...(isSlow ? [3_000] : [])];

describe.each(sizes)("with %d backlogs that wait for tomorrow", (backlogs) => {
  it("each minute's crons do all that they are for", { timeout: 600_000 }, async () => {
    const bench = createBench();
    const { deps } = bench;
    await fillBacklogs(bench, { backlogs }, bench.now() + 20 * hourMs);
    const at = bench.now();
    const ended = rowIn("PLACED", aCall({ client: "crm", acceptedAt: at }), { at, dueAt: at });
    const expired = rowIn(
      "WAITING",
      aCall({ client: `client_${backlogs - 1}`, acceptedAt: at - 1_000 * hourMs }),
      { at, dueAt: at + 20 * hourMs },
    );
    await bench.write([ended, expired]);
    const spent: number[] = [];
    for (let minute = 0; minute < 3; minute++) spent.push(await bench.minute());
    expect(Math.max(...spent)).toBeLessThan(1_000);
    expect(bench.eventsOf("sweep.failed")).toEqual([]);
    expect(bench.eventsOf("upkeep.failed")).toEqual([]);
    // One full round a minute.
    expect(bench.eventsOf("sweep.completed")).toHaveLength(3);
    // All were visited, each once.
    expect((await deps.ledger.read([expired.id])).rows.get(expired.id)?.state).toBe("EXPIRED");
    const read = await deps.documents.read([upkeepKey]);
    expect(read.get("upkeep", upkeepKey.key)?.value).toMatchObject({ walk: null, purge: null });
  });
});

describe.each(rates)("with %d requests a minute that finish", (rate) => {
  it("each is finished within two minutes", { timeout: 600_000 }, async () => {
    const bench = createBench();
    await fillBacklogs(bench, { backlogs: 200 }, bench.now() + 20 * hourMs);
    for (let minute = 0; minute < 4; minute++) {
      await finishRequests(bench, rate);
      expect(await bench.minute()).toBeLessThan(1_000);
    }
    await bench.minute();
    expect(await unfinished(bench)).toBe(0);
    expect(bench.eventsOf("upkeep.failed")).toEqual([]);
  });
});

describe("expired documents", () => {
  it("are all deleted within two hours, and a gauge tells how old they may be", async () => {
    const count = perTier({ quick: 70_000, slow: isLong ? 2_000_000 : 150_000 });
    const bench = createBench();
    const { deps } = bench;
    await bench.minute(); // the first purge finds nothing
    const expiresAt = bench.now() + minuteMs;
    for (let start = 0; start < count; start += 5_000) {
      const some = Array.from({ length: 5_000 }, (_, n) => ({
        kind: "failures" as const,
        key: `k${start + n}`,
        version: "v",
        value: {},
        expiresAt,
      }));
      await deps.documents.write(some.map((next) => ({ next, seen: null })));
    }
    bench.advance(hourMs);
    for (let minute = 0; minute < (isLong ? 20 : 4); minute++) await bench.minute();
    const left = await bench.count("failures");
    expect(left).toBe(0);
    const told = bench.eventsOf("sweep.measured").at(-1);
    expect(told?.oldest_expired_seconds).toBeLessThan(2 * 3_600);
    expect(bench.eventsOf("upkeep.late")).toEqual([]);
  });
});

describe("a restore", () => {
  it("ends within twenty minutes, killed at each step or not", { timeout: 900_000 }, async () => {
    const backlogs = perTier({ quick: 1_200, slow: 10_000 });
    const calls = perTier({ quick: 5, slow: isLong ? 50 : 5 });
    const bench = createBench();
    const { deps } = bench;
    const rows = await fillBacklogs(bench, { backlogs, calls }, bench.now() + 20 * hourMs);
    // Some were due before the ledger was held, and may have been dialed.
    const lost = rows.filter((_, n) => n % Math.ceil(rows.length / 2_000) === 0);
    await deps.ledger.write(
      lost.map((row) => ({
        next: { ...row, dueAt: bench.now() - minuteMs, version: deps.random.version() },
        seen: row.version,
      })),
    );
    const since = bench.now();
    const value = suspendedAt(since, {
      state: "confirmed",
      epoch: 1_000_000,
      at: since - hourMs,
      by: "ops",
      isJournalDone: true,
    });
    const next = { ...restoreKey, version: deps.random.version(), value, expiresAt: null };
    await deps.documents.write([{ next, seen: null }]);
    const restoreOf = async () =>
      (await deps.documents.read([restoreKey])).get("restore", restoreKey.key)?.value;
    let minutes = 0;
    for (; (await restoreOf())?.state !== "done" && minutes < 30; minutes++) {
      const write = deps.documents.write.bind(deps.documents);
      if (minutes % 2 === 0) {
        // Killed after some steps: nothing more is stored by this sweep.
        let steps = 0;
        deps.documents.write = (changes) =>
          ++steps > 12 ? Promise.reject(new Error("killed")) : write(changes);
      }
      await bench.minute();
      deps.documents.write = write;
    }
    expect(await restoreOf()).toMatchObject({ state: "done" });
    expect(minutes).toBeLessThanOrEqual(20);
    const { rows: after } = await deps.ledger.read(lost.map(({ id }) => id));
    expect(after.size).toBe(lost.length);
    for (const row of after.values()) expect(row.state).not.toBe("WAITING");
    expect(bench.dialed).toEqual([]);
  });
});
