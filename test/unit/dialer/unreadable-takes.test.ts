import { createBench } from "#test/support/results-bench.ts";
import { describe, expect, it } from "vitest";
import { liveKeysOf } from "#shared/rules/live-calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  type Bench,
  callsNow,
  hashOf,
  neverCall,
  putIn,
  sendEach,
  statesOf,
  webhook,
} from "#test/support/dialer-calls.ts";

// Documents count what a claimed call takes. One that only a later version can read holds the calls that it counts.

const plan = { maxCalls: { count: 1, days: 1 } };

async function putLater(bench: Bench, kind: "cap" | "live-calls" | "do-not-call", key: string) {
  const value = { entries: "later", at: "later" };
  const next = { kind, key, version: "later", value, expiresAt: null };
  await bench.documents.write([{ next, seen: null }]);
}

describe.each([true, false])("where calls share statements: %s", (sharesStatements) => {
  it("a cap that only a later version can read holds the calls to its number", async () => {
    const bench = createDialerBench({ plan });
    bench.deps.sharesStatements = sharesStatements;
    const [held, other] = callsNow(bench, 2);
    if (held === undefined || other === undefined) throw new Error("there are two");
    await putLater(bench, "cap", hashOf(held.request.phone_number));
    await sendEach(bench, held, other);
    await bench.deliver();
    expect(bench.dialed.map(({ call }) => call.id)).toEqual([other.id]);
    expect(await statesOf(bench, [held, other])).toEqual(["WAITING", "PLACED"]);
  });
});

it("live calls that only a later version can read hold the calls of their account", async () => {
  const bench = createBench({}, { providers: { twilio: { callsPerSecond: 50, liveCalls: 20 } } });
  const [key] = liveKeysOf("twilio", 20);
  await putLater(bench, "live-calls", key?.key ?? "");
  const calls = callsNow(bench, 2);
  await sendEach(bench, ...calls);
  await bench.deliver();
  expect(bench.dialed).toEqual([]);
  expect(await statesOf(bench, calls)).toEqual(["WAITING", "WAITING"]);
});

it.each([
  ["a cap", "cap"],
  ["an entry of the do-not-call list", "do-not-call"],
] as const)(
  "%s that only a later version can read lets the calls behind its own one go",
  async (_, kind) => {
    const bench = createDialerBench({
      plan: { ...plan, providers: { webhook: { callsPerSecond: 0.1 } } },
    });
    const [held, other] = callsNow(bench, 2);
    if (held === undefined || other === undefined) throw new Error("there are two");
    await putIn(bench, "WAITING", held, { dueAt: bench.now() });
    await putIn(bench, "WAITING", other, { dueAt: bench.now() + 1 });
    await neverCall(bench, "+13035559999");
    await putLater(bench, kind, hashOf(held.request.phone_number));
    await bench.simulate(60);
    expect(await statesOf(bench, [held, other])).toEqual(["WAITING", "PLACED"]);
  },
);

it("a cap that only a later version can read, of a call with checks, has no message come again and again", async () => {
  const agents = { agent_sales: { ...webhook, checks: ["crm"] } };
  const checks = { crm: { url: "http://127.0.0.1:9/crm" } };
  const bench = createDialerBench({ plan: { ...plan, agents, checks } });
  const [held, other] = callsNow(bench, 2);
  if (held === undefined || other === undefined) throw new Error("there are two");
  await putLater(bench, "cap", hashOf(held.request.phone_number));
  await sendEach(bench, held, other);
  await bench.simulate(240);
  expect(await statesOf(bench, [held, other])).toEqual(["WAITING", "PLACED"]);
  expect(bench.asked).toHaveLength(1);
  expect(bench.queued()).toEqual([]);
});
