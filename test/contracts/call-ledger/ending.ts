import { readRows } from "#test/support/reads.ts";
import { beforeEach, describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { type CallState, callStates } from "#shared/calls/states.ts";
import { resultsLane } from "#shared/calls/lane.ts";
import { requestIdOf } from "#shared/calls/ids.ts";
import type { CallLedger, ListOf } from "#shared/ports/ledger.ts";
import {
  aRow,
  aRowIn,
  changed,
  idsOf,
  rowsOfOneRequest,
  suiteNow,
} from "#test/support/call-rows.ts";
import { readPages } from "./pages.ts";

const day = 86_400_000;

/** @param told states that `ended` reports; an engine that deletes rows by itself does not report the others */
export function describeEnding(
  name: string,
  create: () => Promise<CallLedger>,
  told: readonly CallState[],
): void {
  describe(`${name} as a call ledger: ending`, () => {
    let ledger: CallLedger;
    beforeEach(async () => {
      ledger = await create();
    });
    const write = (...rows: CallRow[]) => ledger.write(rows.map((next) => ({ next, seen: null })));
    const before = suiteNow - 50 * day;
    const acceptedAt = before - 1000;

    /** Reads what has ended, page by page. */
    const endedBy = async (limit: number) => {
      const read = (after: string | undefined, most: number) =>
        ledger.ended({ before, after, limit: most });
      return (await readPages(read, { limit, order: 1 })).rows;
    };

    it("reports old calls that have ended", async () => {
      const old = callStates.map((state, index) =>
        aRowIn(state, { acceptedAt: acceptedAt - index * day }),
      );
      const young = callStates.map((state) => aRowIn(state, { acceptedAt: before }));
      await write(...old, ...young);
      const rows = await endedBy(100);
      const expected = old.filter(({ state }) => told.includes(state)).toReversed();
      expect(rows).toEqual(expected.map(({ id, state }) => ({ id, state })));
    });

    it("uses the acceptance time, which a replay may have renewed since the id was made", async () => {
      const [renewed, old] = [
        aRowIn("REJECTED", { acceptedAt }),
        aRowIn("EXPIRED", { acceptedAt }),
      ];
      await write({ ...renewed, acceptedAt: before + 1 }, old);
      expect(idsOf(await endedBy(9))).toEqual([old.id]);
    });

    it("leaves out rows with pending events, for another ninety days", async () => {
      const untold = { deliverTo: "events:*", deliverAt: suiteNow };
      const used = aRowIn("REJECTED", {
        acceptedAt,
        deliverTo: "exhausted:*",
        deliverAt: suiteNow,
      });
      const old = aRowIn("REJECTED", { acceptedAt: acceptedAt - 90 * day, ...untold });
      await write(used, aRowIn("REJECTED", { acceptedAt, ...untold }), old);
      const found = idsOf(await endedBy(9));
      expect(found.toSorted()).toEqual([used.id, old.id].toSorted());
    });

    it("leaves out placed calls whose results are still to come, for another ninety days", async () => {
      const awaited = { lane: resultsLane({ account: "twilio" }), dueAt: suiteNow };
      const old = aRowIn("PLACED", { acceptedAt: acceptedAt - 90 * day, ...awaited });
      // An unresolved call is in `ended` however it is due, as its purge raises an alarm.
      const unknown = aRowIn("UNKNOWN", { acceptedAt });
      await write(aRowIn("PLACED", { acceptedAt, ...awaited }), old, unknown);
      const found = idsOf(await endedBy(9));
      const expected = [old, unknown].filter(({ state }) => told.includes(state));
      expect(found.toSorted()).toEqual(idsOf(expected).toSorted());
    });

    it("reports every row once, page by page", async () => {
      const rows = rowsOfOneRequest(23, { acceptedAt, state: "EXPIRED", lane: null });
      await write(...rows, aRowIn("EXPIRED"));
      expect(idsOf(await endedBy(5))).toEqual(idsOf(rows));
    });

    it("deletes rows, from every list too", async () => {
      const [gone, kept] = [aRowIn("UNKNOWN", { acceptedAt }), aRowIn("UNKNOWN", { acceptedAt })];
      await write(gone, kept);
      await ledger.purge([gone.id, aRow().id]);
      await ledger.purge([]);
      expect([...(await readRows(ledger, [gone.id, kept.id])).keys()]).toEqual([kept.id]);
      const listed = async (of: ListOf) =>
        idsOf(
          (await readPages((cursor, limit) => ledger.list({ ...of, before: cursor, limit }))).rows,
        );
      expect(await listed({ state: "UNKNOWN" })).toEqual([kept.id]);
      for (const list of [{ numberHash: gone.numberHash }, { requestId: requestIdOf(gone.id) }]) {
        expect(await listed(list)).toEqual([]);
      }
      const [places] = await ledger.due({ lanes: [{ key: "watch" }], until: suiteNow, each: 9 });
      expect(idsOf(places ?? [])).toEqual([kept.id]);
      expect(idsOf(await endedBy(9))).toEqual([kept.id]);
      // A deleted row reads as absent: it can be inserted, but not written over its former version.
      const anew = changed(gone);
      expect(await ledger.write([{ next: anew, seen: gone.version }])).toEqual([false]);
      expect(await ledger.write([{ next: anew, seen: null }])).toEqual([true]);
    });
  });
}
