import { readyDeps } from "#test/support/entries.ts";
import { toRowsRead } from "#shared/ports/unreadable.ts";
import { describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import type { CallState } from "#shared/calls/states.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { createEventsBench, failed, taken, deliverFor } from "#test/support/events-bench.ts";
import {
  aCallNow,
  type Bench,
  boom,
  callsNow,
  putIn,
  request,
  rowOf,
  sendEach,
} from "#test/support/dialer-calls.ts";
import { busy, completed, minuteMs, place } from "#test/support/results-bench.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

describe("a finished request", () => {
  const finished = { types: ["request.finished"] };
  it("is reported once all of its calls are over, with their counts", inSlowTier, async () => {
    const bench = createEventsBench(finished);
    const [first, ...rest] = callsNow(bench, 1).flatMap((call) =>
      Array.from({ length: 40 }, (_, index) => ({
        ...call,
        id: call.id.replace(/\d{5}$/, String(index).padStart(5, "0")),
        batchCalls: 40,
        request: { ...call.request, phone_number: `+1303555${String(index).padStart(4, "0")}` },
      })),
    );
    if (first === undefined) throw new Error("there are 40 calls");
    bench.answer = async ({ id }) =>
      id.endsWith("7") ? { kind: "rejected", code: "no" } : { kind: "placed", providerCallId: id };
    await bench.send(request([first, ...rest]));
    await bench.simulate(60, { firstSweepSeconds: 1000 });
    await deliverFor(bench, 1);
    expect(bench.posted).toEqual([]);
    bench.record = async ({ id }) => (id.endsWith("3") ? busy : completed);
    await deliverFor(bench, 20);
    expect(bench.posted).toMatchObject([
      {
        id: `${first.requestId}.finished`,
        body: {
          type: "request.finished",
          data: {
            request_id: first.requestId,
            total: 40,
            counts: {
              by_state: { PLACED: 36, REJECTED: 4 },
              by_result: { completed: 32, busy: 4 },
            },
          },
        },
      },
    ]);
    await deliverFor(bench, 200);
    expect(bench.posted).toHaveLength(1);
    expect(await bench.documents.list("request", { limit: 10 })).toEqual([]);
  });

  /** Puts the rows of a request that were written before this one's, and returns them. */
  const putAll = async (bench: Bench, states: readonly CallState[]) => {
    const first = { ...aCallNow(bench), batchCalls: states.length };
    const rows: CallRow[] = [];
    for (const [index, state] of states.entries()) {
      rows.push(await putIn(bench, state, { ...first, id: toCallId(first.requestId, index) }));
    }
    const { ledger } = readyDeps(bench.deps);
    const row = await rowOf(bench, { id: first.id });
    await bench.rows.purge([first.id]);
    await ledger.write([{ next: { ...row, version: "n1" }, seen: null }]);
    const changeTo = async (index: number, changed: Partial<CallRow>) => {
      const current = await rowOf(bench, { id: toCallId(first.requestId, index) });
      const next = { ...current, ...changed, version: `${current.version}+` };
      expect(await bench.rows.write([{ next, seen: current.version }])).toEqual([true]);
    };
    return { rows, changeTo };
  };
  const ended = { lane: null, dueAt: null };

  it("is counted as its calls are when the last one is over, not when each was", async () => {
    const bench = createEventsBench(finished);
    const { changeTo } = await putAll(bench, ["NEEDS_REVIEW", "REJECTED", "WAITING"]);
    await deliverFor(bench, 3);
    expect(bench.posted).toEqual([]);
    // Its provider tells of it late, and of how it ended.
    await changeTo(0, { state: "PLACED", ...ended, result: completed });
    bench.advance(60 * minuteMs);
    await changeTo(2, { state: "EXPIRED", ...ended });
    await deliverFor(bench, 2);
    expect(bench.posted.map(({ body }) => body.data["counts"])).toEqual([
      { by_state: { PLACED: 1, REJECTED: 1, EXPIRED: 1 }, by_result: { completed: 1 } },
    ]);
  });

  it("waits for a call that was over and is not any more", async () => {
    const bench = createEventsBench(finished);
    const { changeTo } = await putAll(bench, ["NEEDS_REVIEW", "REJECTED", "WAITING"]);
    await deliverFor(bench, 3);
    // It was placed after all, and its result is waited for.
    const soon = bench.now() + 10 * minuteMs;
    await changeTo(0, { state: "PLACED", lane: "results:none", dueAt: soon });
    await changeTo(2, { state: "EXPIRED", ...ended });
    await deliverFor(bench, 5);
    expect(bench.posted).toEqual([]);
    await changeTo(0, { ...ended, result: busy });
    await deliverFor(bench, 2);
    expect(bench.posted.map(({ body }) => body.data["counts"])).toEqual([
      { by_state: { PLACED: 1, REJECTED: 1, EXPIRED: 1 }, by_result: { busy: 1 } },
    ]);
  });

  it(
    "of ten thousand calls is counted by one sweep, and a few of them by each",
    inSlowTier,
    async () => {
      const bench = createEventsBench(finished);
      const { ledger } = readyDeps(bench.deps);
      let row: CallRow | undefined;
      for (let n = 0; n < 7; n++) {
        row = await putIn(bench, "REJECTED", { ...aCallNow(bench), batchCalls: 10_000 });
        await bench.rows.purge([row.id]);
        await ledger.write([{ next: { ...row, version: "n1" }, seen: null }]);
      }
      let read = 0;
      const readAny = async (ids: readonly string[]) => {
        read += ids.length;
        return toRowsRead(
          ids.flatMap((id) => (row === undefined ? [] : { ...row, id })),
          [],
        );
      };
      bench.breakLedger({ read: readAny, readWithoutContext: readAny });
      const reads: number[] = [];
      for (let minute = 0; minute < 2; minute++) {
        read = 0;
        await deliverFor(bench, 1);
        reads.push(read);
      }
      expect(Math.max(...reads)).toBeLessThan(51_000);
      expect(bench.posted.map(({ body }) => body.data["counts"])).toEqual(
        Array.from({ length: 7 }, () => ({ by_state: { REJECTED: 10_000 }, by_result: {} })),
      );
    },
  );

  it("is tried again until it is taken", async () => {
    const bench = createEventsBench(finished);
    bench.record = async () => completed;
    bench.receive = async () => failed;
    await place(bench, 1);
    await deliverFor(bench, 20);
    expect(bench.posted.length).toBeGreaterThanOrEqual(3);
    bench.receive = async () => taken;
    await deliverFor(bench, 40);
    expect(new Set(bench.posted.map(({ id }) => id)).size).toBe(1);
    expect(await bench.documents.list("request", { limit: 10 })).toEqual([]);
  });

  it("is reported once, though a stalled function notes it again", async () => {
    const bench = createEventsBench(finished);
    bench.answer = async () => ({ kind: "rejected", code: "no_such_number" });
    const call = aCallNow(bench);
    await sendEach(bench, call);
    await bench.simulate(5, { firstSweepSeconds: 1000 });
    const first = await rowOf(bench, call);
    await deliverFor(bench, 2);
    expect(bench.posted).toHaveLength(1);
    // It had read that the call has no row, and now writes what it has decided.
    const { ledger } = readyDeps(bench.deps);
    expect(await ledger.write([{ next: { ...first, version: "late" }, seen: null }])).toEqual([
      false,
    ]);
    expect(await bench.documents.list("request", { limit: 10 })).toHaveLength(1);
    await deliverFor(bench, 10);
    expect(bench.posted).toHaveLength(1);
    expect(await bench.documents.list("request", { limit: 10 })).toEqual([]);
  });

  it("waits for a call that is not over, though one before it is", async () => {
    const bench = createEventsBench(finished);
    const first = { ...aCallNow(bench), batchCalls: 2 };
    const second = { ...first, id: first.id.replace(/0$/, "1") };
    await putIn(bench, "REJECTED", first);
    const open = await putIn(bench, "WAITING", second, { dueAt: bench.now() + 3_600_000 });
    const { ledger } = readyDeps(bench.deps);
    const row = await rowOf(bench, first);
    await bench.rows.purge([first.id]);
    await ledger.write([{ next: { ...row, version: "n1" }, seen: null }]);
    await deliverFor(bench, 3);
    expect(bench.posted).toEqual([]);
    const expired = {
      ...open,
      version: "e1",
      state: "EXPIRED",
      lane: null,
      dueAt: null,
    } as const;
    await ledger.write([{ next: expired, seen: open.version }]);
    bench.receive = async () => (bench.posted.length < 3 ? failed : taken);
    await deliverFor(bench, 4);
    // At once and five seconds later; the third try has to wait for five minutes.
    expect(bench.posted).toHaveLength(2);
    await deliverFor(bench, 6);
    expect(bench.posted).toHaveLength(3);
    expect(bench.posted[0]?.body.data["counts"]).toMatchObject({
      by_state: { REJECTED: 1, EXPIRED: 1 },
    });
  });

  it("waits for rows that are not written yet", async () => {
    const bench = createEventsBench(finished);
    const call = aCallNow(bench);
    const second = { ...call, id: call.id.replace(/0$/, "1") };
    bench.answer = async () => ({ kind: "rejected", code: "no_such_number" });
    const { write } = bench.deps.ledger;
    bench.breakLedger({
      write: async (changes) =>
        changes.some(({ next }) => next.id === second.id) ? boom() : write(changes),
    });
    await bench.send(request([call, second]));
    await bench.simulate(5, { firstSweepSeconds: 1000 });
    await deliverFor(bench, 3);
    expect(bench.posted).toEqual([]);
  });

  it("has no row written if it could not be noted", async () => {
    const bench = createEventsBench(finished);
    bench.breakDocuments({
      write: async (changes) =>
        changes.some(({ next }) => next.kind === "request")
          ? boom()
          : bench.documents.write(changes),
    });
    const call = aCallNow(bench);
    await sendEach(bench, call);
    await bench.deliver();
    expect(await bench.row(call.id)).toBeUndefined();
    expect(bench.dialed).toEqual([]);
  });
});
