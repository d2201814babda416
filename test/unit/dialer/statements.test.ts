import { listDocuments } from "#test/support/reads.ts";
import { describe, expect, it } from "vitest";
import { createD1Documents } from "#shared/cloudflare/d1-documents.ts";
import { createD1Ledger } from "#shared/cloudflare/d1-ledger.ts";
import { countedIn, dayKeyOf } from "#shared/policy/day-counts.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  callsNow,
  dispatchOf,
  hashOf,
  numberOf,
  ownAccount,
  sendEach,
} from "#test/support/dialer-calls.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";
import { createSqliteD1 } from "#test/support/sqlite-d1.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

/** Requests at once of a delivery, as on Cloudflare. */
const concurrency = 5;
const caps = { maxCalls: { count: 7, days: 7 }, providers: { webhook: { callsPerDay: 1000 } } };

/** Counts the statements of D1 that a delivery sends to dial waiting calls. */
async function countStatements(calls: number, plan: object): Promise<number> {
  const { database, statements } = createSqliteD1();
  const bench = createDialerBench({ plan, concurrency, startAt: "2026-06-01T20:00Z" });
  const { deps } = bench;
  deps.sharesStatements = true;
  deps.ledger = createD1Ledger(database);
  const known = await listDocuments(deps.documents, "account", { limit: 9 });
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
    inSlowTier,
    async ({ calls, without, withCaps }) => {
      const counted = [await countStatements(calls, {}), await countStatements(calls, caps)];
      expect(counted).toEqual([without, withCaps]);
    },
  );

  it("that share their statements keeps the cap of each number, and the day of the account", async () => {
    const plan = {
      maxCalls: { count: 1, days: 1 },
      providers: { webhook: { callsPerDay: 4 } },
    };
    const bench = createDialerBench({ plan, concurrency, startAt: "2026-06-01T20:00Z" });
    bench.deps.sharesStatements = true;
    const numbers = [0, 1, 0, 2, 1, 3, 4, 0, 5].map(numberOf);
    const waiting = numbers.map((phone_number) =>
      rowIn("WAITING", aCallNow(bench, { phone_number }), { at: bench.now(), dueAt: bench.now() }),
    );
    await writeRows(waiting, bench.rows, bench.documents);
    await bench.send(dispatchOf(waiting));
    await bench.deliver();
    const dialed = bench.dialed.map(({ call }) => call.request.phone_number);
    expect(new Set(dialed).size).toBe(dialed.length);
    // Four took the day's room, one of which its number's cap refused: it gave its room back.
    expect(dialed).toHaveLength(3);
    const day = dayKeyOf({ account: ownAccount }, bench.now());
    expect(countedIn(await bench.documents.read([day]), { account: ownAccount }, bench.now())).toBe(
      3,
    );
  });

  it("that share their statements holds back the calls alone whose cap only a later version can read", async () => {
    const plan = { maxCalls: { count: 1, days: 1 } };
    const bench = createDialerBench({ plan, concurrency, startAt: "2026-06-01T20:00Z" });
    bench.deps.sharesStatements = true;
    const calls = callsNow(bench, 5);
    const key = hashOf(numberOf(2));
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only a later version knows the form
    const value = { entries: "later" } as unknown as { entries: [] };
    const next = { kind: "cap" as const, key, version: "v", value, expiresAt: null };
    await bench.documents.write([{ next, seen: null }]);
    await sendEach(bench, ...calls);
    await bench.deliver();
    const dialed = bench.dialed.map(({ call }) => call.request.phone_number);
    expect(dialed.toSorted()).toEqual([0, 1, 3, 4].map(numberOf));
  });
});
