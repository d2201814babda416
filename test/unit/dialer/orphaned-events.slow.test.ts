import { describe, expect, it } from "vitest";
import { rowOf } from "#test/support/dialer-calls.ts";
import {
  createEventsBench,
  failed,
  taken,
  deliverFor,
  toldTo,
} from "#test/support/events-bench.ts";
import { minuteMs, place, twilio } from "#test/support/results-bench.ts";
import { firstOf } from "#test/support/first-of.ts";

const dayMs = 86_400_000;
const withoutReceivers = { ...twilio, results: {} };
const crmAlone = { ...withoutReceivers, events: { crm: { url: "http://127.0.0.1:9/crm" } } };

/** Creates a bench with a call of which a receiver has been told nothing. */
async function createPending() {
  const bench = createEventsBench({ types: ["call.placed"] });
  bench.receive = async () => failed;
  const call = firstOf(await place(bench, 1));
  await deliverFor(bench, 3);
  const alarms = () => bench.eventsOf("events.orphaned");
  /** Lets days pass, with a sweep every hour. */
  const passDays = async (days: number) => {
    for (let hour = 0; hour < days * 24; hour++) {
      bench.advance(60 * minuteMs);
      await bench.sweep();
    }
  };
  return { bench, call, alarms, passDays };
}

describe("events of a receiver that has left the plan", () => {
  it.each([
    ["no receiver", withoutReceivers],
    ["another receiver", crmAlone],
  ])("raise an alarm a day that names it, where the plan has %s", async (_, plan) => {
    const { bench, alarms, passDays } = await createPending();
    await passDays(2);
    expect(alarms()).toEqual([]);
    bench.changePlan(plan);
    await passDays(5);
    expect(alarms()).toHaveLength(5);
    expect(new Set(alarms().map((one) => JSON.stringify(one)))).toEqual(
      new Set(['{"level":"alarm","event":"events.orphaned","receiver":"*"}']),
    );
  });

  it("raise no alarm once the receiver is back, and are then delivered", async () => {
    const { bench, call, alarms, passDays } = await createPending();
    bench.changePlan(withoutReceivers);
    await passDays(1);
    const before = alarms().length;
    expect(before).toBe(1);
    bench.receive = async () => taken;
    bench.changePlan({ ...withoutReceivers, ...toldTo({ types: ["call.placed"] }) });
    await deliverFor(bench, 30);
    expect(await rowOf(bench, call)).toMatchObject({ deliverTo: null });
    bench.changePlan(withoutReceivers);
    await passDays(3);
    expect(alarms()).toHaveLength(before);
  });

  it("raise the alarm also where the first look failed", async () => {
    const { bench, alarms } = await createPending();
    bench.changePlan(withoutReceivers);
    bench.breakLedger({ due: () => Promise.reject(new Error("unreachable")) });
    bench.advance(dayMs);
    await bench.sweep();
    expect(alarms()).toEqual([]);
    bench.repairLedger();
    bench.advance(minuteMs);
    await bench.sweep();
    expect(alarms()).toHaveLength(1);
  });
});
