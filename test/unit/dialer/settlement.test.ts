import { describe, expect, it } from "vitest";
import type { CallState } from "#shared/calls/states.ts";
import type { Settlement } from "#shared/calls/transitions.ts";
import type { Change } from "#shared/ports/ledger.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";
import { outcomeOf } from "#test/support/claims.ts";
import { aCall } from "#test/support/calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  type Bench,
  boom,
  callsNow,
  documentOf,
  message,
  put,
  putIn,
  rowOf,
  sendEach,
  stateOf,
} from "#test/support/dialer-calls.ts";
import { firstOf } from "#test/support/first-of.ts";

/** True if some of these changes settle a claim. */
const settles = (changes: readonly Change[]) =>
  changes.some(({ next }) => next.state !== "DIALING" && next.claims.length > 0);

/** Makes the ledger fail this many settlements. */
const failSettlements = (bench: Bench, failures: number) =>
  bench.breakLedger({
    write: (changes) => (settles(changes) && failures-- > 0 ? boom() : bench.rows.write(changes)),
  });

/** Creates a dialer that freezes in its request, until a sweep has moved its call to review. */
async function freezeUntilReview() {
  const bench = createDialerBench();
  const call = aCall();
  let answer: (outcome: DialOutcome) => void = () => undefined;
  bench.answer = () => new Promise((resolve) => (answer = resolve));
  await sendEach(bench, call);
  const frozen = bench.deliver();
  await expect.poll(() => bench.dialed.length).toBe(1);
  await bench.run(600);
  expect(await bench.row(call.id)).toMatchObject({ state: "NEEDS_REVIEW" });
  const thaw = async (outcome: DialOutcome) => {
    answer(outcome);
    await frozen;
  };
  return { bench, call, thaw };
}

describe("a crash", () => {
  it("after the claim leaves the call UNKNOWN past its time, then for a person, never dialed again", async () => {
    const bench = createDialerBench();
    const call = aCall();
    let killed = false;
    bench.answer = () => {
      killed = true;
      return new Promise(() => undefined); // the function dies here
    };
    await sendEach(bench, call);
    void bench.deliver();
    await expect.poll(() => killed).toBe(true);
    await sendEach(bench, call); // the queue delivers again
    await bench.run(50);
    expect(await bench.row(call.id)).toMatchObject({ state: "DIALING" });
    await bench.run(70);
    expect(await bench.row(call.id)).toMatchObject({
      state: "UNKNOWN",
      reason: "claim_lapsed",
      request: call.request,
    });
    await bench.run(400);
    expect(await bench.row(call.id)).toMatchObject({
      state: "NEEDS_REVIEW",
      request: call.request,
    });
    expect(bench.dialed).toHaveLength(1);
  });

  it("of a holder that thaws after its call went to review lets it report the call as placed", async () => {
    const { bench, call, thaw } = await freezeUntilReview();
    await thaw({ kind: "placed", providerCallId: "CA1" });
    expect(await bench.row(call.id)).toMatchObject({
      state: "PLACED",
      request: null,
      providerCallId: "CA1",
    });
    expect(bench.dialed).toHaveLength(1);
  });

  it("of a holder that thaws after its call went to review does not let it make the call wait again", async () => {
    const { bench, call, thaw } = await freezeUntilReview();
    await thaw({ kind: "not_placed", code: "http_429" });
    await bench.run(600);
    expect(await bench.row(call.id)).toMatchObject({
      state: "NEEDS_REVIEW",
      request: call.request,
    });
    expect(bench.dialed).toHaveLength(1);
    expect(bench.eventsOf("call.settlement_refused")).toHaveLength(1);
  });
});

