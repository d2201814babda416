import { describe, expect, it } from "vitest";
import { toCallId, indexOf } from "#shared/calls/ids.ts";
import { toIndexSet } from "#shared/calls/index-set.ts";
import { aRequestId } from "#test/support/calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  callsNow,
  callTo,
  cancel,
  numberOf,
  request,
  rowOf,
  rowsIn,
  sendEach,
  stateOf,
  statesOf,
} from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

describe("a client's cancellation", () => {
  it("ends the calls of its request that no dialer has seen yet", async () => {
    const bench = createDialerBench();
    const call = callTo("agent_sales");
    await cancel(bench, { request: call.requestId }, { client: call.client });
    await sendEach(bench, call);
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "CANCELLED", reason: "client" });
  });

  it("is reported as the operator's if an operator has cancelled too", async () => {
    const bench = createDialerBench();
    const call = callTo("agent_sales");
    await cancel(bench, { agent: "agent_sales" }, { at: call.acceptedAt });
    await cancel(bench, { request: call.requestId }, { client: call.client });
    await sendEach(bench, call);
    await bench.deliver();
    expect(await rowOf(bench, call)).toMatchObject({ state: "CANCELLED", reason: "operator" });
  });

  it("ends nobody else's calls, though it names their request", async () => {
    const bench = createDialerBench();
    const call = callTo("agent_sales");
    await cancel(bench, { request: call.requestId }, { client: "shop" });
    await sendEach(bench, call);
    await bench.deliver();
    expect(await stateOf(bench, call)).toBe("PLACED");
  });

  it.each([3, 60])(
    "of some calls ends those alone, in a request of %i",
    inSlowTier,
    async (count) => {
      const bench = createDialerBench();
      const requestId = aRequestId(bench.now());
      const calls = callsNow(bench, count, {}, { requestId, batchCalls: count }).map(
        (call, index) => ({ ...call, id: toCallId(requestId, index) }),
      );
      const indexes = toIndexSet([1, count - 1]);
      await cancel(bench, { request: requestId }, { client: "crm", indexes });
      await bench.send(request(calls));
      await bench.run(60);
      const cancelled = await rowsIn(bench, "CANCELLED");
      expect(cancelled.map(({ id }) => indexOf(id)).toSorted((a, b) => a - b)).toEqual([
        1,
        count - 1,
      ]);
      expect(bench.dialed).toHaveLength(count - 2);
    },
  );

  it("of one call reaches the call that was redialed in its stead, and no other's", async () => {
    const bench = createDialerBench();
    const first = aRequestId();
    await cancel(bench, { request: first }, { client: "crm", indexes: toIndexSet([7]) });
    const redials = [7, 8].map((index) =>
      aCallNow(bench, {}, { ancestors: [toCallId(first, index)] }),
    );
    await sendEach(bench, ...redials);
    await bench.deliver();
    expect(await statesOf(bench, redials)).toEqual(["CANCELLED", "PLACED"]);
  });

  it("ends what a delivery under way has yet to send, by whatever clock it was accepted", async () => {
    const bench = createDialerBench({ concurrency: 1 });
    const calls = Array.from({ length: 5 }, (_, index) =>
      aCallNow(bench, { phone_number: numberOf(index) }, { acceptedAt: index }),
    );
    bench.answer = async () => {
      if (bench.dialed.length === 1) {
        for (const { requestId } of calls) {
          await cancel(bench, { request: requestId }, { client: "crm", at: 3 });
        }
      }
      await bench.sleep(2501);
      return { kind: "placed" };
    };
    await sendEach(bench, ...calls);
    await bench.deliver();
    // Orders are read again once they are 5 s old.
    const states = ["PLACED", "PLACED", "CANCELLED", "CANCELLED", "CANCELLED"];
    expect(await statesOf(bench, calls)).toEqual(states);
  });
});
