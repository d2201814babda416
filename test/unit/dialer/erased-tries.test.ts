import { expect, it } from "vitest";
import { eraseRows, rememberErasure } from "../../../shared/policy/erase-number.ts";
import { type Bench, hashOf, rowOf, sendEach, callsNow } from "../../support/dialer-calls.ts";
import { createRetryBench } from "../../support/retry-bench.ts";

/** Erases a number as the operator's API does. */
async function erase(bench: Bench, number: string) {
  const deps = { ...bench.deps, documents: bench.documents, ledger: bench.rows };
  const erasure = { hash: hashOf(number), at: bench.now(), by: "operator" };
  await rememberErasure({ ...erasure, retentionMs: 60 * 86_400_000 }, deps);
  return eraseRows(erasure, deps);
}

it("a call that is erased while it rings keeps nothing for a next try", async () => {
  const bench = createRetryBench();
  const [call] = callsNow(bench, 1);
  if (call === undefined) throw new Error("there is one");
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
