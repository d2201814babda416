import { dispatch } from "#test/support/entries.ts";
import { describe, expect, it } from "vitest";
import { restoreKey } from "#shared/policy/ledger-epoch.ts";
import { suspendedAt } from "#test/support/document-values.ts";
import { countQueries } from "#test/support/count-queries.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  type Bench,
  callsNow,
  documentOf,
  idsDispatched,
  inUtc,
  loseDispatches,
  pause,
  putDocument,
  putWaiting,
  resume,
  statesOf,
  webhook,
} from "#test/support/dialer-calls.ts";
import { firstOf } from "#test/support/first-of.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const startAt = "2026-06-01T10:00Z";
const dispatcherOf = async (bench: Bench) =>
  (await documentOf(bench, "dispatcher", "dispatcher"))?.value;
const begin = (bench: Bench) => dispatch(bench.deps, bench.now() + 900_000);
const idle = () => new Promise((resolve) => setImmediate(resolve));

describe("dispatchers", () => {
  it("run one at a time: another one ends at once while the first beats", async () => {
    const bench = createDialerBench({ startAt });
    bench.deps.dispatcher = { ...bench.deps.dispatcher, endsIdle: false };
    void begin(bench);
    for (let n = 0; n < 20; n++) await idle();
    const { holder } = (await dispatcherOf(bench)) ?? {};
    expect(holder).not.toBeNull();
    await begin(bench); // it ends without any time that passes
    expect((await dispatcherOf(bench))?.holder).toBe(holder);
  });

  it("end ten seconds before their invocation does", async () => {
    const bench = createDialerBench({ startAt });
    bench.deps.dispatcher = { ...bench.deps.dispatcher, endsIdle: false };
    const startedAt = bench.now();
    let endedAt = Infinity;
    void dispatch(bench.deps, startedAt + 30_000).then(() => (endedAt = bench.now()));
    await bench.simulate(40, { dispatchEverySeconds: 3600 });
    expect(endedAt - startedAt).toBeGreaterThanOrEqual(18_000);
    expect(endedAt - startedAt).toBeLessThanOrEqual(22_000);
  });

  it("that begin at the same moment end but for one, which dispatches each row once", async () => {
    const bench = createDialerBench({ startAt });
    await putWaiting(bench, 3, 0);
    void begin(bench);
    void begin(bench);
    for (let n = 0; n < 20; n++) await idle();
    expect(idsDispatched(bench)).toHaveLength(3);
  });

  it("follow one that has not beaten for ten seconds", async () => {
    const bench = createDialerBench({ startAt });
    const beat = (beatAt: number) =>
      putDocument(bench, { kind: "dispatcher", key: "dispatcher" } as const, {
        holder: "dead",
        since: bench.now() - 20_000,
        beatAt,
        accounts: {},
      });
    await putWaiting(bench, 1, 0);
    await beat(bench.now() - 9_000);
    await bench.dispatch();
    expect(idsDispatched(bench)).toEqual([]);
    await beat(bench.now() - 10_000);
    await bench.dispatch();
    expect(idsDispatched(bench)).toHaveLength(1);
  });

  it("continue the turns where the last dispatcher stopped", inSlowTier, async () => {
    const plan = { providers: { webhook: { callsPerSecond: 0.1 } } };
    const bench = createDialerBench({ startAt, plan });
    for (const client of ["a", "b", "c", "d"]) await putWaiting(bench, 30, 0, { client });
    await bench.simulate(600);
    const counts = Map.groupBy(bench.dialed, ({ call }) => call.client);
    for (const own of counts.values()) {
      expect(Math.abs(own.length - bench.dialed.length / 4)).toBeLessThanOrEqual(2);
    }
    expect(counts.size).toBe(4);
  });

  it("are woken by whoever writes a row that is due, where none beats", async () => {
    const bench = createDialerBench({ startAt, isNew: true });
    let woken = 0;
    bench.deps.wakeDispatcher = async () => void (woken += 1);
    const call = firstOf(callsNow(bench, 1));
    await bench.send({
      kind: "calls",
      requestId: call.requestId,
      client: call.client,
      acceptedAt: call.acceptedAt,
      calls: [{ index: 0, request: call.request }],
    });
    await bench.deliver();
    expect(woken).toBe(1);
  });
});

