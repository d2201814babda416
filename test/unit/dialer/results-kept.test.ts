import { routeFrom } from "#test/support/plans.ts";
import { describe, expect, it } from "vitest";
import { type CallResult, resultStatuses } from "#shared/calls/call-result.ts";
import { recordResult } from "#shared/calls/record-result.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { createBench, pollAfter } from "#test/support/results-bench.ts";
import { rowIn } from "#test/support/rows.ts";
import {
  aCallNow,
  type Bench,
  boom,
  put,
  putIn,
  rowOf,
  sendEach,
} from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const minuteMs = 60_000;
const agent = { provider: "twilio", from: "+12025550100", answerUrl: "https://x.example/" };
const twilio = { agents: { agent_sales: agent } };
const route = routeFrom("twilio", agent);
const nothing = { human: null, word: null, answeredAt: null, endedAt: null, seconds: null };
const completed: CallResult = { ...nothing, status: "completed" };
const write = { version: "next", at: 5 };

const callback = async (bench: Bench, call: { id: string }) => {
  const claim = (await rowOf(bench, call)).claims.at(-1) ?? "";
  await bench.eventsQueue.send({
    kind: "callback",
    account: "twilio",
    call: { id: call.id, claim },
  });
  return bench.deliverEvents();
};

describe("a result that is reported", () => {
  it("changes only from live, or from unknown to an end", async () => {
    const bench = createDialerBench({ plan: { ...twilio, results: {} } });
    const placed = await putIn(bench, "PLACED", aCallNow(bench), { route });
    for (const before of resultStatuses) {
      for (const told of resultStatuses) {
        const row = { ...placed, lane: null, result: { ...nothing, status: before } };
        const next = recordResult(row, { result: { ...nothing, status: told }, pollAt: 9 }, write);
        const isEnd = told !== "live";
        const mayChange =
          before === "live" || (before === "unknown" && isEnd && told !== "unknown");
        expect((next ?? row).result?.status).toBe(mayChange ? told : before);
        if (mayChange) expect(next?.dueAt).toBe(isEnd ? null : 9);
      }
    }
  });

  it("is not read again for a callback", async () => {
    const bench = createDialerBench({ plan: { ...twilio, results: {} } });
    const call = aCallNow(bench);
    await putIn(bench, "UNKNOWN", call, { route });
    bench.find = async () => ({ by: "id", providerCallId: "CA_found" });
    bench.record = async () => completed;
    await callback(bench, call);
    bench.advance(minuteMs);
    bench.record = boom;
    expect(await callback(bench, call)).toEqual(["ack"]);
  });
});

describe("the calls of an account", () => {
  it(
    "are polled by one delivery after another, each while it has statements left",
    inSlowTier,
    async () => {
      const bench = createBench({}, { providers: { twilio: { pollsPerSecond: 100 } } });
      const calls = 700;
      for (let n = 0; n < calls; n++) {
        const at = bench.now();
        const row = rowIn("PLACED", aCallNow(bench), { at, dueAt: at, route });
        await put(bench, { ...row, lane: "results:twilio", dueAt: at, providerCallId: `CA_${n}` });
      }
      const asked = new Set<string>();
      bench.record = async ({ providerCallId }) => {
        asked.add(providerCallId);
        return completed;
      };
      await pollAfter(bench, 3);
      const counts = [asked.size];
      for (let n = 0; n < 4; n++) {
        bench.advance(1_000);
        await bench.deliverEvents();
        counts.push(asked.size);
      }
      expect(counts).toEqual([447, 700, 700, 700, 700]);
      expect(bench.eventsOf("events.failed")).toEqual([]);
    },
  );
});