describe("a settlement", () => {
  it("that failed is repeated as a write, never as a call", async () => {
    const bench = createDialerBench();
    const call = aCall();
    failSettlements(bench, 2);
    await sendEach(bench, call);
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(bench.dialed).toHaveLength(1);
    expect(bench.queued()).toEqual([]);
    expect(await stateOf(bench, call)).toBe("PLACED");
  });

  it("whose answer was lost is written once, under one version", async () => {
    const bench = createDialerBench();
    const call = aCall();
    const versions: string[] = [];
    bench.breakLedger({
      async write(changes) {
        const written = await bench.rows.write(changes);
        if (!settles(changes)) return written;
        versions.push(...changes.map(({ next }) => next.version));
        return versions.length < 3 ? boom() : written;
      },
    });
    await sendEach(bench, call);
    expect(await bench.deliver()).toEqual(["ack"]);
    expect([versions.length, new Set(versions).size]).toEqual([3, 1]);
    expect((await rowOf(bench, call)).version).toBe(versions[0]);
    expect(bench.queued()).toEqual([]);
  });

  it("that keeps failing goes onto the queue, and is settled later", async () => {
    const bench = createDialerBench();
    const call = aCall();
    failSettlements(bench, Infinity);
    await sendEach(bench, call);
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(bench.queued()).toEqual([
      { kind: "outcome", settlement: expect.objectContaining({ id: call.id, state: "PLACED" }) },
    ]);
    expect(await bench.deliver()).toEqual([{ retryAfterSeconds: 5 }]);
    bench.repairLedger();
    await bench.run(62);
    expect(bench.dialed).toHaveLength(1);
    expect(await stateOf(bench, call)).toBe("PLACED");
    expect(bench.eventsOf("call.settled_late")).toHaveLength(1);
  });

  it("that neither ledger nor queue takes loses no placed call: a person decides", async () => {
    const bench = createDialerBench();
    const call = aCall();
    const { queue } = bench.deps;
    failSettlements(bench, Infinity);
    await sendEach(bench, call);
    bench.deps.queue = { ...queue, send: boom };
    expect(await bench.deliver()).toEqual([{ retryAfterSeconds: 5 }]);
    bench.deps.queue = queue;
    bench.repairLedger();
    await bench.run(700);
    expect(bench.dialed).toHaveLength(1);
    expect(await bench.row(call.id)).toMatchObject({
      state: "NEEDS_REVIEW",
      request: call.request,
    });
  });

  it("that conflicts with another write is read and applied again, three times, and then goes onto the queue", async () => {
    for (const [conflicts, queued] of [
      [3, 0],
      [4, 1],
    ] as const) {
      const bench = createDialerBench();
      const call = aCall();
      let left: number = conflicts;
      bench.breakLedger({
        async write(changes) {
          if (settles(changes) && left-- > 0) {
            // Another write of the row is under way, by a later version, of a field of its own.
            const row = await rowOf(bench, call);
            await put(bench, { ...row, version: `other-${left}` });
          }
          return bench.rows.write(changes);
        },
      });
      await sendEach(bench, call);
      expect(await bench.deliver()).toEqual(["ack"]);
      expect(bench.queued()).toHaveLength(queued);
      await bench.deliver();
      expect(await stateOf(bench, call)).toBe("PLACED");
      expect(bench.dialed).toHaveLength(1);
    }
  });

  it("of an `outcome` is read and applied again if it conflicts with another write", async () => {
    const bench = createDialerBench();
    const call = aCall();
    const row = await putIn(bench, "UNKNOWN", call);
    let conflicts = 2;
    bench.breakLedger({
      async write(changes) {
        if (conflicts-- > 0) await put(bench, { ...row, version: `other-${conflicts}` });
        return bench.rows.write(changes);
      },
    });
    await bench.send(outcome(row.claims[0], "PLACED"));
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(await stateOf(bench, call)).toBe("PLACED");

    function outcome(claim = "", state: Settlement["state"] = "PLACED") {
      return outcomeOf(call, claim, { state, reason: "r", at: bench.now() });
    }
  });

  it("logs no error message, which may quote its input", async () => {
    const bench = createDialerBench();
    bench.breakLedger({ write: boom });
    bench.breakDocuments({ write: boom, add: boom });
    await sendEach(bench, aCall());
    await bench.deliver();
    expect(bench.eventsOf("ledger.unreachable")).not.toEqual([]);
    expect(JSON.stringify(bench.events)).not.toMatch(/\+?1202555/);
  });

  it("creates the backlog's document for a call that waits again, so that sweeps find it", async () => {
    const bench = createDialerBench();
    const call = aCall();
    await sendEach(bench, call);
    bench.answer = async () => ({ kind: "not_placed", code: "http_429", retryAfterSeconds: 900 });
    const startedAt = bench.now();
    await bench.deliver();
    const { lane } = await rowOf(bench, call);
    expect(await documentOf(bench, "backlog", lane ?? "")).toMatchObject({
      value: { client: "crm", agentId: "agent_sales", usedAt: startedAt },
    });
  });

  it.each<[string, () => Promise<boolean[]>]>([
    ["cannot be written", boom],
    ["is written by others all the time", async () => [false]],
  ])("as WAITING writes no row while its backlog's document %s", async (_, write) => {
    const bench = createDialerBench();
    const call = aCall();
    await sendEach(bench, call);
    bench.answer = async () => ({ kind: "not_placed", code: "http_429", retryAfterSeconds: 900 });
    bench.breakDocuments({ write });
    await bench.deliver();
    expect(await stateOf(bench, call)).toBe("DIALING");
    expect(bench.queued()).toMatchObject([{ kind: "outcome", settlement: { state: "WAITING" } }]);
    bench.repairLedger();
    await bench.deliver();
    expect(await stateOf(bench, call)).toBe("WAITING");
  });
});

