import { describe, expect, it } from "vitest";
import { createDialerMemory } from "#functions/dialer/runtime/memory.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";
import {
  account,
  backlogOf,
  breakerOf,
  busy,
  createBreakersBench as createBench,
  deliverRows,
  dialEach,
  opened,
  openBreaker,
  own,
  placed,
  probeIn,
  putDue,
  refused,
  unreachable,
  stateOfBreaker,
  times,
} from "#test/support/breakers-bench.ts";
import { allIn, type Bench, statesOf } from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

/** Opens the account's breaker by the silence of two backlogs, those of clients a and b. */
async function openByUnreachable(bench: Bench): Promise<void> {
  await dialEach(bench, times(5, unreachable), { client: "a" });
  await dialEach(bench, times(5, unreachable), { client: "b" });
}

describe("an account's breaker by two of its backlogs", () => {
  it("opens where both are silent, and nobody of the account was answered since the first", async () => {
    const bench = createBench();
    await dialEach(bench, times(5, unreachable), { client: "a" });
    expect(await stateOfBreaker(bench, account)).not.toBe("open");
    await dialEach(bench, times(4, unreachable), { client: "b" });
    expect(await stateOfBreaker(bench, account)).not.toBe("open");
    await dialEach(bench, times(1, unreachable), { client: "b" });
    expect(await breakerOf(bench, account)).toMatchObject({ state: "open", cause: "unreachable" });
    expect(opened(bench)).toEqual([backlogOf("a"), backlogOf("b"), account]);
  });

  it("opens where one is silent and the other one throttled", async () => {
    const bench = createBench();
    await dialEach(bench, times(5, unreachable), { client: "a" });
    await dialEach(bench, [busy(60)], { client: "b" });
    expect(await stateOfBreaker(bench, account)).toBe("open");
  });

  it("does not open by one backlog alone, however long it is in trouble", inSlowTier, async () => {
    const bench = createBench();
    bench.answer = async () => unreachable;
    await putDue(bench, 60);
    await bench.simulate(900);
    expect(bench.dialed.length).toBeGreaterThan(12);
    expect(opened(bench)).toEqual([own]);
  });

  it.each<[string, DialOutcome]>([
    ["placed", placed],
    ["rejected", { kind: "rejected", code: "http_404" }],
  ])("stays closed where another call was answered in between: %s", async (_, answer) => {
    const bench = createBench();
    await dialEach(bench, times(5, unreachable), { client: "a" });
    await dialEach(bench, [answer], { client: "good" });
    await dialEach(bench, times(5, unreachable), { client: "b" });
    expect(opened(bench)).toEqual([backlogOf("a"), backlogOf("b")]);
    expect(await stateOfBreaker(bench, account)).not.toBe("open");
  });

  it("stays closed where another process has seen that answer", async () => {
    const bench = createBench();
    await dialEach(bench, times(5, unreachable), { client: "a" });
    bench.deps.memory = createDialerMemory();
    await dialEach(bench, [placed], { client: "good" });
    bench.deps.memory = createDialerMemory();
    await dialEach(bench, times(5, unreachable), { client: "b" });
    expect(await stateOfBreaker(bench, account)).not.toBe("open");
  });

  it("ignores refused agents and calls", inSlowTier, async () => {
    const bench = createBench();
    for (const client of ["a", "b"]) {
      await dialEach(bench, [{ kind: "route_refused", code: "from_unknown" }], { client });
      const rejected: DialOutcome = { kind: "rejected", code: "http_400" };
      await dialEach(bench, times(20, rejected), { client, agent_id: "agent_other" });
    }
    expect(await stateOfBreaker(bench, account)).toBeUndefined();
    expect(opened(bench)).toHaveLength(4);
  });
});

describe("an account's breaker by ten unanswered in a row", () => {
  it("opens though each of many backlogs has but few calls", async () => {
    const bench = createBench();
    for (let n = 0; n < 9; n++) await dialEach(bench, [unreachable], { client: `client ${n}` });
    expect(await stateOfBreaker(bench, account)).toBeUndefined();
    await dialEach(bench, [unreachable], { client: "client 9" });
    expect(await breakerOf(bench, account)).toMatchObject({ state: "open", cause: "unreachable" });
    expect(opened(bench)).toEqual([account]);
  });

  it("counts anew after an answer", inSlowTier, async () => {
    const bench = createBench();
    for (let n = 0; n < 40; n++) {
      await dialEach(bench, [n % 10 === 9 ? placed : unreachable], { client: `client ${n}` });
    }
    expect(opened(bench)).toEqual([]);
  });

  it("does not open by requests that were sent before the first of them was answered", async () => {
    const bench = createBench({ concurrency: 25 });
    bench.answer = async () => {
      await bench.sleep(1_000);
      return unreachable;
    };
    const calls = [];
    for (let n = 0; n < 24; n++) calls.push(...(await putDue(bench, 1, { client: `client ${n}` })));
    await deliverRows(bench, calls);
    expect(bench.dialed).toHaveLength(24);
    expect(opened(bench)).toEqual([]);
    // The burst was one failure of the run: nine that are sent since open it.
    for (let n = 0; n < 8; n++) await dialEach(bench, [unreachable], { client: `later ${n}` });
    expect(opened(bench)).toEqual([]);
    await dialEach(bench, [unreachable], { client: "later 8" });
    expect(opened(bench)).toEqual([account]);
  });

  it("is not reset by a success whose request was sent before the first of them was answered", async () => {
    const bench = createBench({ concurrency: 25 });
    const [slow] = await putDue(bench, 1, { client: "slow" });
    const early = [];
    for (let n = 0; n < 3; n++) early.push(...(await putDue(bench, 1, { client: `early ${n}` })));
    bench.answer = async ({ client }) => {
      if (client !== "slow") return unreachable;
      await bench.sleep(4_000);
      return placed;
    };
    if (slow === undefined) throw new Error("no call was made");
    await deliverRows(bench, [slow, ...early]);
    expect(await statesOf(bench, [slow])).toEqual(["PLACED"]);
    for (let n = 0; n < 9; n++) await dialEach(bench, [unreachable], { client: `later ${n}` });
    expect(opened(bench)).toEqual([account]);
  });
});

