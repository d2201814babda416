import { readRow, readRows } from "#test/support/reads.ts";
import * as fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { attentionStates, callStates } from "#shared/calls/states.ts";
import type { CallLedger, Change } from "#shared/ports/ledger.ts";
import { createMemoryLedger } from "#test/support/memory-ledger.ts";
import {
  aNumberHash,
  aRow,
  aRowIn,
  changed,
  dialingBacklog,
  rowsOfOneRequest,
  suiteNow,
} from "#test/support/call-rows.ts";
import { readPages } from "./pages.ts";
import { perTier } from "#test/support/per-tier.ts";

const dueBacklogs = ['["crm","agent_sales"]', '["crm","agent_support"]', "watch"];
const backlogs = [...dueBacklogs, dialingBacklog];

export function describeWriting(
  name: string,
  create: () => Promise<CallLedger>,
  { runs }: { runs: number },
): void {
  describe(`${name} as a call ledger: writing`, () => {
    let ledger: CallLedger;
    beforeEach(async () => {
      ledger = await create();
    });
    const current = async ({ id }: CallRow) => await readRow(ledger, id);

    it("writes a row where there is none, and refuses another's first write", async () => {
      const row = aRow();
      expect(await ledger.write([{ next: row, seen: null }])).toEqual([true]);
      expect(await ledger.write([{ next: changed(row), seen: null }])).toEqual([false]);
      expect(await current(row)).toEqual(row);
      expect(await ledger.write([])).toEqual([]);
    });

    it("overwrites only the version that was read", async () => {
      const first = aRow();
      const second = changed(first, {
        state: "DIALING",
        lane: dialingBacklog,
        dueAt: suiteNow + 1,
      });
      const late = changed(first, { state: "CANCELLED", lane: null, dueAt: null });
      const unread = changed(aRow());
      await ledger.write([{ next: first, seen: null }]);
      const changes = [
        { next: second, seen: first.version },
        { next: unread, seen: "a version that never was" },
      ];
      expect(await ledger.write(changes)).toEqual([true, false]);
      expect(await ledger.write([{ next: late, seen: first.version }])).toEqual([false]);
      expect(await current(first)).toEqual(second);
      expect(await current(unread)).toBeUndefined();
    });

    it("answers a repeated write with true as long as it stands", async () => {
      const first = { next: aRow(), seen: null };
      const second = { next: changed(first.next), seen: first.next.version };
      expect(await ledger.write([first])).toEqual([true]);
      expect(await ledger.write([first])).toEqual([true]);
      expect(await ledger.write([second])).toEqual([true]);
      expect(await ledger.write([second])).toEqual([true]);
      expect(await ledger.write([first])).toEqual([false]);
      expect(await current(first.next)).toEqual(second.next);
    });

    it("applies two changes of one id as two writes, in order", async () => {
      const [claim, other] = [aRow(), aRow()];
      const rival = changed(claim);
      const settled = changed(claim, { state: "PLACED", lane: null, dueAt: null });
      const otherSettled = changed(other);
      const changes = [
        { next: otherSettled, seen: other.version }, // written before the row whose version it names
        { next: claim, seen: null },
        { next: rival, seen: null },
        { next: settled, seen: claim.version },
        { next: other, seen: null },
      ];
      expect(await ledger.write(changes)).toEqual([false, true, false, true, true]);
      expect(await current(claim)).toEqual(settled);
      expect(await current(other)).toEqual(other);
      // A repeated write is judged by the row that stands at its turn.
      expect(await ledger.write(changes)).toEqual([true, false, false, true, false]);
    });

    it("writes many rows at once, also repeated, and reports which were refused", async () => {
      const rows = rowsOfOneRequest(perTier({ quick: 130, long: 500 }));
      const changes = rows.map((next) => ({ next, seen: null }));
      expect(new Set(await ledger.write(changes))).toEqual(new Set([true]));
      expect(new Set(await ledger.write(changes))).toEqual(new Set([true]));
      const mixed = rows.map((row, index) => ({
        next: changed(row, { state: "PLACED", lane: null, dueAt: null }),
        seen: index % 3 === 0 ? "stale" : row.version,
      }));
      expect(await ledger.write(mixed)).toEqual(rows.map((_, index) => index % 3 !== 0));
      const found = await readRows(
        ledger,
        rows.map(({ id }) => id),
      );
      expect([...found.values()].filter(({ state }) => state === "PLACED")).toHaveLength(
        Math.floor((rows.length * 2) / 3),
      );
    });

    it("writes large rows, many at once", async () => {
      const context = Object.fromEntries(
        Array.from({ length: 100 }, (_, key) => [`key ${key}`, "é".repeat(160)]),
      );
      const request = { phone_number: "+12025550123", agent_id: "agent_sales", context };
      const rows = rowsOfOneRequest(40, { request });
      const written = await ledger.write(rows.map((next) => ({ next, seen: null })));
      expect(new Set(written)).toEqual(new Set([true]));
      const found = await readRows(
        ledger,
        rows.map(({ id }) => id),
      );
      expect(rows.map(({ id }) => found.get(id))).toEqual(rows);
    });

    it("lets one of twenty rivals write", async () => {
      const first = aRow();
      const rivalsOver = (seen: string | null) =>
        Promise.all(
          Array.from({ length: 20 }, () => ledger.write([{ next: changed(first), seen }])),
        );
      expect((await rivalsOver(null)).flat().filter(Boolean)).toHaveLength(1);
      const row = await current(first);
      expect((await rivalsOver(row?.version ?? "")).flat().filter(Boolean)).toHaveLength(1);
    });

    it("loses no write of writers who read again after a refusal", async () => {
      const row = aRow();
      await ledger.write([{ next: row, seen: null }]);
      const addOne = async () => {
        for (;;) {
          const seen = await current(row);
          if (seen === undefined) throw new Error("the row is gone");
          const next = changed(seen, { attempt: seen.attempt + 1 });
          if ((await ledger.write([{ next, seen: seen.version }]))[0] === true) return;
        }
      };
      await Promise.all(Array.from({ length: 8 }, addOne));
      expect((await current(row))?.attempt).toBe(8);
    });

    it("equals the ledger in memory after any writes of several writers", async () => {
      await fc.assert(
        fc.asyncProperty(stepLists, async (steps) => {
          const [tried, model] = [await create(), createMemoryLedger()];
          const calls = rowsOfOneRequest(3).concat(rowsOfOneRequest(2));
          const numberHash = aNumberHash();
          let versions = 0;
          const writers = Array.from({ length: 3 }, () => new Map<string, string>());
          const latest = new Map<string, Change>();
          for (const { writer, isRead, writes } of steps) {
            const known = writers[writer] ?? new Map<string, string>();
            if (isRead) {
              const rows = await readRows(
                tried,
                calls.map(({ id }) => id),
              );
              for (const row of rows.values()) known.set(row.id, row.version);
            }
            const changes = writes.map(({ call, isRepeated, state, ...place }): Change => {
              const base = calls[call] ?? aRow();
              const repeated = latest.get(`${writer} ${base.id}`);
              if (isRepeated && repeated !== undefined) return repeated;
              const next = {
                ...aRowIn(state, { id: base.id, numberHash }),
                version: `v${++versions}`,
                lane: backlogs[place.backlog] ?? null,
                dueAt: backlogs[place.backlog] === undefined ? null : suiteNow + place.dueAt,
              };
              const change = { next, seen: known.get(base.id) ?? null };
              latest.set(`${writer} ${base.id}`, change);
              return change;
            });
            const written = await tried.write(changes);
            expect(written).toEqual(await model.write(changes));
            for (const [index, { next }] of changes.entries()) {
              if (written[index] === true) known.set(next.id, next.version);
            }
          }
          expect(await viewOf(tried, calls, numberHash)).toEqual(
            await viewOf(model, calls, numberHash),
          );
        }),
        { numRuns: runs },
      );
    });
  });
}

