import { describe, expect, it } from "vitest";
import { handleDeadLetter } from "#functions/dialer/consume/handle-stored-letters.ts";
import type { Call } from "#shared/calls/call-request.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { restoreKey } from "#shared/policy/ledger-epoch.ts";
import { rememberErasures } from "#shared/policy/erase-number.ts";
import { aRequestId } from "#test/support/calls.ts";
import { suspendedAt } from "#test/support/document-values.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  type Bench,
  cancel,
  hashOf,
  message,
  neverCall,
  putDocument,
  putIn,
  request,
  rowOf,
  sendEach,
  stateOf,
} from "#test/support/dialer-calls.ts";

const settleDead = (bench: Bench, one: object) =>
  handleDeadLetter({ attempt: 1, id: "dead", open: async () => JSON.stringify(one) }, bench.deps);

async function erase(bench: Bench, number: string) {
  const deps = { ...bench.deps, documents: bench.documents, ledger: bench.rows };
  const erasure = { hash: hashOf(number), at: bench.now(), by: "operator" };
  await rememberErasures([{ ...erasure, retentionMs: 60 * 86_400_000 }], deps);
}

/** Has a restore end that may have lost the rows of calls accepted until now. */
const restored = (bench: Bench, state: "done" | "confirmed" = "done") =>
  putDocument(
    bench,
    restoreKey,
    suspendedAt(bench.now(), {
      state,
      at: bench.now() - 3_600_000,
      by: "ops",
      isWatchDone: true,
    }),
  );

/** Controls that end a call, and its first row then, where it was certainly not dialed and where it may have been. */
const controls: {
  is: string;
  order: (bench: Bench, call: Call) => Promise<unknown>;
  ends: object;
  lost: object;
}[] = [
  {
    is: "cancelled with its request",
    order: (bench, { requestId }) => cancel(bench, { request: requestId }, { client: "crm" }),
    ends: { state: "CANCELLED", reason: "client" },
    lost: { state: "CANCELLED", reason: "client" },
  },
  {
    is: "erased",
    order: (bench, call) => erase(bench, call.request.phone_number),
    ends: { state: "CANCELLED", reason: "erased", request: null, numberTail: "" },
    lost: { state: "CANCELLED", reason: "erased", request: null, numberTail: "" },
  },
  {
    is: "on the do-not-call list",
    order: (bench, call) => neverCall(bench, call.request.phone_number),
    ends: { state: "REJECTED", reason: "do_not_call" },
    lost: { state: "NEEDS_REVIEW", reason: "restored" },
  },
];

describe.each(controls)("the first row of a call that was $is", ({ order, ends, lost }) => {
  it("says so where its message died", async () => {
    const bench = createDialerBench();
    const call = aCallNow(bench);
    await order(bench, call);
    expect(await settleDead(bench, message(call))).toBe("done");
    expect(await rowOf(bench, call)).toMatchObject(ends);
    expect(bench.eventsOf("call.needs_review")).toEqual([]);
  });

  it("after a restore leaves no number to be redialed against the control", async () => {
    for (const way of ["dead letter", "delivery", "split"] as const) {
      const bench = createDialerBench();
      await bench.sweep();
      const requestId = aRequestId(bench.now());
      const calls = Array.from({ length: way === "split" ? 30 : 1 }, (_, index) =>
        aCallNow(bench, {}, { requestId, id: toCallId(requestId, index) }),
      );
      const [call] = calls;
      if (call === undefined) throw new Error("there is no call");
      await order(bench, call);
      await restored(bench);
      if (way === "dead letter") await settleDead(bench, message(call));
      else {
        await (way === "split" ? bench.send(request(calls)) : sendEach(bench, call));
        await bench.deliver();
      }
      expect(await rowOf(bench, call)).toMatchObject(lost);
      expect(bench.dialed).toEqual([]);
    }
  });
});

it.each(controls)(
  "a waiting row that a restore brought back leaves no number where its call was $is",
  async ({ order, lost }) => {
    const bench = createDialerBench();
    const call = aCallNow(bench);
    const row = await putIn(bench, "WAITING", call);
    await order(bench, call);
    await restored(bench, "confirmed");
    for (let minute = 0; minute < 5; minute++) {
      await bench.sweep();
      bench.advance(60_000);
    }
    expect(await rowOf(bench, row)).toMatchObject(lost);
  },
);

it("is not written from a dead letter until a restore is done, as its cancellation may be missing", async () => {
  const bench = createDialerBench();
  await bench.sweep();
  const call = aCallNow(bench);
  await restored(bench, "confirmed");
  expect(await settleDead(bench, message(call))).toBe("failed");
  expect(bench.stored.size).toBe(0);
  await cancel(bench, { request: call.requestId }, { client: "crm" });
  await restored(bench);
  expect(await settleDead(bench, message(call))).toBe("done");
  expect(await stateOf(bench, call)).toBe("CANCELLED");
});
