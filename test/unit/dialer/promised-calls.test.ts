import { describe, expect, it } from "vitest";
import { visitBacklogs } from "#functions/dialer/sweep/visit-backlogs.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { upkeepKey } from "#shared/policy/ledger-epoch.ts";
import {
  dial,
  events,
  hourMs,
  inMs,
  rowIfAny,
  rule,
  told,
} from "#test/support/call-backs-bench.ts";
import { aRequestId } from "#test/support/calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  type Bench,
  callsNow,
  documentOf,
  pause,
  putIn,
  request,
  rowOf,
  webhook,
} from "#test/support/dialer-calls.ts";
import { completed, minuteMs, pollAfter } from "#test/support/results-bench.ts";

const retry = { attempts: 3, within: "24h", after: { voicemail: "3h" } };
const voicemail = { ...completed, status: "voicemail", human: false } as const;
const slow = { providers: { webhook: { callsPerSecond: 0.05 } } };

/** Posts a request whose calls take an hour at one in 20 s. */
async function postCampaign(bench: Bench) {
  const requestId = aRequestId(bench.now());
  const calls = callsNow(bench, 180, { timezone: "UTC" }).map((call, index) => {
    return { ...call, requestId, id: toCallId(requestId, index) };
  });
  await bench.send(request(calls));
  await bench.simulate(10);
}

describe("a promised call", () => {
  it.each(["a first one", "one that was a retry"])(
    "goes before its client's other calls, though these came first: %s",
    async (what) => {
      const result = what === "a first one" ? completed : voicemail;
      const { bench, report, next } = await dial({ plan: slow, agent: { retry } });
      await postCampaign(bench);
      if (result === voicemail) await report({ result });
      const wished = inMs(bench, 5 * minuteMs);
      await report({ result, wished });
      await bench.simulate(360, { sweepSeconds: 120 });
      const dialed = bench.dialed.find(({ call }) => call.id === next.id);
      expect(dialed?.at).toBeGreaterThanOrEqual(Date.parse(wished));
      expect(dialed?.at).toBeLessThan(Date.parse(wished) + minuteMs);
      // The client has not asked for that.
      expect(await rowOf(bench, next)).toMatchObject({ isUrgent: false });
      await bench.deliverEvents();
      const placed = told(bench, "call.placed").filter(({ id }) => id === next.id);
      expect(placed).toMatchObject([{ try: 2 }]);
      expect(placed[0]).not.toHaveProperty("urgent");
    },
  );

  it("of a paused agent expires within an hour of its end, however long other calls may wait", async () => {
    const { bench, report, next } = await dial();
    await report({ wished: inMs(bench, hourMs) });
    await pause(bench, { agent: "agent_sales" });
    bench.advance(3 * hourMs - minuteMs);
    await bench.upkeep();
    expect(await rowOf(bench, next)).toMatchObject({ state: "WAITING" });
    bench.advance(hourMs);
    await bench.upkeep();
    await bench.deliverEvents();
    expect(await rowOf(bench, next)).toMatchObject({ state: "EXPIRED", reason: "expired" });
    expect(told(bench, "call.expired")).toMatchObject([{ id: next.id, try: 2 }]);
  });

  it("of an agent that was paused after it was postponed expires no later", async () => {
    const { bench, report, next } = await dial();
    const wished = inMs(bench, hourMs);
    await report({ wished });
    const busy = { kind: "not_placed", code: "busy", blamesNumber: true } as const;
    bench.answer = async () => ({ ...busy, retryAfterSeconds: 900 });
    bench.advance(hourMs - minuteMs);
    await bench.simulate(120);
    await pause(bench, { agent: "agent_sales" });
    const { state, dueAt } = await rowOf(bench, next);
    expect(state).toBe("WAITING");
    expect(dueAt).toBeGreaterThan(Date.parse(wished) + 10 * minuteMs);
    bench.advance(2 * hourMs);
    await bench.upkeep();
    expect(await rowOf(bench, next)).toMatchObject({ state: "EXPIRED", reason: "expired" });
  });
});

describe("a promise at the end of `within`", () => {
  it("has its two hours, as others do", async () => {
    const callBacks = { within: "1d", most: 2 };
    const { bench, report, next } = await dial({ agent: { callBacks } });
    const wished = inMs(bench, 24 * hourMs - 2 * minuteMs);
    await report({ wished });
    const until = Date.parse(wished) + 2 * hourMs;
    expect(await rowOf(bench, next)).toMatchObject({ state: "WAITING", tries: { until } });
  });
});

describe("a wish in a call that no call-back follows", () => {
  const ancestors = ["call_01KAJ6Y5G0QZ3N4T7V8W9XABCD_00000"];
  const refused = [{ call_back: { at: null, call_id: null, by: "nobody", reason: "too_many" } }];

  it("is answered in a redial", async () => {
    const { bench, call, report, next } = await dial({ ancestors });
    await report({ wished: inMs(bench, hourMs) });
    expect(told(bench, "call.ended")).toMatchObject(refused);
    expect(told(bench, "call.call_back")).toMatchObject(refused);
    expect(await rowOf(bench, call)).not.toHaveProperty("next");
    expect(await rowIfAny(bench, next)).toBeUndefined();
  });

  it("is answered in a redial whose analysis comes later", async () => {
    const { bench, call } = await dial({ ancestors }, { provider: "vapi", agent: "a", from: "f" });
    bench.record = async () => ({ ...completed, analysis: { isAnalyzed: false } });
    await pollAfter(bench, 2);
    expect(await rowOf(bench, call)).toMatchObject({ result: completed, request: null });
    const wished = inMs(bench, hourMs);
    bench.record = async () => ({ ...completed, analysis: { wished, isAnalyzed: true } });
    await pollAfter(bench, 2);
    await pollAfter(bench, 1);
    expect(told(bench, "call.call_back")).toMatchObject(refused);
    expect(await rowOf(bench, call)).toMatchObject({ dueAt: null, lane: null });
  });

  it("is answered in a call that was accepted before the plan had call-backs", async () => {
    const { bench, report } = await dial({ agent: { callBacks: undefined, retry } });
    await report({ result: voicemail });
    const agents = { agent_sales: { ...webhook, callBacks: rule, retry } };
    bench.changePlan({ agents, results: {}, events });
    await report({ result: voicemail, wished: inMs(bench, hourMs) });
    expect(told(bench, "call.call_back")).toMatchObject(refused);
  });
});

describe("a visit of backlogs", () => {
  it("goes on behind the calls that it has decided, if they take all of its time", async () => {
    const bench = createDialerBench();
    const old = callsNow(bench, 450);
    await bench.upkeep();
    const stored = await documentOf(bench, upkeepKey.kind, upkeepKey.key);
    if (stored === undefined) throw new Error("there is no upkeep");
    const upkeep = { ...stored.value };
    bench.advance(8 * 24 * hourMs);
    const [last, ...renewed] = old.toReversed();
    if (last === undefined) throw new Error("there are no calls");
    const now = bench.now();
    for (const call of renewed)
      await putIn(bench, "WAITING", { ...call, acceptedAt: now }, { dueAt: now });
    await putIn(bench, "WAITING", last, { dueAt: now + 1 });
    for (let sweep = 0; sweep < 6; sweep++) {
      let asked = 0;
      const isOver = () => asked++ > 0;
      Object.assign(upkeep, await visitBacklogs(upkeep, { isOver }, bench.deps));
      if (upkeep.walk === null) break;
    }
    expect(upkeep).toMatchObject({ walk: null, waiting: { calls: 450 } });
    expect(await rowOf(bench, last)).toMatchObject({ state: "EXPIRED" });
  });
});
