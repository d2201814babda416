import { describe, expect, it } from "vitest";
import { createEventsBench, failed, taken, tellFor } from "../../support/events-bench.ts";
import { callsNow, request } from "../../support/dialer-calls.ts";
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
});
