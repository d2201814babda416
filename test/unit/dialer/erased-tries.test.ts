import { expect, it } from "vitest";
import { handleDeadLetter } from "#functions/dialer/consume/handle-stored-letters.ts";
import { eraseRows, rememberErasures } from "#shared/policy/erase-number.ts";
import {
  aCallNow,
  type Bench,
  callsNow,
  hashOf,
  message,
  rowOf,
  sendEach,
} from "#test/support/dialer-calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { createRetryBench } from "#test/support/retry-bench.ts";
import { firstOf } from "#test/support/first-of.ts";

const number = "+12025550123";

/** Erases a number as the operator's API does. */
async function erase(bench: Bench, erased: string) {
  const deps = { ...bench.deps, documents: bench.documents, ledger: bench.rows };
  const erasure = { hash: hashOf(erased), at: bench.now(), by: "operator" };
  await rememberErasures([{ ...erasure, retentionMs: 60 * 86_400_000 }], deps);
  return eraseRows(erasure, deps);
}

it("a call that is erased while it rings keeps nothing for a next try", async () => {
  const bench = createRetryBench();
  const call = firstOf(callsNow(bench, 1));
  bench.answer = async () => {
    await erase(bench, call.request.phone_number);
    return { kind: "placed", providerCallId: "theirs" };
  };
  await sendEach(bench, call);
  await bench.deliver();
  expect(await rowOf(bench, call)).toMatchObject({
    state: "PLACED",
    request: null,
    numberTail: "",
  });
});

it("a redial of a call that an erasure has not reached is not made", async () => {
  const bench = createDialerBench({ plan: { callingHours: { default: "always" } } });
  const call = aCallNow(bench, { phone_number: number });
  bench.advance(60_000);
  // Its message failed a hundred times, so that a person is to decide.
  const open = async () => JSON.stringify(message(call));
  await handleDeadLetter({ attempt: 1, id: "dead", open }, bench.deps);
  await erase(bench, number);
  expect((await rowOf(bench, call)).state).toBe("NEEDS_REVIEW");
  bench.advance(60_000);
  const redial = aCallNow(bench, { phone_number: number }, { ancestors: [call.id] });
  await sendEach(bench, redial);
  await bench.deliver();
  expect(bench.dialed).toEqual([]);
  expect(await rowOf(bench, redial)).toMatchObject({
    state: "CANCELLED",
    reason: "erased",
    request: null,
  });
});

it("a call of before an erasure is not made for a repeat that was accepted after it", async () => {
  const bench = createDialerBench({ plan: { callingHours: { default: "always" } } });
  const call = aCallNow(bench, { phone_number: number });
  bench.advance(60_000);
  await erase(bench, number);
  bench.advance(60_000);
  await sendEach(bench, { ...call, acceptedAt: bench.now() });
  await bench.deliver();
  expect(bench.dialed).toEqual([]);
  expect(await rowOf(bench, call)).toMatchObject({ state: "CANCELLED", reason: "erased" });
});
