import { describe, expect, it } from "vitest";
import { createAccountRecords } from "#functions/dialer/dispatch/account-records.ts";
import { createInFlight } from "#functions/dialer/dispatch/in-flight.ts";
import { backlogOf } from "#shared/calls/call-row.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  documentOf,
  type Bench,
  idsDispatched,
  putDocument,
  putWaiting,
  webhook,
} from "#test/support/dialer-calls.ts";
import { firstOf } from "#test/support/first-of.ts";
import { inSlowTier } from "#test/support/per-tier.ts";
import { pauseKeyOf } from "#shared/rules/pause.ts";

const startAt = "2026-06-01T10:00Z";
const account = "webhook:http://127.0.0.1:9";
const of = { client: "crm", agentId: "agent_sales" };
const noted = async (bench: Bench) =>
  (await documentOf(bench, "dispatcher", "dispatcher"))?.value.accounts[account];

describe("a dispatcher that follows another one", () => {
  it(
    "gives out no moment of a slow pace twice, so that two clients take turns",
    inSlowTier,
    async () => {
      const bench = createDialerBench({
        startAt,
        plan: { providers: { webhook: { callsPerSecond: 0.05 } } },
      });
      bench.deps.dispatcher = { ...bench.deps.dispatcher, endsIdle: false };
      for (const client of ["a", "b"]) await putWaiting(bench, 50, 0, { client });
      await bench.simulate(1200);
      const clients = bench.dialed.map(({ call }) => call.client);
      expect(clients.length).toBeGreaterThanOrEqual(59);
      expect(clients).toEqual(clients.map((_, index) => (index % 2 === 0 ? "a" : "b")));
    },
  );

  it(
    "finds the rows of the last moments in the document, and none of an account without a pace",
    inSlowTier,
    async () => {
      for (const [providers, most] of [
        [{ webhook: { callsPerSecond: 2 } }, 8],
        [{}, 0],
      ] as const) {
        const bench = createDialerBench({ startAt, plan: { providers } });
        await putWaiting(bench, 300, 0);
        for (let look = 0; look < 3; look++) {
          await bench.dispatch();
          bench.advance(1000);
        }
        const rows = (await noted(bench))?.sent ?? [];
        expect(rows.length).toBeLessThanOrEqual(most);
        expect(rows.length > 0).toBe(most > 0);
      }
    },
  );
});

describe("rows that were handed out", () => {
  it("by the dispatcher before are not handed out again until ten seconds are over", async () => {
    const bench = createDialerBench({ startAt });
    const row = firstOf(await putWaiting(bench, 1, 0));
    const at = bench.now();
    const sent = [{ id: row.id, dueAt: at, backlog: backlogOf({ ...of, client: row.client }), at }];
    const entry = { client: "", agents: {}, completed: [], allowance: 0, why: null, sent };
    const value = { holder: null, since: at, beatAt: at, accounts: { [account]: entry } };
    await putDocument(bench, { kind: "dispatcher", key: "dispatcher" } as const, value);
    await bench.dispatch();
    expect(idsDispatched(bench)).toEqual([]);
    bench.advance(10_001);
    await bench.dispatch();
    expect(idsDispatched(bench)).toEqual([row.id]);
  });

  it("and that the queue refused are handed out at the next look", async () => {
    const bench = createDialerBench({ startAt });
    bench.deps.dispatcher = { ...bench.deps.dispatcher, endsIdle: false };
    const [row] = await putWaiting(bench, 1, 0);
    const { queue } = bench.deps;
    let isRefused = false;
    bench.deps.queue = {
      ...queue,
      async sendMany(messages) {
        if (isRefused) return queue.sendMany(messages);
        isRefused = true;
        return 0;
      },
    };
    await bench.simulate(4, { dispatchEverySeconds: 3600 });
    expect(bench.dialed.map(({ call }) => call.id)).toEqual([row?.id]);
  });
});

describe("the reason for which an account stands still", () => {
  it("is a pause only while the pause lasts", () => {
    const entry = { client: "", agents: {}, completed: [], allowance: 0, why: null, sent: [] };
    const notes = createAccountRecords({ [account]: entry });
    const why = () => notes.toDocument(createInFlight(), { paced: new Set() })[account]?.why;
    notes.beginTick(new Set([account]));
    expect(why()).toBe("paused");
    notes.beginTick(new Set());
    expect(why()).toBeNull();
  });
});

