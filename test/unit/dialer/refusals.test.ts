import { describe, expect, it } from "vitest";
import type { DialOutcome } from "#shared/providers/provider.ts";
import {
  account,
  backlogOf,
  breakerOf,
  createBreakersBench as createBench,
  deliverRows,
  dialEach,
  gapsSince,
  hookAccount,
  opened,
  own,
  placed,
  probeIn,
  putDue,
  refused,
  stateOfBreaker,
  times,
} from "#test/support/breakers-bench.ts";
import {
  aCallNow,
  allIn,
  dispatchOf,
  documentOf,
  putIn,
  rowOf,
  statesOf,
} from "#test/support/dialer-calls.ts";
import { firstOf } from "#test/support/first-of.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const agentRefused: DialOutcome = { kind: "route_refused", code: "twilio_21210" };
const rejected: DialOutcome = { kind: "rejected", code: "http_422" };
const forbidden: DialOutcome = { kind: "forbidden", code: "http_403" };

describe("a refusal of the account", () => {
  it("opens the account's breaker, which is probed after 1 min to 15 min and closes by a success", async () => {
    const bench = createBench();
    bench.answer = async () => refused;
    const calls = await putDue(bench, 20);
    const others = await putDue(bench, 5, { client: "shop", agent_id: "agent_other" });
    await bench.simulate(30);
    expect(opened(bench)).toEqual([account]);
    expect(bench.eventsOf("breaker.opened")).toMatchObject([{ level: "alarm", code: "http_401" }]);
    expect(await stateOfBreaker(bench, own)).toBeUndefined();
    // The calls that were under way when the first answer came.
    expect(bench.dialed.length).toBeLessThanOrEqual(4);
    const from = bench.now();
    await bench.simulate(3600);
    const first = (bench.dialed.find(({ at }) => at >= from)?.at ?? 0) - from;
    expect(first).toBeGreaterThanOrEqual(29_000);
    for (const [n, gap] of gapsSince(bench, from).entries()) {
      const least = [60, 120, 240, 480][n] ?? 900;
      expect(gap).toBeGreaterThanOrEqual(least);
      expect(gap).toBeLessThanOrEqual(least + 65); // where nothing may go soon, a dispatcher looks once a minute
    }
    bench.answer = async () => placed;
    await bench.simulate(1200);
    expect(await statesOf(bench, [...calls, ...others])).toEqual(
      allIn([...calls, ...others], "PLACED"),
    );
    expect(await stateOfBreaker(bench, account)).toBeUndefined();
    expect(bench.eventsOf("breaker.closed")).toMatchObject([{ breaker: account }]);
  });

  it("waits a minute for its first probe, however many calls were under way", async () => {
    const bench = createBench({ concurrency: 25 });
    bench.answer = async () => {
      await bench.sleep(400);
      return refused;
    };
    for (const client of ["a", "b", "c", "d"]) await putDue(bench, 5, { client });
    await bench.dispatch();
    await bench.deliver();
    expect(bench.dialed.length).toBeGreaterThan(10);
    expect(await probeIn(bench, account)).toBeGreaterThan(59_000);
    expect(bench.eventsOf("breaker.opened")).toHaveLength(1);
  });

  it("has its row due at once, behind the others of its backlog", async () => {
    const bench = createBench();
    const calls = await putDue(bench, 3);
    bench.advance(60_000);
    const first = firstOf(calls);
    bench.answer = async () => refused;
    await deliverRows(bench, [first]);
    expect(await rowOf(bench, first)).toMatchObject({ state: "WAITING", reason: "http_401" });
    expect((await rowOf(bench, first)).dueAt).toBe(bench.now());
    await bench.simulate(150);
    expect(new Set(bench.dialed.map(({ call }) => call.id)).size).toBe(bench.dialed.length);
    expect(bench.dialed).toHaveLength(3);
  });

  it("of a webhook opens the breaker of its backlog only: another client's calls to the same host continue", async () => {
    const bench = createBench();
    await dialEach(bench, [refused], { agent_id: "hook" });
    expect(await breakerOf(bench, backlogOf("crm", "hook"))).toMatchObject({
      state: "open",
      cause: "account_refused",
    });
    expect(await stateOfBreaker(bench, hookAccount)).toBeUndefined();
    await dialEach(bench, [placed], { agent_id: "hook", client: "shop" });
    await dialEach(bench, [placed]);
    expect(bench.dialed).toHaveLength(3);
  });
});