describe("a placed call", () => {
  it("is asked about once a look-up has found it", async () => {
    const bench = createDialerBench({ plan: { ...twilio, results: {} } });
    const call = aCallNow(bench);
    bench.answer = async () => ({ kind: "unknown", code: "http_500" });
    await sendEach(bench, call);
    await bench.deliver();
    bench.find = async () => ({ by: "id", providerCallId: "CA_found" });
    await bench.simulate(120);
    const row = await rowOf(bench, call);
    expect(row).toMatchObject({ state: "PLACED", reason: "found", lane: "results:twilio" });
    expect(row.dueAt).not.toBeNull();
  });

  it("has an unknown result in the end if its record can never be read", async () => {
    const bench = createDialerBench({ plan: { ...twilio, results: {} } });
    bench.answer = async () => ({ kind: "placed", providerCallId: "CA_1" });
    const call = aCallNow(bench);
    await sendEach(bench, call);
    await bench.deliver();
    bench.record = async () => JSON.parse("{");
    bench.advance(240 * minuteMs);
    await bench.sweep();
    await bench.deliverEvents();
    expect(await rowOf(bench, call)).toMatchObject({ result: { status: "unknown" } });
  });

  it("is not asked about if its provider has no records, but awaited if the provider reports by itself", async () => {
    const bench = createDialerBench({ plan: { results: {} } });
    bench.answer = async () => ({ kind: "placed", providerCallId: "theirs" });
    const call = aCallNow(bench);
    await sendEach(bench, call);
    await bench.deliver();
    const { lane, dueAt, claimedAt } = await rowOf(bench, call);
    expect([lane, (dueAt ?? 0) - (claimedAt ?? 0)]).toEqual(["results:webhook", 240 * minuteMs]);
  });

  it("is left as it is by a callback if its provider reports nothing", async () => {
    const telnyx = { provider: "telnyx", connection: "c", from: "+12025550100" };
    const bench = createDialerBench({ plan: { agents: { agent_sales: telnyx }, results: {} } });
    bench.answer = async () => ({ kind: "placed", providerCallId: "v3:1" });
    const call = aCallNow(bench);
    await sendEach(bench, call);
    await bench.deliver();
    const row = await rowOf(bench, call);
    expect(row).toMatchObject({ state: "PLACED", lane: null, dueAt: null });
    const hint = { kind: "callback", account: "telnyx" } as const;
    const claim = row.claims.at(-1) ?? "";
    await bench.eventsQueue.send({ ...hint, call: { id: call.id, claim } });
    expect(await bench.deliverEvents()).toEqual(["ack"]);
    expect(await rowOf(bench, call)).toEqual(row);
  });

  it("is unknown within hours if the plan loses the account of a live call, as its client awaits an end", async () => {
    const events = { "*": { url: "http://127.0.0.1:9/events", types: ["call.ended"] } };
    const bench = createBench({}, { events });
    const call = aCallNow(bench);
    await sendEach(bench, call);
    await bench.deliver();
    await pollAfter(bench, 1);
    const other = { provider: "vapi", agent: "a", from: "n" };
    bench.changePlan({ agents: { agent_sales: other }, results: {}, events });
    bench.record = boom;
    for (let hour = 0; hour < 5; hour++) await pollAfter(bench, 60);
    expect(await rowOf(bench, call)).toMatchObject({ result: { status: "unknown" }, dueAt: null });
    expect(bench.posted.map(({ body }) => body.type)).toEqual(["call.ended"]);
  });

  it("is neither asked about nor looked up once results are off", async () => {
    const bench = createDialerBench({ plan: { ...twilio, results: {} } });
    bench.answer = async () => ({ kind: "placed", providerCallId: "CA_1" });
    const [placed, unknown] = [aCallNow(bench), aCallNow(bench)];
    await sendEach(bench, placed);
    await bench.deliver();
    await putIn(bench, "NEEDS_REVIEW", unknown, { route });
    bench.changePlan(twilio);
    bench.find = boom;
    bench.advance(3 * minuteMs);
    await bench.sweep();
    expect(bench.eventsQueue.take()).toEqual([]);
    expect(await callback(bench, unknown)).toEqual(["ack"]);
  });
});
