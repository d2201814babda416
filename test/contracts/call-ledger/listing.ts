import { beforeEach, describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { callStates } from "#shared/calls/states.ts";
import { requestIdOf } from "#shared/calls/ids.ts";
import type { CallLedger, ListOf } from "#shared/ports/ledger.ts";
import {
  aLaterRow,
  aNumberHash,
  aRow,
  aRowIn,
  changed,
  idsOf,
  newestFirst,
  rowsOfOneRequest,
  suiteNow,
} from "#test/support/call-rows.ts";
import { readPages } from "./pages.ts";
import { perTier, inSlowTier } from "#test/support/per-tier.ts";

const hour = 3_600_000;

export function describeListing(
  name: string,
  create: (keptDays: number) => Promise<CallLedger>,
): void {
  describe(`${name} as a call ledger: listing`, () => {
    let ledger: CallLedger;
    beforeEach(async () => {
      ledger = await create(1 / 24);
    });
    const write = (...rows: CallRow[]) => ledger.write(rows.map((next) => ({ next, seen: null })));

    /** Reads all rows of a list, page by page. */
    const through = async (of: ListOf, limit: number, from?: string) =>
      (await readThrough(of, limit, from)).rows;
    const readThrough = (of: ListOf, limit: number, from?: string) =>
      readPages((before, most) => ledger.list({ ...of, before, limit: most }), { limit, from });

    it("lists each state, a number, a request and all, newest first, whole rows", async () => {
      const numberHash = aNumberHash();
      const rows = callStates.flatMap((state) => [
        aRowIn(state, { acceptedAt: suiteNow - 2000 }),
        aRowIn(state, { acceptedAt: suiteNow - 1000, numberHash }),
      ]);
      const batch = rowsOfOneRequest(3, { acceptedAt: suiteNow - 1000 });
      await write(...rows, ...batch);
      const all = [...rows, ...batch];
      const list = async (of: ListOf) => {
        const { rows: listed, unreadable } = await readThrough(of, 100);
        expect(unreadable).toBe(0);
        return listed;
      };
      for (const state of callStates) {
        const listed = await list({ state });
        expect(idsOf(listed)).toEqual(newestFirst(all.filter((row) => row.state === state)));
        const [first] = listed;
        expect(first).toEqual(all.find(({ id }) => id === first?.id));
      }
      const toNumber = rows.filter((row) => row.numberHash === numberHash);
      expect(idsOf(await list({ numberHash }))).toEqual(newestFirst(toNumber));
      expect(idsOf(await list({ all: true }))).toEqual(newestFirst(all));
      const [first = aRow()] = batch;
      expect(idsOf(await list({ requestId: requestIdOf(first.id) }))).toEqual(newestFirst(batch));
      expect(await list({ requestId: requestIdOf(aRow().id) })).toEqual([]);
      expect(await list({ requestId: "no id" })).toEqual([]);
      expect(await list({ numberHash: aNumberHash() })).toEqual([]);
    });

    it("lists requests by client, campaign and agent, whatever becomes of their calls", async () => {
      const [client, campaign] = [aNumberHash(), aNumberHash()];
      const [agentId, other] = [aNumberHash(), aNumberHash()];
      const first = { client, agentId, first: "request" } as const;
      const batch = rowsOfOneRequest(40, { client, agentId, labels: { campaign } }).map(
        (row, index) => {
          if (index === 0) return { ...row, first: "request" as const };
          return index === 7 ? { ...row, agentId: other, first: "agent" as const } : row;
        },
      );
      const later = Array.from({ length: 5 }, (_, index) =>
        aRow({ ...first, acceptedAt: suiteNow - 20_000 + index }),
      );
      const foreign = aRow({
        ...first,
        client: `${client}2`,
        labels: { campaign },
        acceptedAt: suiteNow - 1000,
      });
      await write(...batch, ...later, foreign);
      const [head = aRow(), seventh = aRow()] = batch.filter((row) => row.first !== undefined);
      for (let turn = 0; turn < 2; turn++) {
        for (const limit of [2, 100]) {
          const list = async (of: ListOf) => idsOf(await through(of, limit));
          expect(await list({ client })).toEqual(newestFirst([...later, head]));
          expect(await list({ client, campaign })).toEqual([head.id]);
          expect(await list({ client, campaign: client })).toEqual([]);
          expect(await list({ campaign })).toEqual(newestFirst([foreign, head]));
          expect(await list({ agentId })).toEqual(newestFirst([foreign, ...later, head]));
          expect(await list({ agentId: other })).toEqual([seventh.id]);
          expect(await list({ client: aNumberHash() })).toEqual([]);
          expect(await list({ campaign: client })).toEqual([]);
        }
        const [placed] = await ledger.write([
          {
            next: changed(head, { state: "PLACED", lane: null, dueAt: null }),
            seen: head.version,
          },
        ]);
        expect(placed).toBe(turn === 0);
      }
      expect((await through({ campaign }, 9)).at(-1)).toMatchObject({
        id: head.id,
        state: "PLACED",
        labels: { campaign },
        first: "request",
      });
    });

    it("yields every row once, page by page", async () => {
      const numberHash = aNumberHash();
      const count = perTier({ quick: 8, long: 16 });
      const batch = rowsOfOneRequest(count, { numberHash, state: "REJECTED", lane: null });
      const rows = [
        ...batch,
        ...Array.from({ length: Math.ceil(count / 2) }, (_, index) =>
          aRow({ acceptedAt: suiteNow - 60_000 - index, numberHash }),
        ),
        ...rowsOfOneRequest(count, { numberHash, state: "PLACED", lane: null, dueAt: null }),
      ];
      await write(...rows);
      const requestId = requestIdOf(batch[0]?.id ?? "");
      for (const limit of [7, 25].slice(0, perTier({ quick: 1, long: 2 }))) {
        for (const [of, listed] of [
          [{ state: "REJECTED" }, batch],
          [{ state: "WAITING" }, rows.filter(({ state }) => state === "WAITING")],
          [{ numberHash }, rows],
          [{ requestId }, batch],
          [{ all: true }, rows],
        ] satisfies [ListOf, CallRow[]][]) {
          expect([of, idsOf(await through(of, limit))]).toEqual([of, newestFirst(listed)]);
        }
      }
    });

    it("lists a state that operators look after oldest first, page by page", async () => {
      const rows = [0, 1, 40, 900].flatMap((hours) =>
        Array.from({ length: 3 }, (_, n) =>
          aRowIn("NEEDS_REVIEW", { acceptedAt: suiteNow - hours * hour - n }),
        ),
      );
      await write(...rows, aRowIn("UNKNOWN"), aRowIn("PLACED"));
      const oldestFirst = newestFirst(rows).toReversed();
      for (const limit of [5, 12, 100]) {
        const { rows: listed, unreadable } = await readPages(
          (after, most) => ledger.listOldest({ state: "NEEDS_REVIEW", after, limit: most }),
          { limit, order: 1 },
        );
        expect([idsOf(listed), unreadable]).toEqual([oldestFirst, 0]);
        expect(listed[0]).toEqual(rows.find(({ id }) => id === oldestFirst[0]));
      }
      expect((await ledger.listOldest({ state: "REJECTED", limit: 5 })).rows).toEqual([]);
    });

    it("begins below an id, whether or not there is a call of it", async () => {
      const rows = Array.from({ length: 6 }, (_, index) =>
        aRowIn("EXPIRED", { acceptedAt: suiteNow - 1000 * index }),
      );
      await write(...rows);
      const [, , third = aRow()] = rows;
      for (const filter of [{ state: "EXPIRED" }, { all: true }] as const) {
        expect(idsOf(await through(filter, 2, third.id))).toEqual(idsOf(rows.slice(3)));
        expect(idsOf(await through(filter, 2, `${third.id}!`))).toEqual(idsOf(rows.slice(2)));
        expect(await through(filter, 2, "call_0")).toEqual([]);
      }
    });

    it("continues past many hours without calls", async () => {
      ledger = await create(2);
      const rows = [0, 40 * hour].map((age) => aRowIn("PLACED", { acceptedAt: suiteNow - age }));
      await write(...rows);
      expect(idsOf(await through({ all: true }, 9))).toEqual(newestFirst(rows));
    });

    it("finds the few among many, and what lies days apart", inSlowTier, async () => {
      ledger = await create(10);
      const many = rowsOfOneRequest(700, { state: "PLACED", lane: null, dueAt: null });
      const few = [0, 3 * hour, 40 * hour, 9 * 24 * hour].map((age) =>
        aRow({ acceptedAt: suiteNow - age, state: "CANCELLED", lane: null, dueAt: null }),
      );
      await write(...many, ...few);
      expect(idsOf(await through({ state: "CANCELLED" }, 3))).toEqual(newestFirst(few));
      expect(await through({ state: "DIALING" }, 3)).toEqual([]);
      expect(await through({ all: true }, 100)).toHaveLength(704);
    });

    it("lists a call in the state that it is in now", async () => {
      const row = aRowIn("UNKNOWN");
      await write(row);
      await ledger.write([{ next: changed(row, { state: "NEEDS_REVIEW" }), seen: row.version }]);
      expect(await through({ state: "UNKNOWN" }, 10)).toEqual([]);
      expect(idsOf(await through({ state: "NEEDS_REVIEW" }, 10))).toEqual([row.id]);
    });

    it("passes over rows that only a later version can read, and says how many", async () => {
      const numberHash = aNumberHash();
      const [batchRow = aRow(), second = aRow()] = rowsOfOneRequest(2, { numberHash });
      await write(batchRow, aLaterRow({ id: second.id, numberHash }));
      for (const filter of [
        { numberHash },
        { requestId: requestIdOf(batchRow.id) },
        { all: true },
      ] as const) {
        const { rows, unreadable } = await readThrough(filter, 10);
        expect([idsOf(rows), unreadable]).toEqual([[batchRow.id], 1]);
        expect(idsOf(await through(filter, 1))).toEqual([batchRow.id]);
      }
    });
  });
}
