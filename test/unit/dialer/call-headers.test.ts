import { describe, expect, it } from "vitest";
import { backlogOf, waitingLaneOf } from "#shared/calls/call-row.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  type Bench,
  callsNow,
  documentOf,
  idsDialed,
  idsDispatched,
  message,
  neverCall,
  ownAccount,
  putDocument,
  putIn,
  putWaiting,
  request,
  rowOf,
  stateOf,
  webhook,
} from "#test/support/dialer-calls.ts";
import { toCallId } from "#shared/calls/ids.ts";
import type { ListOf } from "#shared/ports/ledger.ts";
import { aRequestId } from "#test/support/calls.ts";
import { firstOf } from "#test/support/first-of.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const startAt = "2026-06-01T10:00Z";
const minuteMs = 60_000;
const paced = { providers: { webhook: { callsPerSecond: 1 } } };
const idsOf = (calls: readonly { id: string }[]) => calls.map(({ id }) => id);

describe("a call with Call-Not-Before", () => {
  const later = (bench: Bench, ms: number) => ({ notBefore: bench.now() + ms });

  it("waits for that time as a row, and is dialed then", async () => {
    const bench = createDialerBench({ startAt });
    const call = aCallNow(bench, {}, later(bench, 10 * minuteMs));
    await bench.send(message(call));
    await bench.deliver();
    expect(await rowOf(bench, call)).toMatchObject({
      state: "WAITING",
      reason: "not_before",
      dueAt: call.notBefore,
      notBefore: call.notBefore,
      isUrgent: false,
    });
    await bench.simulate(9 * 60 + 50);
    expect(bench.dialed).toEqual([]);
    await bench.simulate(30);
    expect(await stateOf(bench, call)).toBe("PLACED");
    expect(bench.dialed[0]?.at).toBeGreaterThanOrEqual(call.notBefore ?? Infinity);
  });

  it("of a large request waits as long, each of them", async () => {
    const bench = createDialerBench({ startAt });
    const requestId = aRequestId(bench.now());
    const calls = callsNow(bench, 30, {}, later(bench, 2 * minuteMs)).map((call, index) => ({
      ...call,
      requestId,
      id: toCallId(requestId, index),
    }));
    await bench.send(request(calls));
    await bench.simulate(115);
    expect(bench.dialed).toEqual([]);
    await bench.simulate(30);
    expect(bench.dialed).toHaveLength(30);
  });

  it("whose time is past is dialed at once", async () => {
    const bench = createDialerBench({ startAt });
    const call = aCallNow(bench, {}, later(bench, -minuteMs));
    await bench.send(message(call));
    await bench.simulate(5);
    expect(idsDialed(bench)).toEqual([call.id]);
  });

  it("waits for its hours after that time", async () => {
    const callingHours = { default: { "mon-sun": ["12:00-20:00"] } };
    const bench = createDialerBench({ startAt, plan: { callingHours } });
    const call = aCallNow(bench, { timezone: "UTC" }, later(bench, minuteMs));
    await bench.send(message(call));
    await bench.simulate(90);
    expect(await rowOf(bench, call)).toMatchObject({
      state: "WAITING",
      reason: "hours:callingHours.default",
    });
  });

  it("expires as long after its acceptance as any other", async () => {
    const plan = { expireAfterHours: 1 };
    const bench = createDialerBench({ startAt, plan: { ...plan, ...paced } });
    const call = aCallNow(bench, {}, later(bench, 50 * minuteMs));
    await bench.send(message(call));
    await bench.deliver();
    bench.advance(61 * minuteMs);
    await bench.simulate(60);
    expect(await rowOf(bench, call)).toMatchObject({ state: "EXPIRED", reason: "expired" });
    expect(bench.dialed).toEqual([]);
  });

  it("ends at once if it must never be dialed", async () => {
    const bench = createDialerBench({ startAt });
    const call = aCallNow(bench, {}, later(bench, minuteMs));
    await neverCall(bench, call.request.phone_number);
    await bench.send(message(call));
    await bench.deliver();
    expect(await rowOf(bench, call)).toMatchObject({ state: "REJECTED", reason: "do_not_call" });
  });

  it("is not dialed before it, though its row is due", async () => {
    const bench = createDialerBench({ startAt });
    const call = aCallNow(bench, {}, later(bench, minuteMs));
    await putIn(bench, "WAITING", call, { dueAt: bench.now() }); // as a restore leaves it
    await bench.simulate(50);
    expect(bench.dialed).toEqual([]);
    await bench.simulate(30);
    expect(idsDialed(bench)).toEqual([call.id]);
  });
});

describe("a call with Call-Campaign", () => {
  it.each([1, 30])("keeps it in its row, in a request of %i", async (count) => {
    const bench = createDialerBench({ startAt });
    const requestId = aRequestId(bench.now());
    const calls = callsNow(bench, count, {}, { labels: { campaign: "spring" } }).map(
      (call, index) => ({
        ...call,
        requestId,
        id: toCallId(requestId, index),
      }),
    );
    await bench.send(request(calls));
    await bench.simulate(60);
    for (const call of calls) {
      expect(await rowOf(bench, call)).toMatchObject({
        state: "PLACED",
        labels: { campaign: "spring" },
      });
    }
    const other = aCallNow(bench);
    await bench.send(message(other));
    await bench.simulate(5);
    expect(Object.keys(await rowOf(bench, other))).not.toContain("labels");
    const listed = async (of: ListOf) => idsOf((await bench.rows.list({ ...of, limit: 9 })).rows);
    const [first = other] = calls;
    expect(await listed({ campaign: "spring" })).toEqual([first.id]);
    expect(await listed({ client: "crm" })).toEqual([other.id, first.id]);
    expect(await listed({ agentId: "agent_sales" })).toEqual([other.id, first.id]);
  });

  it("is the same after it has waited", async () => {
    const bench = createDialerBench({ startAt });
    bench.answer = async () => ({ kind: "not_placed", code: "http_429", retryAfterSeconds: 60 });
    const call = aCallNow(bench, {}, { labels: { campaign: "spring" } });
    await bench.send(message(call));
    await bench.simulate(5);
    expect(await rowOf(bench, call)).toMatchObject({
      state: "WAITING",
      labels: { campaign: "spring" },
    });
    bench.answer = async () => ({ kind: "placed", providerCallId: "p1" });
    await bench.simulate(120);
    expect(await rowOf(bench, call)).toMatchObject({
      state: "PLACED",
      labels: { campaign: "spring" },
    });
    expect(bench.dialed.at(-1)?.call.labels).toEqual({ campaign: "spring" });
  });
});