describe("a refusal of the agent", () => {
  it("opens the backlog's breaker at once, with one alarm, and other backlogs of the account continue", async () => {
    const bench = createBench();
    bench.answer = async ({ request }) =>
      request.agent_id === "agent_sales" ? agentRefused : placed;
    const first = firstOf(await putDue(bench, 1));
    await deliverRows(bench, [first]);
    expect(await rowOf(bench, first)).toMatchObject({ state: "WAITING", reason: "twilio_21210" });
    expect(await breakerOf(bench, own)).toMatchObject({ state: "open", cause: "agent_refused" });
    expect(await probeIn(bench, own)).toBeGreaterThan(59_000);
    const rest = await putDue(bench, 9);
    const others = await putDue(bench, 10, { agent_id: "agent_other" });
    await bench.simulate(50);
    expect(await statesOf(bench, others)).toEqual(allIn(others, "PLACED"));
    expect(bench.dialed).toHaveLength(11);
    expect(opened(bench)).toEqual([own]);
    bench.answer = async () => placed;
    await bench.simulate(140);
    expect(await statesOf(bench, [first, ...rest])).toEqual(allIn([first, ...rest], "PLACED"));
  });

  it("raises one alarm an agent, whoever calls it, and another after a placed call", async () => {
    const bench = createBench();
    const levels = () => bench.eventsOf("breaker.opened").map(({ level }) => level);
    for (const client of ["a", "b", "c"]) await dialEach(bench, [agentRefused], { client });
    expect(levels()).toEqual(["alarm", "warning", "warning"]);
    await dialEach(bench, [agentRefused], { agent_id: "agent_other" });
    expect(levels().at(-1)).toBe("alarm");
    bench.advance(60_000);
    await dialEach(bench, [placed], { client: "a" });
    expect(await stateOfBreaker(bench, backlogOf("a"))).toBeUndefined();
    await dialEach(bench, [agentRefused], { client: "a" });
    expect(levels()).toEqual(["alarm", "warning", "warning", "alarm", "alarm"]);
  });

  const absent: DialOutcome = { kind: "route_refused", code: "agent_absent", isAbsent: true };
  const rooms = { provider: "livekit", agent: "caller", trunk: "ST_1" };
  const createLateBench = () => {
    const bench = createBench();
    bench.changePlan({
      agents: { agent_sales: rooms },
      providers: { livekit: { baseUrl: "https://rooms.example", callsPerSecond: 100 } },
    });
    return bench;
  };
  async function dialRooms(bench: ReturnType<typeof createBench>, outcome: DialOutcome) {
    bench.answer = async () => outcome;
    await bench.send(dispatchOf(await putDue(bench, 1), "livekit"));
    await bench.deliver();
    bench.advance(1);
  }

  it("is a late agent's where a call was placed within the hour: soon probed, and no alarm", async () => {
    const bench = createLateBench();
    await dialRooms(bench, placed);
    bench.advance(59 * 60_000);
    await dialRooms(bench, absent);
    expect(await breakerOf(bench, own)).toMatchObject({ state: "open", cause: "busy" });
    expect(await probeIn(bench, own)).toBeLessThanOrEqual(1_000);
    expect(opened(bench)).toEqual([]);
    expect(await stateOfBreaker(bench, "account:livekit")).toBeUndefined();
  });

  it.each([
    ["never", []],
    ["over an hour ago", [placed]],
  ])("is the route's where a call was placed %s", async (_, before) => {
    const bench = createLateBench();
    for (const outcome of before) await dialRooms(bench, outcome);
    bench.advance(61 * 60_000);
    await dialRooms(bench, absent);
    expect(await breakerOf(bench, own)).toMatchObject({ state: "open", cause: "agent_refused" });
    expect(opened(bench)).toEqual([own]);
  });

  it("never counts for the account, whoever is refused", async () => {
    const bench = createBench();
    for (let n = 0; n < 15; n++) {
      await dialEach(bench, [agentRefused], { client: `client ${n}` });
      expect(await breakerOf(bench, backlogOf(`client ${n}`))).toMatchObject({ state: "open" });
    }
    expect(await stateOfBreaker(bench, account)).toBeUndefined();
    expect(await documentOf(bench, "counters", account)).toBeUndefined();
  });

  it("clears with the next probe once the plan is corrected", inSlowTier, async () => {
    const bench = createBench();
    bench.answer = async (_, route) =>
      "from" in route && route.from === "n" ? agentRefused : placed;
    const calls = await putDue(bench, 3);
    await bench.simulate(10);
    const vapi = { provider: "vapi", agent: "a", from: "corrected" };
    bench.changePlan({ agents: { agent_sales: vapi, agent_other: vapi } });
    await bench.simulate(130);
    expect(await statesOf(bench, calls)).toEqual(allIn(calls, "PLACED"));
  });
});

