import { describe, expect, it } from "vitest";
import { createSimulation, host, placed, shapes } from "#test/simulation/dispatch-bench.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  allIn,
  type Bench,
  callsNow,
  idsDialed,
  idsDispatched,
  iso,
  putIn,
  putWaiting,
  sendRequest,
  statesOf,
  webhook,
} from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const startAt = "2026-06-01T10:00Z";
const paced = (callsPerSecond: number, more: object = {}) => ({
  providers: { webhook: { callsPerSecond, ...more } },
});
const createBench = (plan: object) => createDialerBench({ startAt, plan });
/** Counts the first dialed calls of each client. */
const countsOf = ({ dialed }: Bench, clients: readonly string[], first: number) =>
  clients.map(
    (client) => dialed.slice(0, first).filter(({ call }) => call.client === client).length,
  );

describe("the turns of an account", () => {
  it("go round robin over its clients, as long as each has calls", async () => {
    const bench = createBench(paced(1));
    await putWaiting(bench, 3000, 0, { client: "large" });
    await putWaiting(bench, 40, 0, { client: "middle" });
    await putWaiting(bench, 5, 0, { client: "small" });
    await bench.simulate(120);
    const clients = ["large", "middle", "small"];
    expect(bench.dialed.length).toBeGreaterThan(100);
    expect(countsOf(bench, clients, 15)).toEqual([5, 5, 5]);
    expect(countsOf(bench, clients, 65)).toEqual([30, 30, 5]);
    expect(countsOf(bench, clients, 85)).toEqual([40, 40, 5]);
  });

  it("go over a client's agents in turn: a client with ten agents gets no more than one with one", async () => {
    const agents = Object.fromEntries(
      Array.from({ length: 10 }, (_, n) => [`agent_${n}`, { ...webhook }]),
    );
    const bench = createBench({ ...paced(2), agents });
    for (const agent_id of Object.keys(agents)) {
      for (const call of callsNow(bench, 10, { agent_id }, { client: "ten" })) {
        await putIn(bench, "WAITING", call, { dueAt: bench.now() });
      }
    }
    for (const call of callsNow(bench, 100, { agent_id: "agent_3" }, { client: "one" })) {
      await putIn(bench, "WAITING", call, { dueAt: bench.now() });
    }
    await bench.simulate(40);
    const [ofOne = 0, ofTen = 0] = countsOf(bench, ["one", "ten"], 60);
    // Until its first answer a backlog has five calls in flight at most.
    expect(ofTen - ofOne).toBeLessThanOrEqual(6);
    const its = bench.dialed.slice(0, 60).filter(({ call }) => call.client === "ten");
    const counts = [...Map.groupBy(its, ({ call }) => call.request.agent_id).values()].map(
      ({ length }) => length,
    );
    expect(counts).toHaveLength(10);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  });

  it("continue after the backlog that was served last, whatever dispatcher comes", async () => {
    const bench = createBench(paced(0.02));
    const clients = ["a", "b", "c", "d", "e"];
    for (const client of clients) await putWaiting(bench, 20, 0, { client });
    await bench.simulate(500);
    expect(bench.dialed.length).toBeGreaterThanOrEqual(9);
    expect(bench.dialed.map(({ call }) => call.client).slice(0, 10)).toEqual(
      [...clients, ...clients].slice(0, bench.dialed.length),
    );
  });

  it("have a client that comes late served within a round", async () => {
    const bench = createBench(paced(1));
    for (let n = 0; n < 10; n++) await putWaiting(bench, 100, 0, { client: `client ${n}` });
    await bench.simulate(100);
    const from = bench.now();
    const [late] = await putWaiting(bench, 1, 0, { client: "zz late" });
    await bench.simulate(30);
    const at = bench.dialed.find(({ call }) => call.id === late?.id)?.at ?? Infinity;
    expect(at - from).toBeLessThanOrEqual(10_000 + 11_000); // ten seconds and a round of eleven backlogs
  });

  it("are not slowed by another account that hangs", async () => {
    const bad = { provider: "webhook", url: "http://127.0.0.2:9/dial" };
    const bench = createBench({ agents: { bad, agent_sales: webhook } });
    bench.answer = async ({ request }) => {
      if (request.agent_id !== "bad") return { kind: "placed" };
      await bench.sleep(25_000);
      return { kind: "unknown", code: "time_out" };
    };
    for (const call of callsNow(bench, 300, { agent_id: "bad" })) {
      await putIn(bench, "WAITING", call, { dueAt: bench.now() });
    }
    const good = await putWaiting(bench, 300, 0);
    await bench.simulate(15, { consumers: 10 });
    expect(await statesOf(bench, good)).toEqual(allIn(good, "PLACED"));
  });
});

describe("more slow accounts than have a place at once", () => {
  it("are all served alike, and the only call of another goes soon", async () => {
    const names = Array.from({ length: 40 }, (_, index) => `agent_${index + 10}`);
    const agents = Object.fromEntries([...names, "new"].map((name) => [name, host(name)]));
    const answer = () => ({ ms: 5_000, outcome: placed });
    const { bench, post, pass, waits } = createSimulation({
      shape: shapes.small,
      plan: { agents },
      answer,
    });
    for (const name of names) await post(name, name, 200);
    await pass(30);
    const only = await post("zz new", "new", 1);
    await pass(180);
    const dialed = Map.groupBy(bench.dialed, ({ call }) => call.request.agent_id);
    const counts = names.map((name) => dialed.get(name)?.length ?? 0);
    expect(Math.max(...counts) / Math.min(...counts)).toBeLessThan(2.5);
    expect(waits(only)[0]).toBeLessThan(15);
  });
});

