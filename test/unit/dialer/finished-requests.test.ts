import { describe, expect, it } from "vitest";
import { withPortLimits } from "../../../functions/dialer/wiring.ts";
import { createEventsBench, failed, taken, tellFor } from "../../support/events-bench.ts";
import {
  aCallNow,
  boom,
  callsNow,
  putIn,
  request,
  rowOf,
  sendEach,
} from "../../support/dialer-calls.ts";
import { busy, completed, place } from "../../support/results-bench.ts";

describe("a finished request", () => {
  const finished = { types: ["request.finished"] };
  it("is told once all of its calls are over, with their counts", async () => {
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
    await tellFor(bench, 1);
    expect(bench.posted).toEqual([]);
    bench.record = async ({ id }) => (id.endsWith("3") ? busy : completed);
    await tellFor(bench, 20);
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
    await tellFor(bench, 200);
    expect(bench.posted).toHaveLength(1);
    expect(await bench.documents.list("request", { limit: 10 })).toEqual([]);
  });

  it("is tried again until it is taken", async () => {
    const bench = createEventsBench(finished);
    bench.record = async () => completed;
    bench.receive = async () => failed;
    await place(bench, 1);
    await tellFor(bench, 20);
    expect(bench.posted.length).toBeGreaterThanOrEqual(3);
    bench.receive = async () => taken;
    await tellFor(bench, 40);
    expect(new Set(bench.posted.map(({ id }) => id)).size).toBe(1);
    expect(await bench.documents.list("request", { limit: 10 })).toEqual([]);
  });

  it("is told once although a function that stood still notes it anew", async () => {
    const bench = createEventsBench(finished);
    bench.answer = async () => ({ kind: "rejected", code: "no_such_number" });
    const call = aCallNow(bench);
    await sendEach(bench, call);
    await bench.simulate(5, { firstSweepSeconds: 1000 });
    const first = await rowOf(bench, call);
    await tellFor(bench, 2);
    expect(bench.posted).toHaveLength(1);
    // It had read that the call has no row, and now writes what it has decided.
    const { ledger } = withPortLimits(bench.deps);
    expect(await ledger.write([{ next: { ...first, version: "late" }, seen: null }])).toEqual([
      false,
    ]);
    expect(await bench.documents.list("request", { limit: 10 })).toHaveLength(1);
    await tellFor(bench, 10);
    expect(bench.posted).toHaveLength(1);
    expect(await bench.documents.list("request", { limit: 10 })).toEqual([]);
  });

  it("waits for a call that is not over, though one before it is", async () => {
    const bench = createEventsBench(finished);
    const first = { ...aCallNow(bench), batchCalls: 2 };
    const second = { ...first, id: first.id.replace(/0$/, "1") };
    await putIn(bench, "REJECTED", first);
    const open = await putIn(bench, "WAITING", second, { dueAt: bench.now() + 3_600_000 });
    const { ledger } = withPortLimits(bench.deps);
    const row = await rowOf(bench, first);
    await bench.rows.purge([first.id]);
    await ledger.write([{ next: { ...row, version: "n1" }, seen: null }]);
    await tellFor(bench, 3);
    expect(bench.posted).toEqual([]);
    const expired = {
      ...open,
      version: "e1",
      state: "EXPIRED",
      backlog: null,
      dueAt: null,
    } as const;
    await ledger.write([{ next: expired, seen: open.version }]);
    bench.receive = async () => (bench.posted.length < 3 ? failed : taken);
    await tellFor(bench, 4);
    // At once and five seconds later; the third try has to wait for five minutes.
    expect(bench.posted).toHaveLength(2);
    await tellFor(bench, 6);
    expect(bench.posted).toHaveLength(3);
    expect(bench.posted[0]?.body.data["counts"]).toMatchObject({
      by_state: { REJECTED: 1, EXPIRED: 1 },
    });
  });

  it("waits for rows that are not written yet", async () => {
    const bench = createEventsBench(finished);
    const call = { ...aCallNow(bench), batchCalls: 2 };
    bench.answer = async () => ({ kind: "rejected", code: "no_such_number" });
    await bench.send({ ...request([call]), batchCalls: 2 });
    await bench.simulate(5, { firstSweepSeconds: 1000 });
    await tellFor(bench, 3);
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