const blamed: DialOutcome = { kind: "rejected", code: "twilio_21211", blamesNumber: true };

describe("refusals that blame the number", () => {
  it(
    "open the backlog's breaker after fifty different numbers in a row, whatever the codes",
    inSlowTier,
    async () => {
      const bench = createBench();
      for (let n = 0; n < 49; n++) {
        await dialEach(bench, [n % 2 === 0 ? blamed : { ...blamed, code: "twilio_21217" }]);
      }
      await dialEach(bench, [rejected]); // neither placed nor blamed: it ends no run
      expect(await stateOfBreaker(bench, own)).toBeUndefined();
      await dialEach(bench, [blamed]);
      expect(await breakerOf(bench, own)).toMatchObject({
        state: "open",
        cause: "calls_refused",
        code: "numbers_blamed",
      });
      expect(bench.eventsOf("breaker.opened")).toMatchObject([
        {
          level: "alarm",
          breaker: own,
          problem: expect.stringMatching(
            /^50 different numbers in a row were blamed.*check.*format/,
          ),
        },
      ]);
      await dialEach(bench, [placed], { agent_id: "agent_other" });
      expect(bench.dialed).toHaveLength(52);
    },
  );

  it(
    "let one call go less and less often from then on, until one is placed",
    inSlowTier,
    async () => {
      const bench = createBench();
      await dialEach(bench, times(50, blamed));
      bench.answer = async () => blamed;
      const calls = await putDue(bench, 60);
      const from = bench.now();
      await bench.simulate(120);
      expect(Math.min(...gapsSince(bench, from))).toBeGreaterThanOrEqual(8);
      expect(await statesOf(bench, calls)).toEqual(allIn(calls, "WAITING"));
      const counted = (await documentOf(bench, "counters", `${own} refusals`))?.value ?? {};
      expect(Object.keys(counted)).toHaveLength(50);
      bench.answer = async () => placed;
      await bench.simulate(130);
      expect(await stateOfBreaker(bench, own)).toBeUndefined();
      expect(await statesOf(bench, calls)).toEqual(allIn(calls, "PLACED"));
      expect((await documentOf(bench, "counters", `${own} refusals`))?.value ?? {}).toEqual({});
    },
  );

  it(
    "count each number once, in whichever process, and store a part of its hash alone",
    inSlowTier,
    async () => {
      const bench = createBench();
      bench.answer = async () => blamed;
      let hash = "";
      for (let n = 0; n < 60; n++) {
        const call = aCallNow(bench);
        const row = await putIn(bench, "WAITING", call, { dueAt: bench.now() });
        hash = row.numberHash;
        await bench.send(dispatchOf([call], "vapi"));
        await bench.deliver();
        bench.deps.memory.breakers.countedNumbers.clear(); // as another process has it
      }
      expect(opened(bench)).toEqual([]);
      const { value } = (await documentOf(bench, "counters", `${own} refusals`)) ?? {};
      expect(value).toEqual({ [`number ${hash.slice(-12)}`]: 1 });
    },
  );

  it("that ask for a later try count for nothing", inSlowTier, async () => {
    const bench = createBench();
    const later: DialOutcome = { kind: "not_placed", code: "telnyx_d9", blamesNumber: true };
    await dialEach(bench, times(60, later));
    expect(opened(bench)).toEqual([]);
  });
});