describe("rows that a delivery leaves as they are", () => {
  it(
    "after a failure of their backlog are handed out again within seconds",
    inSlowTier,
    async () => {
      const bench = createDialerBench({ startAt });
      bench.deps.dispatcher = { ...bench.deps.dispatcher, endsIdle: false };
      const bad = new Set<string>();
      // Each tenth call of one client fails.
      bench.answer = async ({ id, client }) => {
        await bench.sleep(100);
        if (client !== "bad") return { kind: "placed" };
        bad.add(id);
        return bad.size % 10 === 0 ? { kind: "unknown", code: "http_500" } : { kind: "placed" };
      };
      await putWaiting(bench, 1200, 0, { client: "bad" });
      await putWaiting(bench, 1200, 0, { client: "good" });
      await bench.simulate(60, { consumers: 10 });
      const good = bench.dialed.filter(({ call }) => call.client === "good");
      expect(good).toHaveLength(1200);
      const times = good.map(({ at }) => at).toSorted((a, b) => a - b);
      const gaps = times.slice(1).map((at, index) => at - (times[index] ?? at));
      expect(Math.max(...gaps)).toBeLessThan(3000);
    },
  );
});

describe("why an account stands still", () => {
  it("is no longer a pause once its agent is resumed, even if nothing is due", async () => {
    const bench = createDialerBench({ startAt, plan: { agents: { agent_sales: webhook } } });
    await putWaiting(bench, 1, 600_000);
    const key = pauseKeyOf({ agent: "agent_sales" });
    const order = { of: { agent: "agent_sales" }, at: bench.now(), by: "ops" };
    await putDocument(bench, key, order);
    await bench.dispatch();
    expect((await noted(bench))?.why).toBe("paused");
    await bench.documents.remove([
      { ...key, seen: (await documentOf(bench, "pause", key.key))?.version ?? "" },
    ]);
    bench.advance(5000);
    await bench.dispatch();
    expect((await noted(bench))?.why).toBeNull();
  });
});

describe("the accounts of the dispatcher's document", () => {
  const entry = { client: "", agents: {}, completed: [0, 0], allowance: 25, why: null, sent: [] };
  const paced = new Set<string>();

  it("are those with calls that wait, are in flight, or were just completed", () => {
    const inFlight = createInFlight();
    const notes = createAccountRecords({
      left: entry,
      waiting: entry,
      flying: entry,
      completing: { ...entry, completed: [0, 1] },
    });
    inFlight.send({ id: "call_1", dueAt: 0, backlog: "crm", account: "flying", at: 0 });
    const namesOf = (waiting?: Set<string>) =>
      Object.keys(notes.toDocument(inFlight, { paced, waiting })).toSorted();
    expect(namesOf(new Set(["waiting"]))).toEqual(["completing", "flying", "waiting"]);
    expect(namesOf()).toEqual(["completing", "flying", "left", "waiting"]);
  });

  it.each([
    ["short", {}],
    ["Japanese", { crm: "営業".repeat(64) }],
  ])(
    "fit into an item of DynamoDB, those with calls in flight first, of %s agents",
    (_, agents) => {
      const inFlight = createInFlight();
      const names = Array.from({ length: 5_000 }, (__, n) => `test:customer-${n}:webhook`);
      const former = Object.fromEntries(names.map((name) => [name, { ...entry, agents }]));
      const notes = createAccountRecords(former);
      const flying = names.at(-1) ?? "";
      inFlight.send({ id: "call_1", dueAt: 0, backlog: "crm", account: flying, at: 0 });
      const accounts = notes.toDocument(inFlight, { paced, waiting: new Set(names) });
      expect(accounts).toHaveProperty([flying]);
      const { byteLength } = Buffer.from(JSON.stringify(accounts));
      expect(byteLength).toBeGreaterThan(200_000);
      expect(byteLength).toBeLessThan(300_000);
    },
  );

  it("are forgotten with their backlogs, such as those of test clients", inSlowTier, async () => {
    const bench = createDialerBench({ startAt });
    for (let n = 0; n < 3; n++) await putWaiting(bench, 1, 0, { client: `test:customer-${n}` });
    await bench.simulate(60);
    const accountsOf = async () =>
      Object.keys((await documentOf(bench, "dispatcher", "dispatcher"))?.value.accounts ?? {});
    expect(await accountsOf()).not.toEqual([]);
    await bench.simulate(86_400, { sweepSeconds: 600, dispatchEverySeconds: 600 });
    expect(await accountsOf()).toEqual([]);
  });
});