describe("an account's open breaker", () => {
  it("ignores answers to requests that were sent before it opened", async () => {
    const bench = createBench({ concurrency: 25 });
    const [slow] = await putDue(bench, 1, { client: "slow" });
    const failing = [
      ...(await putDue(bench, 5, { client: "a" })),
      ...(await putDue(bench, 5, { client: "b" })),
    ];
    bench.answer = async ({ client }) => {
      await bench.sleep(client === "slow" ? 4_000 : 200);
      return client === "slow" ? placed : unreachable;
    };
    if (slow === undefined) throw new Error("no call was made");
    await deliverRows(bench, [slow, ...failing]);
    expect(await statesOf(bench, [slow])).toEqual(["PLACED"]);
    expect(opened(bench)).toContain(account);
    expect(await stateOfBreaker(bench, account)).toBe("open");
    expect(bench.eventsOf("breaker.closed")).toEqual([]);
    await dialEach(bench, [placed], { client: "good" });
    expect(await stateOfBreaker(bench, account)).toBeUndefined();
  });

  it("is probed at once by a backlog that has not failed, and closes by its success", async () => {
    const bench = createBench();
    await openByUnreachable(bench);
    expect(await probeIn(bench, account)).toBeGreaterThan(3_000);
    const [call] = await putDue(bench, 1, { client: "good" });
    bench.answer = async () => placed;
    const from = bench.now();
    await bench.simulate(3);
    expect(bench.dialed.at(-1)).toMatchObject({ call: { id: call?.id } });
    expect((bench.dialed.at(-1)?.at ?? 0) - from).toBeLessThanOrEqual(2_500);
    expect(await stateOfBreaker(bench, account)).toBeUndefined();
    expect(await stateOfBreaker(bench, backlogOf("a"))).toBe("open");
  });

  it(
    "is probed once at once by each backlog that has not failed, and then by its interval",
    inSlowTier,
    async () => {
      const bench = createBench();
      await openByUnreachable(bench);
      bench.answer = async () => unreachable;
      for (const client of ["c", "d", "e"]) await putDue(bench, 20, { client });
      const from = bench.now();
      await bench.simulate(600);
      const at = bench.dialed.filter((one) => one.at >= from).map((one) => (one.at - from) / 1000);
      expect(at.filter((seconds) => seconds < 8).length).toBeLessThanOrEqual(5);
      expect(at.length).toBeLessThanOrEqual(16);
      expect(new Set(bench.dialed.map(({ call }) => call.client)).size).toBe(5); // all come to their turn
    },
  );

  it("is not probed out of turn where it was refused", async () => {
    const bench = createBench();
    await dialEach(bench, [refused], { client: "a" });
    await putDue(bench, 5, { client: "good" });
    await bench.simulate(50);
    expect(bench.dialed).toHaveLength(1);
  });

  it(
    "lets all backlogs continue within seconds of recovery, at most doubling from look to look",
    inSlowTier,
    async () => {
      const bench = createBench();
      await openByUnreachable(bench);
      bench.answer = async () => unreachable;
      const calls = [];
      for (const client of ["c", "d", "e"]) calls.push(...(await putDue(bench, 100, { client })));
      await bench.simulate(60);
      bench.answer = async () => placed;
      await bench.simulate(180);
      expect(await statesOf(bench, calls)).not.toContain("WAITING");
    },
  );

  it("and its backlog's close by one success", async () => {
    const bench = createBench();
    await openBreaker(bench, account, { cause: "unreachable", probeAt: bench.now() });
    await openBreaker(bench, own, { cause: "unreachable", probeAt: bench.now() });
    bench.advance(1);
    await dialEach(bench, [placed]);
    expect(await stateOfBreaker(bench, account)).toBeUndefined();
    expect(await stateOfBreaker(bench, own)).toBeUndefined();
    expect(bench.eventsOf("breaker.closed")).toMatchObject([
      { breaker: account },
      { breaker: own },
    ]);
  });

  it("leaves other accounts alone", async () => {
    const bench = createBench();
    await openByUnreachable(bench);
    bench.answer = async (_, route) => (route.provider === "webhook" ? placed : unreachable);
    const others = await putDue(bench, 30, { agent_id: "hook" });
    await bench.simulate(30);
    expect(await statesOf(bench, others)).toEqual(allIn(others, "PLACED"));
  });
});
