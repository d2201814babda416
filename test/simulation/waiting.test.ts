import { sweep } from "#test/support/entries.ts";
import { describe, expect, it } from "vitest";
import { createDialerMemory } from "#functions/dialer/runtime/memory.ts";
import { backlogOf } from "#shared/calls/call-row.ts";
import { toCallId, createRequestId } from "#shared/calls/ids.ts";
import { randomId } from "#shared/lib/random.ts";
import { agents, benchOf, dayMs, hostAccount, placed, post, waitingRows } from "./rules-bench.ts";
import { cancellationKeyOf } from "#shared/policy/cancellation-orders.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

describe("a sweep", () => {
  it("runs alone", async () => {
    const bench = benchOf();
    let looks = 0;
    bench.breakLedger({
      due: async (query) => {
        if (query.lanes[0]?.key === "watch") looks += 1;
        await bench.sleep(1000);
        return bench.rows.due(query);
      },
    });
    void sweep(bench.deps, bench.now() + 120_000);
    for (let turn = 0; turn < 5; turn++) await new Promise((done) => setImmediate(done));
    await bench.sweep();
    expect(looks).toBeLessThan(2);
  });

  it("records the time of the last full round, and not of a failed one", async () => {
    const bench = benchOf();
    await waitingRows(bench, 1);
    await bench.sweep();
    const sweepOf = async () =>
      (await bench.documents.read([{ kind: "sweep", key: "sweep" }])).get("sweep", "sweep")?.value;
    const first = (await sweepOf())?.fullRoundAt;
    expect(first).toBe(bench.now());
    bench.advance(60_000);
    bench.breakLedger({ due: () => Promise.reject(new Error("unreachable")) });
    await bench.sweep();
    expect((await sweepOf())?.fullRoundAt).toBe(first);
  });

  it(
    "keeps the document of a used backlog, and removes that of an unused one",
    inSlowTier,
    async () => {
      const bench = benchOf();
      await waitingRows(bench, 1);
      const key = backlogOf({ client: "crm", agentId: "agent_sales" });
      const stands = async () =>
        (await bench.documents.read([{ kind: "backlog", key }])).get("backlog", key) !== undefined;
      await bench.run(120);
      expect(bench.dialed).toHaveLength(1);
      expect(await stands()).toBe(true);
      bench.advance(3 * 3_600_000);
      await bench.sweep();
      bench.advance(3_600_000);
      await bench.sweep();
      expect(await stands()).toBe(false);
    },
  );

  it("turns a lapsed claim UNKNOWN, and then NEEDS_REVIEW", async () => {
    const bench = benchOf();
    const [id = ""] = await post(bench, 1);
    bench.breakLedger({
      write: (changes) =>
        changes[0]?.next.state === "DIALING"
          ? bench.rows.write(changes)
          : new Promise(() => undefined),
    });
    void bench.deliver();
    await bench.simulate(2);
    bench.repairLedger();
    await bench.simulate(120);
    expect((await bench.row(id))?.state).toBe("UNKNOWN");
    await bench.simulate(600);
    expect((await bench.row(id))?.state).toBe("NEEDS_REVIEW");
  });
});

describe("dispatchers", () => {
  it(
    "let the clients of an account take turns, each where the last one stood",
    inSlowTier,
    async () => {
      // The account has one or two permits in the life of a dispatcher.
      const plan = { providers: { webhook: { callsPerSecond: 0.02 } } };
      const bench = benchOf({ plan });
      await waitingRows(bench, 40, { client: "a" });
      await waitingRows(bench, 40, { client: "b" });
      await bench.simulate(1800);
      const of = (client: string) =>
        bench.dialed.filter(({ call }) => call.client === client).length;
      expect(bench.dialed.length).toBeGreaterThan(30);
      expect(Math.abs(of("a") - of("b"))).toBeLessThan(3);
    },
  );
});

describe("a row that waits", () => {
  it("goes before a fresh call, where its account has a pace", inSlowTier, async () => {
    const bench = benchOf({ plan: { providers: { webhook: { callsPerSecond: 1 } } } });
    await waitingRows(bench, 200);
    await bench.simulate(20);
    const [id = ""] = await post(bench, 1);
    await bench.simulate(30);
    expect(bench.dialed.length).toBeGreaterThan(20);
    expect((await bench.row(id))?.state).toBe("WAITING");
  });

  it("is not written while its backlog's document cannot be", async () => {
    const bench = benchOf();
    bench.breakDocuments({
      write: async (changes) => changes.map(({ next }) => next.kind !== "backlog"),
    });
    bench.answer = async () => ({
      kind: "not_placed",
      code: "rate_limited",
      retryAfterSeconds: 60,
    });
    const [id = ""] = await post(bench, 1);
    bench.breakDocuments({
      write: async (changes) =>
        changes[0]?.next.kind === "backlog"
          ? changes.map(() => false)
          : bench.documents.write(changes),
    });
    await bench.deliver();
    expect((await bench.row(id))?.state).not.toBe("WAITING");
  });

  it("is found though its backlog was last used long ago", async () => {
    const bench = benchOf();
    await waitingRows(bench, 1);
    await bench.run(60);
    bench.advance(100 * 60_000);
    bench.deps.memory = createDialerMemory();
    bench.answer = async () => ({
      kind: "not_placed",
      code: "rate_limited",
      retryAfterSeconds: 600,
    });
    await post(bench, 1);
    await bench.deliver();
    const key = backlogOf({ client: "crm", agentId: "agent_sales" });
    const read = await bench.documents.read([{ kind: "backlog", key }]);
    expect(read.get("backlog", key)?.value.usedAt).toBeGreaterThan(bench.now() - 60_000);
  });
});