describe("a dispatcher", () => {
  it("dispatches a row once, and again ten seconds later if it still stands", async () => {
    const bench = createDialerBench({ startAt });
    const { lost } = loseDispatches(bench);
    const [call] = await putWaiting(bench, 1, 0);
    bench.deps.dispatcher = { ...bench.deps.dispatcher, endsIdle: false };
    await bench.simulate(9);
    expect(lost).toEqual([call?.id]);
    await bench.simulate(5);
    expect(lost).toEqual([call?.id, call?.id]);
  });

  it("dispatches nothing of a paused agent, account or client until it is resumed", async () => {
    for (const what of [{ agent: "agent_sales" }, { account: "webhook" }, { client: "crm" }]) {
      const bench = createDialerBench({ startAt });
      await pause(bench, what);
      const calls = await putWaiting(bench, 3, 0);
      await bench.simulate(30);
      expect(bench.dialed).toEqual([]);
      expect(Object.values((await dispatcherOf(bench))?.accounts ?? {})).toMatchObject([
        { why: "paused" },
      ]);
      await resume(bench, what);
      await bench.simulate(61);
      expect(await statesOf(bench, calls)).toEqual(["PLACED", "PLACED", "PLACED"]);
    }
  });

  it("has at most five calls of a backlog in flight until its first answer", async () => {
    const bench = createDialerBench({ startAt, concurrency: 25, consumers: 20 });
    let underWay = 0;
    let most = 0;
    bench.answer = async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await bench.sleep(1_500);
      underWay -= 1;
      return { kind: "unknown", code: "http_500" };
    };
    await putWaiting(bench, 100, 0);
    await bench.simulate(20);
    expect(most).toBe(5);
  });

  it("gives slow calls at most half of the connections, in messages of their own", async () => {
    const hosts = Array.from({ length: 20 }, (_, n) => `host${n}`);
    const agents = Object.fromEntries(
      hosts.map((name) => [name, { provider: "webhook", url: `https://${name}.example/` }]),
    );
    const plan = { agents: { ...agents, agent_sales: webhook } };
    const bench = createDialerBench({ startAt, plan, isNew: true, consumers: 10 });
    bench.answer = async () => {
      await bench.sleep(25_000);
      return { kind: "unknown", code: "time_out" };
    };
    for (const agent_id of hosts) {
      const [first] = callsNow(bench, 1);
      if (first !== undefined)
        await putWaiting(bench, 10, 0, { request: { ...first.request, agent_id } });
    }
    await bench.dispatch();
    // One of each account: 25 are half of the connections.
    expect(idsDispatched(bench)).toHaveLength(20);
    for (const one of bench.queued()) {
      expect(one.kind === "dispatch" && one.rows.length).toBeLessThanOrEqual(5);
    }
  });

  it("dispatches 800 calls of a pace before it knows how fast they go", inSlowTier, async () => {
    const plan = { providers: { webhook: { callsPerSecond: 1000 } } };
    const bench = createDialerBench({ startAt, plan });
    await putWaiting(bench, 5, 0);
    await bench.simulate(60); // the backlog answers
    await putWaiting(bench, 1_700, 0);
    await bench.dispatch();
    expect(idsDispatched(bench)).toHaveLength(800);
    await bench.simulate(180, { consumers: 20 });
    expect(bench.dialed).toHaveLength(1_705);
  });

  it("lets rows that must not be dialed take no turn, and writes them off", async () => {
    const plan = {
      callingHours: { default: { "mon-sun": ["09:00-17:00"] } },
      providers: { webhook: { callsPerSecond: 0.5 } },
    };
    const bench = createDialerBench({ startAt, plan });
    const request = { phone_number: "+13035550001", agent_id: "agent_sales" };
    const closed = await putWaiting(bench, 3, -10_000, { request });
    const open = await putWaiting(bench, 2, 0, { request: { ...request, ...inUtc() } });
    await bench.dispatch();
    expect(new Set(idsDispatched(bench))).toEqual(new Set(open.map(({ id }) => id)));
    for (const call of closed) {
      expect((await bench.row(call.id))?.dueAt).toBeGreaterThan(bench.now() + 3_600_000);
    }
  });

  it("serves the next client where the turn's rows must not be dialed, though one call may go", async () => {
    const plan = {
      callingHours: { default: { "mon-sun": ["09:00-17:00"] } },
      providers: { webhook: { callsPerSecond: 0.1 } },
    };
    const bench = createDialerBench({ startAt, plan });
    const request = { phone_number: "+13035550001", agent_id: "agent_sales" };
    for (const client of ["a", "b", "c"])
      await putWaiting(bench, 100, -10_000, { client, request });
    const [open] = await putWaiting(bench, 1, 0, {
      client: "z",
      request: { ...request, ...inUtc() },
    });
    await bench.simulate(5);
    expect(bench.dialed.map(({ call }) => call.id)).toEqual([open?.id]);
    // Clients whose first rows may not go do not hold up a client whose open rows stand behind a few closed ones.
    const [behind] = await putWaiting(bench, 1, 0, {
      client: "c",
      request: { ...request, ...inUtc(1) },
    });
    await bench.simulate(60);
    expect(bench.dialed.map(({ call }) => call.id)).toEqual([open?.id, behind?.id]);
  });

  it("dispatches nothing while the ledger counts as restored", async () => {
    const bench = createDialerBench({ startAt });
    await putWaiting(bench, 1, 0);
    await putDocument(bench, restoreKey, suspendedAt(bench.now()));
    await bench.dispatch();
    expect(idsDispatched(bench)).toEqual([]);
  });

  it("has its dispatch ignored by a dialer whose plan routes the call to another account", async () => {
    const bench = createDialerBench({ startAt });
    const [call] = await putWaiting(bench, 1, 0);
    await bench.send({ kind: "dispatch", rows: [{ id: call?.id ?? "", account: "another" }] });
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
  });

  it(
    "takes twelve queries and fewer for a look beside 1,700 paused backlogs",
    inSlowTier,
    async () => {
      const agents = Object.fromEntries(
        Array.from({ length: 340 }, (_, n) => [`held_${n}`, { ...webhook }]),
      );
      const bench = createDialerBench({ startAt, plan: { agents: { ...agents, paced: webhook } } });
      for (const agent_id of Object.keys(agents)) {
        await pause(bench, { agent: agent_id });
        for (const client of ["a", "b", "c", "d", "e"]) {
          const request = { phone_number: "+13035550001", agent_id };
          await putWaiting(bench, 1, 0, { client, request });
        }
      }
      const queries = countQueries({ ledger: bench.rows, documents: bench.documents });
      bench.deps.ledger = queries.ledger;
      bench.deps.documents = queries.documents;
      await bench.dispatch();
      // Two more take over and give back.
      expect(queries.count()).toBeLessThanOrEqual(12 + 3);
    },
  );
});