describe("refusals of calls", () => {
  it.each<[string, DialOutcome]>([
    ["422", rejected],
    ["404", { kind: "rejected", code: "http_404" }],
    ["403, which goes to a person", forbidden],
  ])(
    "open the backlog's breaker after twenty equal ones of different numbers: %s",
    inSlowTier,
    async (_, outcome) => {
      const bench = createBench();
      await dialEach(bench, times(19, outcome));
      expect(await stateOfBreaker(bench, own)).toBeUndefined();
      await dialEach(bench, [outcome]);
      expect(await breakerOf(bench, own)).toMatchObject({ state: "open", cause: "calls_refused" });
      expect(await stateOfBreaker(bench, account)).toBeUndefined();
      await dialEach(bench, [placed], { agent_id: "agent_other" });
      expect(bench.dialed).toHaveLength(21);
    },
  );

  it.each([rejected, forbidden])(
    "use up no list: probes go less and less often, each of another number, and wait again: %o",
    inSlowTier,
    async (refusal) => {
      const bench = createBench();
      await dialEach(bench, times(20, refusal));
      bench.answer = async () => refusal;
      const calls = await putDue(bench, 60);
      const from = bench.now();
      await bench.simulate(3600, { firstSweepSeconds: 100_000 });
      const probes = bench.dialed.filter(({ at }) => at >= from);
      expect(probes.length).toBeGreaterThanOrEqual(8);
      expect(new Set(probes.map(({ call }) => call.id)).size).toBe(probes.length);
      const least = [8, 16, 32, 60, 120, 240, 480];
      for (const [n, gap] of gapsSince(bench, from).slice(0, 7).entries()) {
        expect(gap).toBeGreaterThanOrEqual(least[n] ?? 0);
      }
      expect(await statesOf(bench, calls)).toEqual(allIn(calls, "WAITING"));
      expect(await breakerOf(bench, own)).toMatchObject({ refused: 20 + probes.length });
      // The address was corrected.
      bench.answer = async () => placed;
      await bench.simulate(2000);
      expect(await stateOfBreaker(bench, own)).toBeUndefined();
      expect(await statesOf(bench, calls)).toEqual(allIn(calls, "PLACED"));
    },
  );

  it("raise an alarm at the tenth refused probe, and then once a day", inSlowTier, async () => {
    const bench = createBench();
    await dialEach(bench, times(20, rejected));
    const probe = async () => {
      bench.advance((await probeIn(bench, own)) + 1);
      await dialEach(bench, [rejected]);
    };
    for (let probes = 0; probes < 9; probes++) await probe();
    expect(bench.eventsOf("breaker.refusing")).toEqual([]);
    await probe();
    expect(bench.eventsOf("breaker.refusing")).toMatchObject([{ level: "alarm", count: 30 }]);
    for (let hours = 0; hours < 23; hours++) await probe();
    expect(bench.eventsOf("breaker.refusing")).toHaveLength(1);
    for (let hours = 0; hours < 2; hours++) await probe();
    expect(bench.eventsOf("breaker.refusing")).toHaveLength(2);
  });

  it("end a call whose number is blamed, also as a probe", inSlowTier, async () => {
    const bench = createBench();
    await dialEach(bench, times(20, rejected));
    bench.advance((await probeIn(bench, own)) + 1);
    bench.answer = async () => blamed;
    const calls = await putDue(bench, 1);
    await deliverRows(bench, calls);
    expect(await statesOf(bench, calls)).toEqual(["REJECTED"]);
  });

  it.each<[string, (n: number) => DialOutcome]>([
    ["different ones", (n) => ({ kind: "rejected", code: n % 7 === 6 ? "http_400" : "http_404" })],
    ["ones with a success between them", (n) => (n % 15 === 14 ? placed : rejected)],
    [
      "ones that blame the number, with a success between them",
      (n) => (n === 40 ? placed : blamed),
    ],
  ])("open it by none of these: %s", inSlowTier, async (_, answerOf) => {
    const bench = createBench();
    for (let n = 0; n < 60; n++) await dialEach(bench, [answerOf(n)]);
    expect(bench.dialed).toHaveLength(60);
    expect(opened(bench)).toEqual([]);
  });

  it("of one number count once in a process", inSlowTier, async () => {
    const bench = createBench();
    bench.answer = async () => rejected;
    for (let n = 0; n < 40; n++) {
      const call = aCallNow(bench);
      await putIn(bench, "WAITING", call, { dueAt: bench.now() });
      await bench.send(dispatchOf([call], "vapi"));
      await bench.deliver();
    }
    expect(opened(bench)).toEqual([]);
    expect((await documentOf(bench, "counters", `${own} refusals`))?.value).toEqual({
      http_422: 1,
      "in US": 1,
    });
  });
});