describe("the calls of a backlog", () => {
  it.each([8, 60])(
    "that wait for their hours are dialed in their order, %i of them, none ahead of its hours",
    inSlowTier,
    async (count) => {
      const callingHours = { default: { "mon-sun": ["12:00-20:00"] } };
      const bench = createBench({ callingHours, ...paced(0.2) });
      bench.advance(37_000);
      const ids = (await sendRequest(bench, count, { timezone: "UTC" })).map(({ id }) => id);
      bench.advance(1000);
      ids.push(...(await sendRequest(bench, 30, { timezone: "UTC" })).map(({ id }) => id));
      await bench.simulate(4 * 3600);
      expect(idsDialed(bench)).toEqual(ids);
      const [first = 0, ...others] = bench.dialed.map(({ at }) => at);
      expect(first).toBeGreaterThanOrEqual(Date.parse("2026-06-01T12:00:02Z"));
      expect(first).toBeLessThanOrEqual(Date.parse("2026-06-01T12:01:05Z"));
      for (const [n, at] of others.entries()) expect(at - first).toBe((n + 1) * 5000);
    },
  );

  it.each([1, 3])("that wait for their hours, %i of them, hold no others before", async (few) => {
    const { url } = webhook;
    const bench = createBench({
      agents: {
        agent_sales: { provider: "webhook", url, callingHours: "late" },
        agent_support: { provider: "webhook", url },
      },
      callingHours: { default: "always", late: { "mon-sun": ["10:01-20:00"] } },
      ...paced(1),
    });
    await sendRequest(bench, few, { timezone: "UTC", agent_id: "agent_sales" });
    await bench.simulate(5);
    const ids = (await sendRequest(bench, 20, { timezone: "UTC", agent_id: "agent_support" })).map(
      ({ id }) => id,
    );
    await bench.simulate(300);
    expect(idsDialed(bench).slice(0, 20)).toEqual(ids);
    expect(bench.dialed[19]?.at).toBeLessThanOrEqual(Date.parse("2026-06-01T10:00:30Z"));
    expect(bench.dialed).toHaveLength(20 + few);
  });

  it.each([
    { burst: 1, before: 0 },
    { burst: 2, before: 0 },
    { burst: 5, before: 3 },
  ])(
    "are dialed in their order, though few of a message may go at once (burst $burst, $before before)",
    async ({ burst, before }) => {
      const bench = createBench(paced(1, { burst }));
      const ids: string[] = [];
      if (before > 0) ids.push(...(await sendRequest(bench, before)).map(({ id }) => id));
      await bench.simulate(1);
      ids.push(...(await sendRequest(bench, 21)).map(({ id }) => id));
      await bench.simulate(120);
      const dialed = idsDialed(bench);
      if (before === 0) expect(dialed).toEqual(ids);
      // Fresh calls take permits that were meant for dispatched rows: such a row goes again after ten seconds.
      expect(dialed.toSorted()).toEqual(ids.toSorted());
      for (const [place, id] of ids.entries()) {
        expect(dialed.indexOf(id) - place).toBeLessThanOrEqual(15);
      }
    },
  );

  it("are dialed at their times, none before, and those due first first", async () => {
    const bench = createBench({});
    bench.deps.dispatcher = { ...bench.deps.dispatcher, endsIdle: false };
    const from = bench.now();
    const calls = [];
    for (const inMs of [74_000, 30_001, -5_000, 30_000]) {
      calls.push(...(await putWaiting(bench, 1, inMs)));
    }
    await bench.simulate(80);
    const [later, soon, due, sooner] = calls;
    expect(idsDialed(bench)).toEqual([due, sooner, soon, later].map((call) => call?.id));
    for (const [n, dueMs] of [0, 30_000, 30_001, 74_000].entries()) {
      const late = (bench.dialed[n]?.at ?? 0) - from - dueMs;
      expect(late).toBeGreaterThanOrEqual(0);
      expect(late).toBeLessThanOrEqual(2_500);
    }
  });

  it(
    "due in hours are dialed when they are due, though nobody has used their backlog since",
    inSlowTier,
    async () => {
      const bench = createBench({});
      const [call] = await putWaiting(bench, 1, 20 * 3600_000);
      await bench.simulate(19.99 * 3600);
      expect(bench.dialed).toEqual([]);
      await bench.simulate(100 + 36);
      expect(idsDialed(bench)).toEqual([call?.id]);
    },
  );

  it("get their turn after everything stood still for hours", async () => {
    const bench = createBench({});
    const [call] = await putWaiting(bench, 1, 180_000);
    bench.advance(5 * 3600_000);
    await bench.dispatch();
    expect(idsDispatched(bench)).toEqual([call?.id]);
    await bench.deliver();
    expect(idsDialed(bench)).toEqual([call?.id]);
    expect(iso(bench.dialed[0]?.at)).toBe("2026-06-01T15:00:00");
  });
});
