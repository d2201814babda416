import { describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { applyAction, type Write } from "#shared/calls/transitions.ts";
import { changeRows } from "#functions/dialer/record/change-rows.ts";
import { rowStep } from "#shared/policy/usage.ts";
import { toTryId } from "#shared/calls/tries.ts";
import { hourMs } from "#shared/lib/units.ts";
import { resultsIn, resultsKeyOf, roundKeyOf } from "#shared/policy/split-rounds.ts";
import type { CallbackReport } from "#shared/providers/provider.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { aCallNow, message, pause, rowOf, webhook } from "#test/support/dialer-calls.ts";
import { busy, completed, nothing } from "#test/support/results-bench.ts";

const signed = { body: "{}", headers: {}, receivedAt: 1 };
const callBacks = { within: "14d", most: 2 };
const retry = { attempts: 2, within: "24h", after: { busy: "15m", voicemail: "3h" } };
const noAnswer = { ...nothing, status: "no_answer", word: "no-answer" } as const;
const voicemail = { ...completed, status: "voicemail", human: false } as const;

/** Dials a call to a split of one agent, which has these rules. */
async function dial(rules: object) {
  const agents = { agent_a: { ...webhook, ...rules }, agent_any: { split: { agent_a: 1 } } };
  const bench = createDialerBench({ startAt: "2026-11-24T12:00Z", plan: { agents, results: {} } });
  bench.answer = async ({ id }) => ({ kind: "placed", providerCallId: `ring_${id}` });
  const call = aCallNow(bench, { agent_id: "agent_any", timezone: "UTC" });
  await bench.send(message(call));
  await bench.simulate(60);
  const next = { id: toTryId(call.id, 2) };
  const report = async ({ id }: { id: string }, one: object) => {
    const { claims } = await rowOf(bench, { id });
    const reported = { kind: "reported", result: completed, ...one } as CallbackReport;
    bench.told = async () => reported;
    const of = { kind: "callback", account: "webhook", signed } as const;
    await bench.eventsQueue.send({ ...of, call: { id, claim: claims[0] ?? "" } });
    for (let n = 0; n < 3; n++) await bench.deliverEvents();
  };
  const results = async () => {
    const round = (await bench.documents.read([roundKeyOf("agent_any")])).get("split", "agent_any");
    const of = { name: "agent_any", since: round?.value.since ?? 0 };
    const read = await bench.documents.read([resultsKeyOf(of, "agent_a")]);
    return resultsIn(read, of, "agent_a");
  };
  const wished = new Date(bench.now() + 5 * hourMs).toISOString();
  const passHours = (hours: number) => bench.simulate(hours * 3600, { sweepSeconds: 600 });
  return { bench, call, next, report, results, wished, passHours };
}

const one = { ended: 1, answered: 1, completed: 1 };
const unanswered = { ended: 1, answered: 0, completed: 0 };

describe("a chain of a split", () => {
  it("counts as the conversation ended, whatever comes of the promised call-back", async () => {
    const { bench, call, next, report, results, wished, passHours } = await dial({ callBacks });
    await report(call, { wished });
    expect(await results()).toEqual(one);
    await passHours(6);
    expect(bench.dialed).toHaveLength(2);
    await report(next, { result: noAnswer });
    expect(await rowOf(bench, next)).toMatchObject({ result: { status: "no_answer" } });
    expect(await results()).toEqual(one);
  });

  it("counts as the conversation ended, if the call-back is cancelled", async () => {
    const { bench, call, next, report, results, wished } = await dial({ callBacks });
    await report(call, { wished });
    const cancel = { action: { to: "CANCELLED" }, by: "operator" } as const;
    const change = (row: CallRow, write: Write) => applyAction(row, cancel, write);
    await changeRows([await rowOf(bench, next)], change, bench.deps);
    expect(await rowOf(bench, next)).toMatchObject({ state: "CANCELLED" });
    expect(await results()).toEqual(one);
  });

  it("counts once, if the callee's wish makes a call-back of the retry", async () => {
    const rules = { callBacks, retry };
    const { bench, call, next, report, results, wished, passHours } = await dial(rules);
    await report(call, { result: voicemail });
    expect((await results()).ended).toBe(0);
    await report(call, { result: voicemail, wished });
    expect(await rowOf(bench, next)).toMatchObject({ reason: "call_back" });
    expect(await results()).toEqual({ ...one, completed: 0 });
    await passHours(6);
    await report(next, {});
    expect(await results()).toEqual({ ...one, completed: 0 });
  });

  it("counts as its last call ended, if the retry expires, and no more once that is redialed", async () => {
    const { bench, call, next, report, results, passHours } = await dial({
      retry: { ...retry, within: "4h" },
    });
    await report(call, { result: busy });
    await pause(bench, { agent: "agent_a" });
    await passHours(1);
    expect(await results()).toEqual({ ...unanswered, ended: 0 });
    await passHours(5);
    const row = await rowOf(bench, next);
    expect(row).toMatchObject({ state: "EXPIRED" });
    expect(await results()).toEqual(unanswered);
    const redial = { action: { to: "REDIALED", redialedAs: call.id }, by: "operator" } as const;
    const redialed = applyAction(row, redial, { version: "v", at: bench.now() });
    expect(redialed && rowStep(redialed, bench.now()).chains).toEqual({ busy: -1 });
  });

  it("counts as its last call ended, if the retry is cancelled because the call was placed", async () => {
    const { bench, call, next, report, results } = await dial({ retry });
    await report(call, { result: voicemail });
    await report(call, {});
    expect(await rowOf(bench, next)).toMatchObject({ state: "CANCELLED" });
    expect((await results()).ended).toBe(1);
  });

  it("counts with its retry, once that is placed", async () => {
    const { bench, call, next, report, results, passHours } = await dial({ retry });
    await report(call, { result: busy });
    await passHours(1);
    expect(bench.dialed).toHaveLength(2);
    expect((await results()).ended).toBe(0);
    await report(next, {});
    expect(await results()).toEqual(one);
  });

  it("keeps no result in the retries of agents outside of splits", async () => {
    const { bench, report, passHours } = await dial({ retry });
    const call = aCallNow(bench, { agent_id: "agent_a", timezone: "UTC" });
    await bench.send(message(call));
    await bench.simulate(60);
    await report(call, { result: busy });
    await passHours(1);
    expect((await rowOf(bench, { id: toTryId(call.id, 2) })).tries).not.toHaveProperty(
      "lastResult",
    );
  });
});