describe("a call that must not be made", () => {
  it("waits where its hours are closed", async () => {
    const callingHours = { default: { "mon-sun": ["13:00-14:00"] } }; // it is eight there
    const bench = benchOf({ plan: { callingHours } });
    const [id = ""] = await post(bench, 1);
    await bench.deliver();
    expect(bench.dialed).toHaveLength(0);
    expect((await bench.row(id))?.dueAt).toBeGreaterThan(bench.now() + 4 * 3_600_000);
  });

  it("is ended where its agent's calls were cancelled after it was accepted", async () => {
    const bench = benchOf();
    const [id = ""] = await post(bench, 1);
    const key = cancellationKeyOf({ agent: "agent_sales" });
    const order = { client: null, at: bench.now() + 1, by: "operator", indexes: null };
    const value = { of: { agent: "agent_sales" }, orders: [order] };
    const next = { ...key, version: randomId(), value, expiresAt: null };
    await bench.documents.write([{ next, seen: null }]);
    await bench.deliver();
    expect(bench.dialed).toHaveLength(0);
    expect((await bench.row(id))?.state).toBe("CANCELLED");
  });
});

describe("a resend", () => {
  it("repeats the first request, however often, and reaches review in time", async () => {
    const agent_again = { ...agents.agent_sales, idempotent: true };
    const bench = benchOf({ plan: { agents: { ...agents, agent_again } } });
    const attempts: number[] = [];
    bench.answer = async (_, __, attempt) => {
      attempts.push(attempt);
      return { kind: "unknown", code: "http_500" };
    };
    const [id = ""] = await post(bench, 1, { agent: "agent_again" });
    await bench.simulate(280);
    expect(attempts.length).toBeGreaterThan(2);
    expect(new Set(attempts)).toEqual(new Set([1]));
    await bench.simulate(120);
    expect((await bench.row(id))?.state).toBe("NEEDS_REVIEW");
  });
});

describe("a purge", () => {
  it("deletes rows only after the retention, and logs unresolved ones", async () => {
    const bench = benchOf();
    bench.answer = async () => ({ kind: "forbidden", code: "http_403" });
    const [id = ""] = await post(bench, 1);
    await bench.deliver();
    bench.advance(50 * dayMs);
    bench.advance(3_600_000);
    await bench.upkeep();
    expect(await bench.row(id)).toBeDefined();
    bench.advance(11 * dayMs);
    bench.advance(3_600_000);
    await bench.upkeep();
    expect(await bench.row(id)).toBeUndefined();
    expect(bench.eventsOf("call.purged")).toMatchObject([{ call_id: id, state: "NEEDS_REVIEW" }]);
  });

  it("is followed by no call when a message is delivered again", async () => {
    const bench = benchOf();
    const requestId = createRequestId(bench.now(), randomId());
    const calls = [
      { index: 0, request: { phone_number: "+12025550001", agent_id: "agent_sales" } },
    ];
    const message = {
      kind: "calls",
      requestId,
      client: "crm",
      acceptedAt: bench.now(),
      calls,
    } as const;
    await bench.send({ ...message, calls: [...calls] });
    await bench.deliver();
    bench.advance(61 * dayMs);
    bench.advance(3_600_000);
    await bench.upkeep();
    await bench.send({ ...message, calls: [...calls] });
    await bench.deliver();
    expect(bench.dialed).toHaveLength(1);
    expect(await bench.row(toCallId(requestId, 0))).toBeUndefined();
  });
});

describe("an account that hangs", () => {
  const agent_other = { provider: "other", url: "https://two.example/dial" };
  const plan = {
    agents: { ...agents, agent_other },
    providers: { other: { type: "webhook", concurrency: 1 } },
  };

  it("holds no more than half of the places while another waits", async () => {
    const bench = benchOf({ plan, concurrency: 4 });
    const dispatched = (ids: readonly string[], account: string) =>
      ids.map((id) => ({ id, account }));
    let underWay = 0;
    let others = 0;
    let most = 0;
    bench.answer = async (_, route) => {
      const isOther = route.account === "other";
      if (isOther) others += 1;
      else underWay += 1;
      if (others > 0 && others < 6) most = Math.max(most, underWay);
      await bench.sleep(1_000);
      if (!isOther) underWay -= 1;
      return placed;
    };
    const all = [
      ...dispatched(await waitingRows(bench, 12), hostAccount),
      ...dispatched(
        await waitingRows(bench, 6, { agent: "agent_other" }),
        "other:https://two.example",
      ),
    ];
    await bench.send({ kind: "dispatch", rows: all });
    await bench.deliver();
    expect(others).toBe(6);
    expect(most).toBe(2);
  });
});
