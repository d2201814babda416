import { describe, expect, it } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import type { CallState } from "#shared/calls/states.ts";
import { applyAction } from "#shared/calls/transitions.ts";
import { outcomeOf } from "#test/support/claims.ts";
import { aCall } from "#test/support/calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  type Bench,
  boom,
  due,
  put,
  putIn,
  rowOf,
  sendEach,
  stateOf,
} from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

/** Redials a call like an operator. Resolves to the new call, which is not sent yet. */
async function redialed(bench: Bench, call: Call): Promise<Call> {
  const row = await rowOf(bench, call);
  const redial = aCallNow(bench, {}, { ancestors: [...row.ancestors, call.id] });
  const act = { to: "REDIALED", redialedAs: redial.id } as const;
  const write = { version: bench.deps.random.version(), at: bench.now() };
  const next = applyAction(row, { action: act, by: "ops" }, write);
  if (next === undefined) throw new Error(`${row.state} cannot be redialed`);
  await put(bench, next);
  return redial;
}

/** Puts a call in this state, and redials it. */
async function redialFrom(state: CallState) {
  const bench = createDialerBench();
  const before = aCall();
  const row = await putIn(bench, state, before);
  return { bench, before, row, redial: await redialed(bench, before) };
}

const placed = (row: CallRow) => outcomeOf(row, row.claims[0], { reason: "r" });

describe("a redial", () => {
  it("is dialed if the call that it replaces surely was not placed", async () => {
    const { bench, before, redial } = await redialFrom("NEEDS_REVIEW");
    await sendEach(bench, redial, redial);
    expect(await bench.deliver()).toEqual(["ack", "ack"]);
    expect(bench.dialed.map(({ call }) => call)).toEqual([{ ...redial, first: "request" }]);
    expect(await rowOf(bench, redial)).toMatchObject({ state: "PLACED", ancestors: [before.id] });
  });

  it("is dialed where its ancestors have been purged: they count for nothing", async () => {
    const bench = createDialerBench();
    const redial = aCallNow(bench, {}, { ancestors: ["call_gone_00000", "call_gone_00001"] });
    await sendEach(bench, redial);
    await bench.deliver();
    expect(await stateOf(bench, redial)).toBe("PLACED");
  });

  it("is not dialed if the call that it replaces turns out to be placed", async () => {
    const { bench, before, row, redial } = await redialFrom("NEEDS_REVIEW");
    await bench.send(placed(row));
    await bench.deliver();
    expect(bench.eventsOf("call.placed_late")).toMatchObject([
      { level: "alarm", call_id: before.id, state: "REDIALED" },
    ]);
    await sendEach(bench, redial);
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    expect(await rowOf(bench, redial)).toMatchObject({
      state: "CANCELLED",
      reason: "placed_before",
    });
    expect(bench.eventsOf("call.placed_before")).toMatchObject([{ level: "alarm" }]);
  });

  // The first version knew the last ancestor alone, and dialed C.
  it("of a redial is not dialed after the late success of the first: A redialed as B, B as C", async () => {
    const bench = createDialerBench();
    const a = aCall();
    const rowOfA = await putIn(bench, "NEEDS_REVIEW", a);
    const b = await redialed(bench, a);
    bench.answer = async () => ({ kind: "rejected", code: "http_422" });
    await sendEach(bench, b);
    await bench.deliver();
    expect(await stateOf(bench, b)).toBe("REJECTED");
    const c = await redialed(bench, b);
    expect(c.ancestors).toEqual([a.id, b.id]);
    await bench.send(placed(rowOfA));
    await bench.deliver();
    bench.answer = async () => ({ kind: "placed" });
    await sendEach(bench, c);
    await bench.deliver();
    expect(bench.dialed.map(({ call }) => call.id)).toEqual([b.id]);
    expect(await rowOf(bench, c)).toMatchObject({ state: "CANCELLED", reason: "placed_before" });
  });

  it("that waits looks at its ancestors when it is dialed, not when it was sent", async () => {
    const { bench, row, redial } = await redialFrom("NEEDS_REVIEW");
    await putIn(bench, "WAITING", redial, { dueAt: bench.now() + 60_000 });
    await bench.send(placed(row));
    await bench.deliver();
    bench.advance(60_000);
    await bench.send(due(redial));
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    expect(await stateOf(bench, redial)).toBe("CANCELLED");
  });

  it.each<[number, CallState]>([
    [0, "DIALING"],
    [1, "DIALING"],
    [0, "UNKNOWN"],
    [1, "UNKNOWN"],
  ])("whose ancestor %i is %s goes to a person: ancestor_unknown", async (index, state) => {
    const bench = createDialerBench();
    const ancestors = [aCall(), aCall()];
    for (const [n, call] of ancestors.entries()) {
      await putIn(bench, n === index ? state : "REJECTED", call);
    }
    const redial = aCallNow(bench, {}, { ancestors: ancestors.map(({ id }) => id) });
    await sendEach(bench, redial);
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(bench.dialed).toEqual([]);
    expect(await rowOf(bench, redial)).toMatchObject({
      state: "NEEDS_REVIEW",
      reason: "ancestor_unknown",
      request: redial.request,
    });
  });

  it("whose ancestor cannot be read by this version goes to a person", async () => {
    const bench = createDialerBench();
    const before = aCall();
    const json = JSON.stringify({ state: "RINGING" });
    bench.stored.set(before.id, { id: before.id, version: "later", json });
    const redial = aCallNow(bench, {}, { ancestors: [before.id] });
    await sendEach(bench, redial);
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(bench.dialed).toEqual([]);
    expect(await rowOf(bench, redial)).toMatchObject({
      state: "NEEDS_REVIEW",
      reason: "ancestor_unknown",
    });
  });

  it("with one placed ancestor is CANCELLED, though another's outcome is unknown", async () => {
    const bench = createDialerBench();
    const [known, other] = [aCall(), aCall()];
    await putIn(bench, "PLACED", known);
    await putIn(bench, "UNKNOWN", other);
    const redial = aCallNow(bench, {}, { ancestors: [other.id, known.id] });
    await sendEach(bench, redial);
    await bench.deliver();
    expect(await stateOf(bench, redial)).toBe("CANCELLED");
  });

  it(
    "whose ancestors cannot be read is not dialed, and waits until they can",
    inSlowTier,
    async () => {
      const { bench, before, redial } = await redialFrom("REJECTED");
      bench.breakLedger({
        read: (ids) => (ids.includes(before.id) ? boom() : bench.rows.read(ids)),
      });
      await sendEach(bench, redial);
      expect(await bench.deliver()).toEqual(["ack"]);
      expect(bench.dialed).toEqual([]);
      expect(await stateOf(bench, redial)).toBe("WAITING");
      bench.repairLedger();
      await bench.run(120);
      expect(await stateOf(bench, redial)).toBe("PLACED");
      expect(bench.dialed).toHaveLength(1);
    },
  );
});
