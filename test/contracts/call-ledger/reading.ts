import { unreadable } from "#shared/ports/unreadable.ts";
import { readRow } from "#test/support/reads.ts";
import { toAccountName } from "#shared/calls/ids.ts";
import { beforeEach, describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import { aLaterRow, aRow, changed, rowsOfOneRequest, suiteNow } from "#test/support/call-rows.ts";
import { perTier } from "#test/support/per-tier.ts";

export function describeReading(name: string, create: () => Promise<CallLedger>): void {
  describe(`${name} as a call ledger: reading`, () => {
    let ledger: CallLedger;
    beforeEach(async () => {
      ledger = await create();
    });
    const write = (...rows: CallRow[]) => ledger.write(rows.map((next) => ({ next, seen: null })));

    it("returns nothing for an unknown call, nor for a text that is no id", async () => {
      const nothing = { rows: [], unreadable: new Set() };
      expect(await ledger.read([])).toMatchObject(nothing);
      const { id } = aRow();
      const read = await ledger.read([id, "call_1", "%", "' OR 1"]);
      expect(read).toMatchObject(nothing);
      expect(read.get(id)).toBeUndefined();
    });

    it("keeps every field of a row", async () => {
      const row = aRow({
        state: "UNKNOWN",
        reason: "time_out",
        lane: "watch",
        claims: ["one", "two"],
        attempt: 2,
        resent: true,
        claimedAt: suiteNow - 5000,
        unknownSince: suiteNow - 1000,
        misses: 3,
        request: {
          phone_number: "+12025550123",
          agent_id: 'agent "é" 中文 #1',
          context: { name: 'Zoë "Z" O’Neil\n</Stream> \u0001 😀 \\', "": "", "a.b": "$[0]" },
          timezone: "America/New_York",
        },
        ancestors: [aRow().id],
        tries: { number: 2, budget: 3, until: suiteNow + 1000, dialedAt: [suiteNow - 9000] },
        next: { id: aRow().id, dueAt: suiteNow + 500 },
        route: {
          provider: "webhook",
          account: toAccountName("main"),
          url: "https://example.com/dial",
        },
        providerCallId: "CA123",
        redialedAs: aRow().id,
        history: [
          { at: 1, state: "WAITING", reason: "pace", dueAt: 5 },
          { at: 2, state: "CANCELLED", reason: "operator", by: "ops" },
        ],
      });
      const placed = aRow({ state: "PLACED", lane: null, dueAt: null, request: null });
      await write(row, placed);
      const read = await ledger.read([row.id, placed.id]);
      expect(read.get(row.id)).toEqual(row);
      expect(read.get(placed.id)).toEqual(placed);
    });

    it("keeps fields of a row that it does not know", async () => {
      const cost = { amount: "0.1", currency: "USD", tax: "0.01" };
      const result = { status: "completed", human: null, word: null, cost } as const;
      const later = {
        transfer: { to: ["a"], at: 1 },
        flag: true,
        result: { ...result, answeredAt: null, endedAt: null, seconds: null },
      };
      const row = { ...aRow(), ...later };
      await write(row);
      const seen = await readRow(ledger, row.id);
      expect(seen).toEqual(row);
      if (seen === undefined) return;
      await ledger.write([{ next: changed(seen, { state: "PLACED" }), seen: seen.version }]);
      expect(await readRow(ledger, row.id)).toMatchObject(later);
    });

    it("says which rows only a later version can read: by state, route, request or needs", async () => {
      const [later, row] = [aLaterRow(), aRow()];
      const route = { type: "carrier-pigeon", account: "main", loft: "a" };
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the test needs an unknown type of route
      const elsewhere = aRow({ route: route as unknown as CallRow["route"] });
      const request = {
        phone_number: "+12025550123",
        agent_id: "agent_sales",
        context: { a: "b" },
        not_on: "sundays",
      };
      const limited = aRow({ request });
      const inNeed = { ...aRow(), needs: ["not-on"] };
      const others = [later, elsewhere, limited, inNeed];
      await write(row, ...others);
      const read = await ledger.read([row, ...others].map(({ id }) => id));
      expect(read.rows).toEqual([row]);
      expect(read.unreadable).toEqual(new Set(others.map(({ id }) => id)));
      expect(others.map(({ id }) => read.get(id))).toEqual(others.map(() => unreadable));
      // The unreadable row exists: the call must not be taken for one that was never tried.
      expect(await ledger.write([{ next: changed(aRow({ id: later.id })), seen: null }])).toEqual([
        false,
      ]);
    });

    it("reads many rows, each once however often it is named", async () => {
      const rows = rowsOfOneRequest(perTier({ quick: 110, long: 330 }));
      await write(...rows);
      const ids = rows.map(({ id }) => id);
      const found = await ledger.read([...ids, ...ids.slice(0, 50), aRow().id]);
      expect(found.unreadable.size).toBe(0);
      expect(found.rows.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    });
  });
}
