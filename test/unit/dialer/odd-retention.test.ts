import { expect, it } from "vitest";
import { createD1Documents } from "#shared/cloudflare/d1-documents.ts";
import { createD1Ledger } from "#shared/cloudflare/d1-ledger.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { aCallNow, sendEach } from "#test/support/dialer-calls.ts";
import { toldTo } from "#test/support/events-bench.ts";
import { listDocuments } from "#test/support/reads.ts";
import { createSqliteD1 } from "#test/support/sqlite-d1.ts";

it("a call is dialed and counted on D1 under a retention of no whole milliseconds, such as two mean months", async () => {
  const plan = { retentionDays: 60.833333, ...toldTo() };
  const bench = createDialerBench({ plan, startAt: "2026-06-01T20:00Z" });
  const { deps } = bench;
  const { database } = createSqliteD1();
  const known = await listDocuments(deps.documents, "account", { limit: 9 });
  deps.ledger = createD1Ledger(database);
  deps.documents = createD1Documents(database, {
    now: bench.now,
    freshVersion: deps.random.version,
  });
  await deps.documents.write(known.map((next) => ({ next, seen: null })));
  await sendEach(bench, aCallNow(bench));
  await bench.deliver();
  expect(bench.events.filter(({ level }) => level !== "info")).toEqual([]);
  expect(bench.dialed).toHaveLength(1);
  expect(await listDocuments(deps.documents, "usage", { limit: 9 })).toHaveLength(1);
});