/** Steps of three writers, one after another. Each writes by the version it knows, which may be outdated. */
const stepLists = fc.array(
  fc.record({
    writer: fc.nat(2),
    isRead: fc.boolean(),
    writes: fc.array(
      fc.record({
        call: fc.nat(4),
        isRepeated: fc.boolean(),
        state: fc.constantFrom(...callStates),
        backlog: fc.nat(backlogs.length),
        dueAt: fc.nat(3),
      }),
      { minLength: 1, maxLength: 6 },
    ),
  }),
  { minLength: 1, maxLength: 10 },
);

/** States of each kind of list: by an index, and by time. */
const listedStates = [...attentionStates, "WAITING", "PLACED"] as const;

/** Reads everything that a ledger returns about these calls. */
async function viewOf(ledger: CallLedger, calls: CallRow[], numberHash: string) {
  const ids = calls.map(({ id }) => id);
  const lists = await Promise.all(
    [
      ...listedStates.map((state) => ({ state })),
      { numberHash },
      { all: true } as const,
      { requestId: (ids[0] ?? "").slice(5, 31) },
    ].map((of) => readPages((before, limit) => ledger.list({ ...of, before, limit }))),
  );
  const until = suiteNow + 2;
  const after = { dueAt: suiteNow, id: ids[1] ?? "" };
  return {
    read: (await ledger.read(ids)).rows.toSorted((one, other) => (one.id < other.id ? -1 : 1)),
    lists: lists.map(({ rows }) => rows),
    dialing: (await ledger.dialing(100)).toSorted((one, other) => (one.id < other.id ? -1 : 1)),
    due: await ledger.due({ lanes: dueBacklogs.map((key) => ({ key })), until, each: 3 }),
    dueAfter: await ledger.due({
      lanes: dueBacklogs.map((key) => ({ key, after })),
      until,
      each: 9,
    }),
  };
}
