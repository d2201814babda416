import { describe, expect, it } from "vitest";
import { createDialerBench } from "#test/support/dialer.ts";
import { settingsUnder } from "#test/support/dialer-parts.ts";
import {
  type Bench,
  documentOf,
  putWaiting,
  rowOf,
  sendRequest,
  statesOf,
} from "#test/support/dialer-calls.ts";
import { testPlan } from "#test/support/environment.ts";
import { firstOf } from "#test/support/first-of.ts";
import { parseDialPlan } from "#test/support/plans.ts";
import { minuteMs } from "#shared/lib/units.ts";

const pace = { providers: { webhook: { callsPerSecond: 0.1 } } };

/** A bench with this plan, and a dialer whose settings follow from another plan, read before or after the bench's. */
function createBench(changes: object, { other, readMs }: { other: object; readMs: number }) {
  const bench = createDialerBench({ startAt: "2026-06-01T10:00Z", plan: { ...pace, ...changes } });
  bench.deps.dispatcher = { ...bench.deps.dispatcher, lifeMs: 13 * minuteMs };
  const plan = parseDialPlan({ ...testPlan, ...pace, ...other }, {});
  const settings = settingsUnder(plan, () => undefined, bench.now() + readMs);
  return { bench, others: { settings: { ...bench.deps.settings, ...settings } } };
}
const holderOf = async (bench: Bench) =>
  (await documentOf(bench, "dispatcher", "dispatcher"))?.value.holder;

describe("a dispatcher that was begun before a deployment", () => {
  it.each([
    ["a destination", { destinations: { allow: ["US"] } }, {}, "+442071838750"],
    ["more time", { expireAfterHours: 0.05 }, { expireAfterHours: 168 }, "+12025550123"],
  ])("ends no call to which the new plan gives %s", async (_, before, after, phone_number) => {
    const { bench, others } = createBench(after, { other: before, readMs: -minuteMs });
    let started = 0;
    const dispatcher = () => (started++ === 0 ? others : {});
    await putWaiting(bench, 60, 0); // a campaign keeps it busy
    await bench.simulate(50, { dispatcher });
    expect(started).toBe(1);
    const calls = await sendRequest(bench, 30, { phone_number, agent_id: "agent_support" });
    await bench.simulate(660, { dispatcher });
    const states = await statesOf(bench, calls);
    expect(new Set(states)).toEqual(new Set(["PLACED"]));
    expect((await rowOf(bench, firstOf(calls))).reason).toBe("placed");
  });

  it("takes over from none with a plan that was read later, so that two do not alternate", async () => {
    const { bench, others } = createBench(
      { destinations: { allow: ["US"] } },
      {
        other: {},
        readMs: minuteMs,
      },
    );
    await putWaiting(bench, 300, 0);
    await bench.simulate(30);
    const first = await holderOf(bench);
    await bench.simulate(60, { dispatcher: () => others });
    const second = await holderOf(bench);
    expect(second).not.toBe(first);
    await bench.simulate(240);
    expect(await holderOf(bench)).toBe(second);
  });

  it("ends no call in the tick in which it learns that another one has taken over", async () => {
    const { bench, others } = createBench(
      {},
      { other: { destinations: { allow: ["US"] } }, readMs: 0 },
    );
    const request = { phone_number: "+442071838750", agent_id: "agent_sales" };
    const calls = await putWaiting(bench, 3, 0, { request });
    let beats = 0;
    bench.breakDocuments({
      write: async (changes) =>
        changes.some(({ next }) => next.kind === "dispatcher") && ++beats > 1
          ? changes.map(() => false)
          : bench.documents.write(changes),
    });
    bench.deps.settings = others.settings;
    await bench.dispatch();
    expect(beats).toBe(2);
    expect(new Set(await statesOf(bench, calls))).toEqual(new Set(["WAITING"]));
  });
});
