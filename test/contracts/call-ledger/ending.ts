import { beforeEach, describe, expect, it } from "vitest";
import type { CallRow } from "../../../shared/calls/call-row.ts";
import { type CallState, callStates } from "../../../shared/calls/states.ts";
import { requestIdOf } from "../../../shared/calls/ids.ts";
import type { CallLedger } from "../../../shared/ports/ledger.ts";
import {
  aRow,
  aRowIn,
  changed,
  idsOf,
  rowsOfOneRequest,
  suiteNow,
} from "../../support/call-rows.ts";

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

    it("reports old calls that have ended", async () => {
      const old = callStates.map((state, index) =>
        aRowIn(state, { acceptedAt: acceptedAt - index * day }),
      );
      const young = callStates.map((state) => aRowIn(state, { acceptedAt: before }));
      await write(...old, ...young);
      const { rows, next } = await ledger.ended({ before, limit: 100 });
      const expected = old.filter(({ state }) => told.includes(state)).toReversed();
      expect(rows).toEqual(expected.map(({ id, state }) => ({ id, state })));
      expect(next).toBeUndefined();
    });

    it("goes by the acceptance time, which a replay may have renewed since the id was made", async () => {
      const [renewed, old] = [
        aRowIn("REJECTED", { acceptedAt }),
        aRowIn("EXPIRED", { acceptedAt }),
      ];
      await write({ ...renewed, acceptedAt: before + 1 }, old);
      expect(idsOf((await ledger.ended({ before, limit: 9 })).rows)).toEqual([old.id]);
    });

    it("leaves out rows with events to tell, for another ninety days", async () => {
      const untold = { deliverTo: "events:*", deliverAt: suiteNow };
      const used = aRowIn("REJECTED", {
        acceptedAt,
        deliverTo: "exhausted:*",
        deliverAt: suiteNow,
      });
      const old = aRowIn("REJECTED", { acceptedAt: acceptedAt - 90 * day, ...untold });
      await write(used, aRowIn("REJECTED", { acceptedAt, ...untold }), old);
      const found = idsOf((await ledger.ended({ before, limit: 9 })).rows);
      expect(found.toSorted()).toEqual([used.id, old.id].toSorted());
    });

    it("reports every row once, page by page", async () => {
      const rows = rowsOfOneRequest(23, { acceptedAt, state: "EXPIRED", backlog: null });
      await write(...rows, aRowIn("EXPIRED"));
      const found: string[] = [];
      let after: string | undefined;
      do {
        const page = await ledger.ended({ before, after, limit: 5 });
        found.push(...idsOf(page.rows));
        after = page.next;
      } while (after !== undefined && found.length < 100);
      expect(found).toEqual(idsOf(rows));
    });

    it("deletes rows, from every list too", async () => {
      const [gone, kept] = [aRowIn("UNKNOWN", { acceptedAt }), aRowIn("UNKNOWN", { acceptedAt })];
      await write(gone, kept);
      await ledger.purge([gone.id, aRow().id]);
      await ledger.purge([]);
      expect([...(await ledger.read([gone.id, kept.id])).rows.keys()]).toEqual([kept.id]);
      expect(idsOf((await ledger.list({ state: "UNKNOWN", limit: 9 })).rows)).toEqual([kept.id]);
      for (const filter of [{ numberHash: gone.numberHash }, { requestId: requestIdOf(gone.id) }]) {
        expect((await ledger.list({ ...filter, limit: 9 })).rows).toEqual([]);
      }
      const [places] = await ledger.due({ backlogs: [{ key: "watch" }], until: suiteNow, each: 9 });
      expect(idsOf(places ?? [])).toEqual([kept.id]);
      expect(idsOf((await ledger.ended({ before, limit: 9 })).rows)).toEqual([kept.id]);
      // A deleted row reads as absent: it can be inserted, but not written over its former version.
      const anew = changed(gone);
      expect(await ledger.write([{ next: anew, seen: gone.version }])).toEqual([false]);
      expect(await ledger.write([{ next: anew, seen: null }])).toEqual([true]);
    });
  });
}