describe("an urgent call", () => {
  it("that waits goes before its client's others, which were due before it", async () => {
    const bench = createDialerBench({ startAt, plan: paced });
    const others = await putWaiting(bench, 3, -minuteMs);
    const urgent = await putWaiting(bench, 2, 0, { urgent: true });
    await bench.dispatch();
    expect(idsDispatched(bench)).toEqual([...idsOf(urgent), ...idsOf(others)]);
  });

  it("goes before those of its client's other agents", async () => {
    const agents = { agent_sales: webhook, agent_care: webhook };
    const bench = createDialerBench({ startAt, plan: { ...paced, agents } });
    const others = await putWaiting(bench, 3, -minuteMs, {
      request: { phone_number: "+12025550123", agent_id: "agent_care" },
    });
    const urgent = await putWaiting(bench, 2, 0, { urgent: true });
    await bench.dispatch();
    expect(idsDispatched(bench)).toEqual([...idsOf(urgent), ...idsOf(others)]);
  });

  it("takes no turn of another client", inSlowTier, async () => {
    const bench = createDialerBench({ startAt, plan: paced });
    await putWaiting(bench, 40, 0, { client: "a", urgent: true });
    await putWaiting(bench, 40, 0, { client: "b" });
    await bench.simulate(40);
    const clients = bench.dialed.slice(0, 30).map(({ call }) => call.client);
    expect(clients.filter((client) => client === "b")).toHaveLength(15);
  });

  it("shares the allowance of its client and agent: five in flight before the first answer", async () => {
    const bench = createDialerBench({ startAt });
    await putWaiting(bench, 20, 0, { urgent: true });
    await putWaiting(bench, 20, 0);
    bench.answer = async () => {
      await bench.sleep(25_000);
      return { kind: "unknown", code: "time_out" };
    };
    await bench.simulate(8);
    expect(bench.dialed).toHaveLength(5);
  });

  it("shares that allowance within a look, too", async () => {
    const bench = createDialerBench({ startAt });
    await putDocument(bench, { kind: "account", key: ownAccount }, { quick: true, busy: false });
    const urgent = await putWaiting(bench, 3, 0, { urgent: true });
    await putWaiting(bench, 20, 0);
    await bench.dispatch();
    expect(idsDispatched(bench).slice(0, 3)).toEqual(idsOf(urgent));
    expect(idsDispatched(bench)).toHaveLength(5);
  });

  it("uses the answer speed of its client's and agent's other calls", async () => {
    const bench = createDialerBench({ startAt });
    await putWaiting(bench, 1, 0, { urgent: true });
    await bench.simulate(10);
    await putWaiting(bench, 20, 0, { urgent: true });
    await bench.dispatch();
    expect(idsDispatched(bench)).toHaveLength(20);
    const of = { client: "crm", agentId: "agent_sales" };
    const own = await documentOf(bench, "backlog", waitingLaneOf({ ...of, isUrgent: true }));
    expect(own?.value).toMatchObject({ ...of, isUrgent: true, answers: null });
    const other = await documentOf(bench, "backlog", backlogOf(of));
    expect(other?.value).toMatchObject({ ...of, answers: "quick" });
    expect(other?.value.isUrgent).toBeUndefined();
  });

  it("that must wait again stays urgent", async () => {
    const bench = createDialerBench({ startAt });
    bench.answer = async () => ({ kind: "not_placed", code: "http_429", retryAfterSeconds: 60 });
    const call = firstOf(await putWaiting(bench, 1, 0, { urgent: true }));
    await bench.simulate(5);
    const { state, lane, isUrgent } = await rowOf(bench, call);
    expect({ state, lane, isUrgent }).toEqual({
      state: "WAITING",
      lane: '["crm","agent_sales","urgent"]',
      isUrgent: true,
    });
  });

  it("keeps the other backlog's document while its own stands, and both go when unused", async () => {
    const bench = createDialerBench({ startAt });
    const call = aCallNow(bench, {}, { urgent: true, notBefore: bench.now() + 5 * 60 * minuteMs });
    await bench.send(message(call));
    await bench.deliver();
    const keys = async () =>
      (await bench.documents.list("backlog", { limit: 9 })).map(({ key }) => key);
    const both = ['["crm","agent_sales","urgent"]', '["crm","agent_sales"]'];
    bench.advance(4 * 60 * minuteMs);
    await bench.sweep();
    expect(await keys()).toEqual(both);
    bench.advance(61 * minuteMs);
    await bench.simulate(30);
    expect(await stateOf(bench, call)).toBe("PLACED");
    for (let hours = 0; hours < 8; hours++) {
      bench.advance(60 * minuteMs);
      await bench.sweep();
    }
    expect(await keys()).toEqual([]);
  });
});
