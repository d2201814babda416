import { readRow } from "#test/support/reads.ts";
import { describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { statesWhere } from "#shared/calls/states.ts";
import { firstCallIdAt } from "#shared/calls/ids.ts";
import { createD1Ledger } from "#shared/cloudflare/d1-ledger.ts";
import { describeCallLedger } from "../contracts/call-ledger/index.ts";
import {
  aRow,
  aRowIn,
  changed,
  dialingBacklog,
  rowsOfOneRequest,
  suiteNow,
} from "../support/call-rows.ts";
import { countingD1 } from "./counting-d1.ts";
import { testEnv } from "./env.ts";
import { packedHex } from "../support/packed-hex.ts";
import { perTier, inSlowTier } from "../support/per-tier.ts";

const { LEDGER } = testEnv;
const told = statesWhere(({ purge }) => purge !== "never");

async function createLedger(database = LEDGER) {
  await LEDGER.prepare("DELETE FROM calls").run();
  return createD1Ledger(database);
}

describeCallLedger("D1", () => createLedger(), { told, runs: perTier({ quick: 3, long: 10 }) });

describe("D1 as a call ledger", () => {
  it("leaves a row alone that was packed with a later version's dictionary", async () => {
    const ledger = await createLedger();
    const [later, other] = [aRow(), aRow()];
    await ledger.write([later, other].map((next) => ({ next, seen: null })));
    await LEDGER.prepare("UPDATE calls SET row = ?2 || row WHERE id = ?1")
      .bind(later.id, Uint8Array.of(255))
      .run();
    for (const read of [ledger.read, ledger.readWithoutContext]) {
      const { rows, unreadable } = await read([later.id, other.id]);
      expect([rows.map(({ id }) => id), [...unreadable]]).toEqual([[other.id], [later.id]]);
    }
    const page = await ledger.list({ all: true, limit: 9 });
    expect(page).toMatchObject({ rows: [{ id: other.id }], unreadable: 1 });
  });

  it("keeps a column that only a later version knows when a row is changed", async () => {
    const ledger = await createLedger();
    const row = aRow();
    await ledger.write([{ next: row, seen: null }]);
    await LEDGER.prepare("ALTER TABLE calls ADD COLUMN tag TEXT").run();
    try {
      await LEDGER.prepare("UPDATE calls SET tag = 'spring'").run();
      const seen = await readRow(ledger, row.id);
      expect(seen).toEqual(row);
      const next = changed(row, { state: "PLACED", lane: null, dueAt: null });
      expect(await ledger.write([{ next, seen: row.version }])).toEqual([true]);
      const stored = await LEDGER.prepare("SELECT version, tag FROM calls").first();
      expect(stored).toEqual({ version: next.version, tag: "spring" });
    } finally {
      await LEDGER.prepare("ALTER TABLE calls DROP COLUMN tag").run();
    }
  });

  it("has a call's context apart, and reads it with its row alone", async () => {
    const ledger = await createLedger();
    const request = { phone_number: "+12025550123", agent_id: "a", context: { name: "Zoë" } };
    const row = aRow({ request });
    await ledger.write([{ next: row, seen: null }]);
    expect((await readRow(ledger, row.id))?.request).toEqual(request);
    await LEDGER.prepare("UPDATE calls SET context = x'00'").run();
    const { rows } = await ledger.readWithoutContext([row.id]);
    expect(rows[0]?.request).toEqual({ phone_number: "+12025550123", agent_id: "a" });
    expect((await ledger.read([row.id])).unreadable).toEqual(new Set([row.id]));
  });
});

describe("D1 as a call ledger: D1's bill", () => {
  const placed = (row: CallRow) =>
    changed(row, { state: "PLACED", lane: null, dueAt: null, request: null });

  it("is three rows for a claim, one for a settlement, none for a refusal", async () => {
    const { database, cost } = countingD1(LEDGER);
    const ledger = await createLedger(database);
    const write = async (next: CallRow, seen: string | null) => {
      const { written, statements } = await cost(() => ledger.write([{ next, seen }]));
      expect(statements).toBe(1);
      return written;
    };
    const claim = aRowIn("DIALING");
    expect(await write(claim, null)).toBe(3);
    expect(await write(claim, null)).toBe(1); // the same write again
    expect(await write(changed(claim), null)).toBe(0);
    const settled = placed(claim);
    expect(await write(settled, claim.version)).toBe(1);
    expect(await write(changed(settled), claim.version)).toBe(0);

    const waiting = aRow();
    const dialing = changed(waiting, {
      state: "DIALING",
      lane: dialingBacklog,
      dueAt: suiteNow + 1,
    });
    expect(await write(waiting, null)).toBe(3);
    expect(await write(dialing, waiting.version)).toBe(2);
    expect(await write(placed(dialing), dialing.version)).toBe(1);
    const unknown = aRowIn("UNKNOWN");
    expect(await write(unknown, null)).toBe(4);
    expect(await write(placed(unknown), unknown.version)).toBe(1);
  });

  it("is a row more for each list of requests, and none for a later write", async () => {
    const { database, cost } = countingD1(LEDGER);
    const ledger = await createLedger(database);
    const write = async (next: CallRow, seen: string | null) =>
      (await cost(() => ledger.write([{ next, seen }]))).written;
    for (const [lists, more] of [
      [{ first: "request" }, 2],
      [{ first: "request", labels: { campaign: "spring" } }, 4],
      [{ first: "agent", labels: { campaign: "spring" } }, 1],
      [{ labels: { campaign: "spring" } }, 0],
    ] as const) {
      const claim = aRowIn("DIALING", lists);
      expect(await write(claim, null)).toBe(3 + more);
      expect(await write(placed(claim), claim.version)).toBe(1);
    }
  });

  it("is a statement for each 400 kB of one kind of write, and as many rows as each alone", async () => {
    const { database, cost } = countingD1(LEDGER);
    const ledger = await createLedger(database);
    const rows = rowsOfOneRequest(500, { lane: dialingBacklog, state: "DIALING" });
    const first = await cost(() => ledger.write(rows.map((next) => ({ next, seen: null }))));
    expect(first).toMatchObject({ written: 1500, statements: 1 });
    const settlements = rows.map((row) => ({ next: placed(row), seen: row.version }));
    const second = await cost(() => ledger.write(settlements));
    expect(second).toMatchObject({ written: 500, statements: 1 });
  });

  it("does not grow with the ledger", inSlowTier, async () => {
    const { database, cost } = countingD1(LEDGER);
    const ledger = await createLedger(database);
    const costs = async () => {
      const [row, waiting] = [aRowIn("DIALING"), aRow({ lane: "[]" })];
      const backlogs = Array.from({ length: 20 }, (_, index) => ({ key: `["crm","${index}"]` }));
      const { read: written } = await cost(async () => {
        await ledger.write([
          { next: row, seen: null },
          { next: waiting, seen: null },
        ]);
        await ledger.write([{ next: placed(row), seen: row.version }]);
      });
      const { read: known } = await cost(() => ledger.read([row.id, waiting.id]));
      const { read: due, statements } = await cost(() =>
        ledger.due({ lanes: backlogs, until: suiteNow, each: 3 }),
      );
      const numberHash = { numberHash: row.numberHash, limit: 50 };
      expect((await cost(() => ledger.list(numberHash))).read).toBeLessThan(5);
      expect(statements).toBe(1);
      return { written, known, due };
    };
    await fill(2000);
    const withFew = await costs();
    await fill(20_000);
    expect(await costs()).toEqual(withFew);
    expect(withFew.written).toBeLessThan(20);
    expect(withFew.known).toBeLessThan(10);
    expect(withFew.due).toBeLessThanOrEqual(20 * 4 + 40); // reads its index only, beside the requested rows
  });

  it(
    "reads a bounded number of rows for any page, with 100,000 calls in the ledger",
    inSlowTier,
    async () => {
      const { database, cost } = countingD1(LEDGER);
      const ledger = await createLedger(database);
      await fill(100_000);
      const readBy = async (work: () => Promise<unknown>) => (await cost(work)).read;
      const list = (of: Parameters<typeof ledger.list>[0]) => readBy(() => ledger.list(of));
      expect(await list({ state: "NEEDS_REVIEW", limit: 50 })).toBeLessThanOrEqual(101);
      const oldest = () => ledger.listOldest({ state: "NEEDS_REVIEW", limit: 50 });
      expect(await readBy(oldest)).toBeLessThanOrEqual(101);
      expect(await list({ state: "REJECTED", limit: 50 })).toBeLessThanOrEqual(1); // there is no such row
      expect(await list({ state: "PLACED", limit: 50 })).toBeLessThanOrEqual(110);
      expect(await list({ state: "WAITING", limit: 50 })).toBeLessThanOrEqual(600);
      expect(await list({ state: "CANCELLED", limit: 50 })).toBeLessThanOrEqual(5000);
      expect(await list({ all: true, limit: 50 })).toBeLessThanOrEqual(50);
      expect(await list({ requestId: "no such", limit: 50 })).toBeLessThanOrEqual(1);
      // Half of the requests are another client's of the same campaign, half are of this client's other campaigns.
      const requests = Array.from({ length: 400 }, (_, n) =>
        aRow(
          n % 2 === 0
            ? {
                first: "request",
                client: "listed",
                labels: { campaign: n % 100 === 0 ? "spring" : "autumn" },
              }
            : { first: "request", client: "other", labels: { campaign: "spring" } },
        ),
      );
      await ledger.write(requests.map((next) => ({ next, seen: null })));
      const spring = { client: "listed", campaign: "spring" };
      expect(await list({ ...spring, limit: 50 })).toBeLessThanOrEqual(2 * 4);
      expect(await list({ ...spring, limit: 2 })).toBeLessThanOrEqual(2 * 2);
      const middle = firstCallIdAt(suiteNow - 50_000_000);
      expect(await list({ all: true, before: middle, limit: 50 })).toBeLessThanOrEqual(50);
      const ended = await readBy(() =>
        ledger.ended({ before: suiteNow - 60_000_000, limit: 1000 }),
      );
      expect(ended).toBeLessThanOrEqual(2000);
      const none = { before: suiteNow, after: firstCallIdAt(suiteNow), limit: 9 };
      expect(await readBy(() => ledger.ended(none))).toBeLessThanOrEqual(2);
    },
  );

  it(
    "finds the few calls of a state among thousands, and ended calls behind thousands that wait",
    inSlowTier,
    async () => {
      const ledger = await createLedger();
      await fill(6000);
      const few = [0, 3_000_000, 7_000_000].map((age) =>
        aRowIn("CANCELLED", { acceptedAt: suiteNow - age }),
      );
      await ledger.write(few.map((next) => ({ next, seen: null })));
      const found: string[] = [];
      let before: string | undefined;
      do {
        const page = await ledger.list({ state: "CANCELLED", before, limit: 2 });
        found.push(...page.rows.map(({ id }) => id));
        before = page.next;
      } while (before !== undefined);
      expect(found).toEqual(few.map(({ id }) => id));

      await LEDGER.prepare("UPDATE calls SET state = 'DIALING' WHERE state = 'PLACED'").run();
      const ended: string[] = [];
      let after: string | undefined;
      do {
        const page = await ledger.ended({ before: suiteNow + 1, after, limit: 9 });
        ended.push(...page.rows.filter(({ state }) => state === "CANCELLED").map(({ id }) => id));
        after = page.next;
      } while (after !== undefined);
      expect(ended).toEqual(found.toReversed());
    },
  );

  it("returns thousands of due positions of each backlog", inSlowTier, async () => {
    const ledger = await createLedger();
    await fill(300_000);
    const backlogs = [{ key: '["crm","3"]' }, { key: "none" }, { key: '["crm","4"]' }];
    const places = await ledger.due({ lanes: backlogs, until: suiteNow, each: 12_000 });
    expect(places.map(({ length }) => length)).toEqual([12_000, 0, 12_000]);
    expect(new Set(places.flat().map(({ id }) => id)).size).toBe(24_000);
  });
});

/** The ten digits of a time `t` in an id, like those of shared/calls/ids.ts. */
const timeDigits = Array.from(
  { length: 10 },
  (_, digit) =>
    `substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((t >> ${45 - 5 * digit}) & 31) + 1, 1)`,
).join(" || ");

/** Fields of the rows that `fill` adds, without those that have a column. */
const filled = { reason: "r", client: "crm", agentId: "a", numberTail: "23", updatedAt: suiteNow };

/**
 * Adds calls, one a second backwards from `suiteNow`: one in ten waits, in one of two backlogs; one in a
 * thousand needs a review; the others are PLACED.
 */
async function fill(count: number): Promise<void> {
  await LEDGER.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 - 1),
       timed(i, t) AS (SELECT i, CAST(?2 AS INTEGER) - i * 1000 FROM n)
     INSERT INTO calls (id, version, number_hash, state, lane, due_at, accepted_at, row)
     SELECT 'call_' || ${timeDigits} || printf('%016d', i) || '_00000', 'v' || i, CAST('hash_' || i AS BLOB),
       CASE WHEN i % 1000 = 0 THEN 'NEEDS_REVIEW' WHEN i % 10 = 1 THEN 'WAITING' ELSE 'PLACED' END,
       iif(i % 10 = 1, '["crm","' || (3 + i / 10 % 2) || '"]', NULL), iif(i % 10 = 1, t, NULL), t, unhex(?3)
     FROM timed WHERE true
     ON CONFLICT (id) DO NOTHING`,
  )
    .bind(count, suiteNow, packedHex(filled))
    .run();
}
