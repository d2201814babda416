import { describe, expect, it } from "vitest";
import type { ToldResult } from "../../../shared/providers/dialing-provider.ts";
import { tellNow, toldTo, typesOf } from "../../support/events-bench.ts";
import { createDialerBench } from "../../support/dialer.ts";
import { aCallNow, hashOf, rowOf, sendEach, stateOf } from "../../support/dialer-calls.ts";
import { busy } from "../../support/results-bench.ts";

const number = "+12025550123";

/** Places a call of a webhook, whose signed callback then tells this. */
async function placeAndTell(told: ToldResult) {
  const bench = createDialerBench({ plan: { results: {}, ...toldTo() } });
  bench.told = async () => told;
  const call = aCallNow(bench, { phone_number: number });
  await sendEach(bench, call);
  await bench.deliver();
  const claim = (await rowOf(bench, call)).claims.at(-1) ?? "";
  const tellBack = () =>
    bench.eventsQueue.send({
      kind: "callback",
      account: "webhook",
      call: { id: call.id, claim },
      signed: { body: "{}", headers: {}, receivedAt: 1 },
    });
  await tellBack();
  await tellNow(bench);
  return { bench, call, tellBack };
}

describe("a callee who asks not to be called again", () => {
  it("is never called again, and the client is told once", async () => {
    const told: ToldResult = { kind: "told", result: busy, optedOut: true };
    const { bench, call, tellBack } = await placeAndTell(told);
    await tellBack();
    await tellNow(bench);
    expect(typesOf(bench, call)).toEqual(["call.placed", "call.opt_out", "call.ended"]);
    const again = aCallNow(bench, { phone_number: number });
    const other = aCallNow(bench, { phone_number: "+12025550124" });
    await sendEach(bench, again, other);
    bench.advance(20_000);
    await bench.simulate(30, { firstSweepSeconds: 1000 });
    expect(await rowOf(bench, again)).toMatchObject({ state: "REJECTED", reason: "do_not_call" });
    expect(await stateOf(bench, other)).toBe("PLACED");
    expect(JSON.stringify(bench.posted)).not.toContain("12025550123");
    expect(JSON.stringify(bench.events)).not.toContain("12025550123");
  });

  it("is one whose callback verifies: another one lists nobody", async () => {
    const { bench, call } = await placeAndTell({ kind: "unverified" });
    expect(typesOf(bench, call)).toEqual(["call.placed"]);
    const entry = { kind: "do-not-call", key: hashOf(number) } as const;
    expect((await bench.documents.read([entry])).get("do-not-call", entry.key)).toBeUndefined();
  });
});
