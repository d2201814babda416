import { describe, expect, it } from "vitest";
import { createD1Documents } from "../../../shared/cloudflare/d1-documents.ts";
import { createD1Ledger } from "../../../shared/cloudflare/d1-ledger.ts";
import { createDialerBench } from "../../support/dialer.ts";
import { callsNow, dispatchOf } from "../../support/dialer-calls.ts";
import { rowIn, writeRows } from "../../support/rows.ts";
import { createSqliteD1 } from "../../support/sqlite-d1.ts";

/** Requests at once of a delivery, as on Cloudflare. */
const concurrency = 5;
const caps = { maxCalls: { count: 7, days: 7 }, providers: { webhook: { callsPerDay: 1000 } } };

/** Counts the statements of D1 that a delivery sends to dial waiting calls. */
async function countStatements(calls: number, plan: object): Promise<number> {
  const { database, statements } = createSqliteD1();
  const bench = createDialerBench({ plan, concurrency, startAt: "2026-06-01T20:00Z" });
  const { deps } = bench;
  deps.ledger = createD1Ledger(database);
  const known = await deps.documents.list("account", { limit: 9 });
  deps.documents = createD1Documents(database, {
    now: bench.now,
    freshVersion: deps.random.version,
  });
  await deps.documents.write(known.map((next) => ({ next, seen: null })));
  const deliver = async (count: number) => {
    const waiting = callsNow(bench, count).map((call) =>
      rowIn("WAITING", call, { at: bench.now(), dueAt: bench.now() }),
    );
    await writeRows(waiting, deps.ledger, deps.documents);
    await bench.send(dispatchOf(waiting));
    const before = statements();
    await bench.deliver();
    return statements() - before;
  };
  await deliver(1); // reads what a process reads once
  const ofCalls = await deliver(calls);
  expect(bench.dialed).toHaveLength(1 + calls);
  return ofCalls;
}

describe("a delivery of waiting calls", () => {
  it.each([
    { calls: 1, without: 6, withCaps: 9 },
    { calls: 5, without: 6, withCaps: 10 },
    { calls: 20, without: 7, withCaps: 14 },
  ])(
    "of $calls takes $without statements, and $withCaps with caps of numbers and a day",
    async ({ calls, without, withCaps }) => {
      const counted = [await countStatements(calls, {}), await countStatements(calls, caps)];
      expect(counted).toEqual([without, withCaps]);
    },
  );
});
