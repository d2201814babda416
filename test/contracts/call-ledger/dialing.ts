import { byId as rowsById, readRow, readRows } from "#test/support/reads.ts";
import { unreadable } from "#shared/ports/unreadable.ts";
import { beforeEach, describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { dialingLane, type DialingOf } from "#shared/calls/lane.ts";
import type { CallLedger, DialingCall } from "#shared/ports/ledger.ts";
import { aLaterRow, aRow, aRowIn, changed, idsOf, suiteNow } from "#test/support/call-rows.ts";

const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1);

/** Returns a row under way that counts for these, with the call that a ledger is to return of it. */
function aDialing(of: DialingOf, dueAt = suiteNow + 45_000): { row: CallRow; call: DialingCall } {
  const { client, agentId } = of;
  const row = aRowIn("DIALING", { client, agentId, lane: dialingLane(of), dueAt });
  return { row, call: { id: row.id, dueAt, ...of } };
}

export function describeDialing(name: string, create: () => Promise<CallLedger>): void {
  describe(`${name} as a call ledger: calls under way`, () => {
    let ledger: CallLedger;
    beforeEach(async () => {
      ledger = await create();
    });
    const write = (...rows: CallRow[]) => ledger.write(rows.map((next) => ({ next, seen: null })));
    const dialing = async (limit = 100) => (await ledger.dialing(limit)).toSorted(byId);
    const sales = { account: "vapi", client: "crm", agentId: "agent_sales" };

    it("are read with their accounts, clients, agents and the ends of their claims", async () => {
      const others = [
        { ...sales, account: "webhook:https://example.com:8443" },
        { ...sales, client: "shop" },
        { account: 'a "b" \\ #1:#2', client: "é 中 #3", agentId: '😀 ["x","y"]' },
        { account: "", client: "", agentId: "" },
      ];
      const all = [sales, ...others].map((of, n) => aDialing(of, suiteNow - 1000 + n));
      await write(...all.map(({ row }) => row));
      expect(await dialing()).toEqual(all.map(({ call }) => call).toSorted(byId));
    });

    it("are none of the other states, however similar the names of their backlogs", async () => {
      const { row, call } = aDialing(sales);
      const others = [
        aRow(),
        aRow({ lane: '["dialing:","agent_sales"]' }),
        aRowIn("UNKNOWN"),
        aRowIn("PLACED", { lane: "results:dialing", dueAt: suiteNow }),
        aRowIn("PLACED", { deliverTo: "dialing:", deliverAt: suiteNow }),
        aRowIn("NEEDS_REVIEW"),
      ];
      await write(row, ...others);
      expect(await dialing()).toEqual([call]);
      const backlogs = [{ key: "watch" }, { key: '["crm","agent_sales"]' }];
      const due = await ledger.due({ lanes: backlogs, until: suiteNow + 90_000, each: 9 });
      expect(due.flat().map(({ id }) => id)).not.toContain(row.id);
    });

    it("are added by their claim and removed by their settlement", async () => {
      const { account } = sales;
      const waiting = aRow();
      const claim = changed(waiting, {
        state: "DIALING",
        lane: dialingLane({ account, client: waiting.client, agentId: waiting.agentId }),
        dueAt: suiteNow + 45_000,
      });
      await write(waiting);
      expect(await dialing()).toEqual([]);
      await ledger.write([{ next: claim, seen: waiting.version }]);
      expect(idsOf(await dialing())).toEqual([claim.id]);
      const placed = changed(claim, { state: "PLACED", lane: null, dueAt: null });
      await ledger.write([{ next: placed, seen: claim.version }]);
      expect(await dialing()).toEqual([]);
    });

    it("are read through to the last, each once, up to the given limit", async () => {
      const all = Array.from({ length: 300 }, (_, n) =>
        aDialing({ ...sales, account: `account ${n % 7}` }, suiteNow + n),
      );
      await write(...all.map(({ row }) => row));
      expect(await dialing(1000)).toEqual(all.map(({ call }) => call).toSorted(byId));
      const some = await ledger.dialing(40);
      expect(some).toHaveLength(40);
      expect(new Set(idsOf(some)).size).toBe(40);
    });

    it("with names of any length keep them, and count for their account", async () => {
      const long = { account: "vapi", client: "c".repeat(300), agentId: "😀".repeat(128) };
      const { row, call } = aDialing(long);
      await write(row);
      expect(await readRow(ledger, row.id)).toEqual(row);
      const [found] = await dialing();
      expect(found).toMatchObject({ id: call.id, dueAt: call.dueAt, account: "vapi" });
    });
  });

  describe(`${name} as a call ledger: reading without contexts`, () => {
    let ledger: CallLedger;
    beforeEach(async () => {
      ledger = await create();
    });

    it("yields every other field, and leaves the rows as they are", async () => {
      const request = { phone_number: "+12025550123", agent_id: "é", timezone: "Europe/Berlin" };
      const long = aRow({ request: { ...request, context: { text: "x".repeat(30_000) } } });
      const short = aRow({ request, reason: "pace", attempt: 2, claims: ["a", "b"] });
      const settled = aRowIn("PLACED", { request: null });
      const rows = [long, short, settled];
      await ledger.write(rows.map((next) => ({ next, seen: null })));
      const ids = idsOf(rows);
      const brief = await ledger.readWithoutContext(ids);
      expect(brief.unreadable.size).toBe(0);
      const briefly = rowsById(brief);
      expect(briefly.get(long.id)).toMatchObject({
        ...long,
        version: expect.any(String),
        request,
      });
      expect(briefly.get(long.id)?.request).toEqual(request);
      expect(brief.get(short.id)).toMatchObject(short);
      expect(brief.get(settled.id)).toMatchObject(settled);
      expect(await readRows(ledger, ids)).toEqual(new Map(rows.map((row) => [row.id, row])));
    });

    it("passes over ids that have no row, and says which rows only a later version can read", async () => {
      const [row, later] = [aRow(), aLaterRow()];
      await ledger.write([row, later].map((next) => ({ next, seen: null })));
      const found = await ledger.readWithoutContext([row.id, later.id, aRow().id, "%", "call_1"]);
      expect(idsOf(found.rows)).toEqual([row.id]);
      expect(found.unreadable).toEqual(new Set([later.id]));
      expect(found.get(later.id)).toBe(unreadable);
      const nothing = { rows: [], unreadable: new Set() };
      expect(await ledger.readWithoutContext([])).toMatchObject(nothing);
    });

    it("reads several hundred rows, each once however often it is named", async () => {
      const rows = Array.from({ length: 330 }, () => aRow());
      await ledger.write(rows.map((next) => ({ next, seen: null })));
      const ids = idsOf(rows);
      const found = await ledger.readWithoutContext([...ids, ...ids.slice(0, 50)]);
      expect(idsOf(found.rows).toSorted()).toEqual(ids.toSorted());
    });
  });
}