describe("a late success", () => {
  const placed = (call: { id: string }, claim: string | undefined) =>
    outcomeOf(call, claim, { providerCallId: "CA1" });

  it.each<[CallState, string[]]>([
    ["DIALING", []],
    ["UNKNOWN", []],
    ["NEEDS_REVIEW", []],
    ["REJECTED", []],
    ["REDIALED", ["REDIALED"]],
  ])("is taken from %s, with an alarm call.placed_late from %j", async (state, late) => {
    const bench = createDialerBench();
    const call = aCall();
    const row = await putIn(bench, state, call);
    await bench.send(placed(call, row.claims[0]));
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "PLACED", providerCallId: "CA1" });
    expect(bench.eventsOf("call.placed_late").map((one) => one["state"])).toEqual(late);
  });

  it("is taken from CANCELLED by an operator, with an alarm call.placed_late", async () => {
    const bench = createDialerBench();
    const call = aCall();
    const row = await putIn(bench, "NEEDS_REVIEW", call);
    await put(bench, { ...row, version: "by-operator", state: "CANCELLED" });
    await bench.send(placed(call, row.claims[0]));
    await bench.deliver();
    expect(await rowOf(bench, call)).toMatchObject({ state: "PLACED", providerCallId: "CA1" });
    expect(bench.eventsOf("call.placed_late")).toMatchObject([
      { level: "alarm", call_id: call.id, state: "CANCELLED" },
    ]);
  });

  // The first version kept one claim per row: the first holder's success was refused once a resend had
  // claimed.
  it.each<CallState>(["DIALING", "UNKNOWN", "NEEDS_REVIEW"])(
    "of a holder is taken from %s though a resend has taken a new claim since",
    async (state) => {
      const bench = createDialerBench();
      const call = aCall();
      const row = await putIn(bench, state, call);
      const claims = [...row.claims, "the-resend"];
      await put(bench, { ...row, version: "later", claims, resent: true });
      await bench.send(placed(call, row.claims[0]));
      expect(await bench.deliver()).toEqual(["ack"]);
      expect(await rowOf(bench, call)).toMatchObject({ state: "PLACED", providerCallId: "CA1" });
    },
  );

  it("of a holder that thaws is taken though a resend has dialed meanwhile", async () => {
    const agent_sales = { provider: "webhook", url: "http://127.0.0.1:9/dial", idempotent: true };
    const bench = createDialerBench({ plan: { agents: { agent_sales } } });
    const call = aCall();
    let answer: (outcome: DialOutcome) => void = () => undefined;
    bench.answer = () =>
      bench.dialed.length === 1
        ? new Promise((resolve) => (answer = resolve))
        : Promise.resolve({ kind: "rejected", code: "http_422" });
    await sendEach(bench, call);
    const frozen = bench.deliver();
    await expect.poll(() => bench.dialed.length).toBe(1);
    await bench.run(200);
    expect(await rowOf(bench, call)).toMatchObject({ state: "UNKNOWN", resent: true });
    answer({ kind: "placed", providerCallId: "CA1" });
    expect(await frozen).toEqual(["ack"]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "PLACED", providerCallId: "CA1" });
  });

  it("under a claim that is none of the row's is refused", async () => {
    const bench = createDialerBench();
    const call = aCall();
    await putIn(bench, "UNKNOWN", call);
    await bench.send(placed(call, "foreign"));
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(await stateOf(bench, call)).toBe("UNKNOWN");
    expect(bench.eventsOf("call.settlement_refused")).toMatchObject([{ level: "warning" }]);
  });
});

describe("what a later version wrote of a row", () => {
  it("survives a claim and a settlement", async () => {
    const bench = createDialerBench();
    const call = firstOf(callsNow(bench, 1));
    const row = await putIn(bench, "WAITING", call, { dueAt: bench.now() });
    const json = JSON.stringify({ ...row, laterField: { deep: [1, "two"] } });
    bench.stored.set(call.id, { id: call.id, version: row.version, json });
    const fields = () => JSON.parse(bench.stored.get(call.id)?.json ?? "{}") as unknown;
    bench.answer = async () => {
      expect(fields()).toMatchObject({ state: "DIALING", laterField: { deep: [1, "two"] } });
      return { kind: "placed" };
    };
    await bench.send(message(call));
    await bench.deliver();
    expect(fields()).toMatchObject({ state: "PLACED", laterField: { deep: [1, "two"] } });
  });
});
