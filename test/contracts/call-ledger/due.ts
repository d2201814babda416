import { readRow, readRows } from "#test/support/reads.ts";
import { beforeEach, describe, expect, it } from "vitest";
import { type CallRow, waitingLaneOf } from "#shared/calls/call-row.ts";
import type { CallLedger, DuePosition } from "#shared/ports/ledger.ts";
import {
  aRow,
  aRowIn,
  changed,
  dialingBacklog,
  rowsOfOneRequest,
  suiteNow,
} from "#test/support/call-rows.ts";
import { perTier } from "#test/support/per-tier.ts";

const [sales, support] = ['["crm","agent_sales"]', '["crm","agent é 中 #1"]'] as const;
const byPosition = (a: DuePosition, b: DuePosition) => a.dueAt - b.dueAt || (a.id < b.id ? -1 : 1);
const placesOf = (rows: CallRow[]) =>
  rows.map(({ id, dueAt }) => ({ id, dueAt: dueAt ?? Number.NaN })).toSorted(byPosition);

export function describeDue(name: string, create: () => Promise<CallLedger>): void {
  describe(`${name} as a call ledger: due rows`, () => {
    let ledger: CallLedger;
    beforeEach(async () => {
      ledger = await create();
    });
    const write = (...rows: CallRow[]) => ledger.write(rows.map((next) => ({ next, seen: null })));
    const dueOf = async (
      key: string,
      more: { until?: number; each?: number; after?: DuePosition },
    ) => {
      const { until = suiteNow, each = 100, after } = more;
      const [places] = await ledger.due({ lanes: [{ key, after }], until, each });
      return places;
    };

    it("gives each backlog's rows in the order of their due times, then of their ids", async () => {
      const rows = [30, 10, 20, 10].map((wait) => aRow({ dueAt: suiteNow + wait, lane: sales }));
      const others = [5, 15].map((wait) => aRow({ dueAt: suiteNow + wait, lane: support }));
      await write(...rows, ...others);
      const backlogs = [{ key: support }, { key: "[]" }, { key: sales }];
      expect(await ledger.due({ lanes: backlogs, until: suiteNow + 20, each: 100 })).toEqual([
        placesOf(others),
        [],
        placesOf(rows).slice(0, 3),
      ]);
      expect(await ledger.due({ lanes: [], until: suiteNow, each: 100 })).toEqual([]);
    });

    it("keeps urgent rows of a client and an agent in a backlog of their own", async () => {
      const of = { client: "crm", agentId: "agent é 中 #1" };
      const ofUrgent = waitingLaneOf({ ...of, isUrgent: true });
      const urgent = [2, 1].map((wait) =>
        aRow({
          ...of,
          isUrgent: true,
          notBefore: suiteNow,
          dueAt: suiteNow + wait,
          lane: ofUrgent,
        }),
      );
      const other = aRow({ ...of, dueAt: suiteNow, lane: support });
      await write(...urgent, other);
      const backlogs = [{ key: ofUrgent }, { key: support }];
      expect(await ledger.due({ lanes: backlogs, until: suiteNow + 9, each: 100 })).toEqual([
        placesOf(urgent),
        placesOf([other]),
      ]);
      const rows = await readRows(
        ledger,
        [...urgent, other].map(({ id }) => id),
      );
      expect([...urgent, other].map(({ id }) => rows.get(id))).toEqual([...urgent, other]);
    });

    it("continues after a position, even if its row was purged", async () => {
      const rows = rowsOfOneRequest(5, { dueAt: suiteNow, lane: sales });
      const later = aRow({ dueAt: suiteNow + 1, lane: sales });
      await write(...rows, later);
      const all = placesOf([...rows, later]);
      const until = suiteNow + 1;
      expect(await dueOf(sales, { until, each: 2 })).toEqual(all.slice(0, 2));
      const [, second] = all;
      expect(await dueOf(sales, { until, each: 3, ...(second && { after: second }) })).toEqual(
        all.slice(2, 5),
      );
      await ledger.purge([second?.id ?? ""]);
      expect(await dueOf(sales, { until, ...(second && { after: second }) })).toEqual(all.slice(2));
      expect(await dueOf(sales, { until, after: { dueAt: until, id: "~" } })).toEqual([]);
    });

    it("continues after a different position in each backlog", async () => {
      const rows = rowsOfOneRequest(4, { lane: sales });
      const others = rowsOfOneRequest(4, { lane: support });
      await write(...rows, ...others);
      const [places, otherPlaces] = [placesOf(rows), placesOf(others)];
      const backlogs = [
        { key: sales, after: places[0] },
        { key: support, after: otherPlaces[2] },
      ];
      expect(await ledger.due({ lanes: backlogs, until: suiteNow, each: 9 })).toEqual([
        places.slice(1),
        otherPlaces.slice(3),
      ]);
    });

    it("moves a row when its due time changes, and drops it once it no longer waits", async () => {
      const row = aRow({ lane: sales });
      const later = changed(row, { dueAt: suiteNow + 50 });
      const dialing = changed(later, { state: "DIALING", lane: dialingBacklog });
      const unknown = changed(dialing, { state: "UNKNOWN", lane: "watch", dueAt: suiteNow + 9 });
      const placed = changed(unknown, { state: "PLACED", lane: null, dueAt: null });
      await write(row);
      expect(await dueOf(sales, {})).toEqual(placesOf([row]));
      await ledger.write([{ next: later, seen: row.version }]);
      expect(await dueOf(sales, {})).toEqual([]);
      expect(await dueOf(sales, { until: suiteNow + 50 })).toEqual(placesOf([later]));
      await ledger.write([{ next: dialing, seen: later.version }]);
      expect(await dueOf(sales, { until: suiteNow + 50 })).toEqual([]);
      await ledger.write([{ next: unknown, seen: dialing.version }]);
      expect(await dueOf("watch", { until: suiteNow + 50 })).toEqual(placesOf([unknown]));
      await ledger.write([{ next: placed, seen: unknown.version }]);
      expect(await dueOf("watch", { until: suiteNow + 50 })).toEqual([]);
    });

    it("reads what is watched through to its end, page by page", async () => {
      const rows = Array.from({ length: perTier({ quick: 60, long: 230 }) }, (_, index) =>
        aRowIn("UNKNOWN", { dueAt: suiteNow - (index % 7) }),
      );
      await write(...rows, aRowIn("DIALING"));
      const found: DuePosition[] = [];
      for (let pages = 0; pages < 9; pages++) {
        const after = found.at(-1);
        found.push(
          ...((await dueOf("watch", {
            each: perTier({ quick: 25, long: 50 }),
            ...(after && { after }),
          })) ?? []),
        );
      }
      expect(found).toEqual(placesOf(rows));
    });

    it("lists the rows with pending events too, by receiver and delivery time", async () => {
      const receiver = "events:crm é 中 #1";
      const told = (deliverAt: number, more: Partial<CallRow> = {}) =>
        aRowIn("PLACED", { deliverTo: receiver, deliverAt, ...more });
      const rows = [told(suiteNow - 5), told(suiteNow - 9), told(suiteNow + 1)];
      const both = told(suiteNow, { lane: "results:twilio", dueAt: suiteNow - 1 });
      const other = told(suiteNow - 7, { deliverTo: "exhausted:*" });
      await write(...rows, both, other);
      const placed = ({ id, deliverAt }: CallRow) => ({ id, dueAt: deliverAt ?? Number.NaN });
      const eventsOf = async (key: string, after?: DuePosition) => {
        const backlogs = [{ key, after }];
        return (await ledger.due({ of: "events", lanes: backlogs, until: suiteNow, each: 9 }))[0];
      };
      const due = [...rows.slice(0, 2), both].map(placed).toSorted(byPosition);
      expect(await eventsOf(receiver)).toEqual(due);
      expect(await eventsOf(receiver, due[0])).toEqual(due.slice(1));
      expect(await eventsOf("exhausted:*")).toEqual([placed(other)]);
      expect(await eventsOf("results:twilio")).toEqual([]);
      expect(await dueOf(receiver, {})).toEqual([]);
      expect(await dueOf("results:twilio", {})).toEqual([{ id: both.id, dueAt: suiteNow - 1 }]);
      const next = changed(both, { deliverTo: null, deliverAt: null });
      await ledger.write([{ next, seen: both.version }]);
      expect(await eventsOf(receiver)).toEqual(due.slice(0, 2));
      expect(await readRow(ledger, both.id)).toEqual(next);
    });

    it("lists the rows with events for clients' own receivers separately", async () => {
      const list = "own:crm é 中/main";
      const told = { deliverTo: "events:crm", deliverAt: suiteNow };
      const late = aRowIn("PLACED", {
        ...told,
        clientReceiverTo: list,
        clientReceiverAt: suiteNow - 1,
      });
      const early = aRowIn("PLACED", { clientReceiverTo: list, clientReceiverAt: suiteNow - 2 });
      const other = aRowIn("PLACED", {
        clientReceiverTo: "own:crm é 中/",
        clientReceiverAt: suiteNow,
      });
      await write(
        late,
        early,
        other,
        aRowIn("PLACED", { clientReceiverTo: list, clientReceiverAt: suiteNow + 1 }),
      );
      const ownOf = async (key: string, after?: DuePosition) => {
        const backlogs = [{ key, after }];
        return (
          await ledger.due({
            of: "client-receiver-events",
            lanes: backlogs,
            until: suiteNow,
            each: 9,
          })
        )[0];
      };
      const placed = ({ id, clientReceiverAt = 0 }: CallRow) => ({ id, dueAt: clientReceiverAt });
      expect(await ownOf(list)).toEqual([placed(early), placed(late)]);
      expect(await ownOf(list, placed(early))).toEqual([placed(late)]);
      expect(await ownOf("own:crm é 中/")).toEqual([placed(other)]);
      expect(await readRow(ledger, late.id)).toEqual(late);
      const { clientReceiverTo: _, clientReceiverAt: __, ...rest } = changed(late, {});
      await ledger.write([
        {
          next: { ...rest, clientReceiverTo: undefined, clientReceiverAt: undefined },
          seen: late.version,
        },
      ]);
      expect(await ownOf(list)).toEqual([placed(early)]);
      const backlogs = [{ key: "events:crm" }];
      const due = await ledger.due({ of: "events", lanes: backlogs, until: suiteNow, each: 9 });
      expect(due).toEqual([[{ id: late.id, dueAt: suiteNow }]]);
      expect(await readRow(ledger, late.id)).toEqual(rest);
    });

    it("finds a row that is due far ahead, and none due at the epoch", async () => {
      const row = aRow({ dueAt: Date.UTC(9999, 0), lane: sales });
      await write(row);
      expect(await dueOf(sales, { until: Number.MAX_SAFE_INTEGER })).toEqual(placesOf([row]));
      expect(await dueOf(sales, { until: 0 })).toEqual([]);
    });
  });
}
