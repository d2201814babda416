import { describe, expect, it } from "vitest";
import type { Searched } from "#shared/answers/answers.ts";
import type { SplitView } from "#functions/operator/splits.ts";
import type { Why } from "#functions/operator/why.ts";
import { toSplitMark } from "#shared/calls/split-mark.ts";
import { roundKeyOf, resultsKeyOf } from "#shared/policy/split-rounds.ts";
import { aCallNow, callsNow, putDocument, putIn } from "#test/support/dialer-calls.ts";
import { tokens } from "#test/support/environment.ts";
import { callsOf, createForecastBench } from "#test/support/forecast-bench.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const webhook = (name: string) => ({ provider: "webhook", url: `http://127.0.0.1:9/${name}` });
const half = { agent_a: 50, agent_b: 50 };
const agents = { agent_a: webhook("a"), agent_b: webhook("b") };
// The token `salesOnly` has the right to agent_sales, and none to its arms.
const plan = { agents: { ...agents, agent_sales: { split: half } }, results: {} };

/** Results of an arm that are not shown before the verdict. */
const hidden = { answered: null, completed: null, answered_share: null, completed_share: null };

const createBench = (more: object = {}) => createForecastBench({ ...plan, ...more });
const read = async (bench: ReturnType<typeof createBench>) =>
  (await bench.operator<{ splits: SplitView[] }>("/splits")).splits;

describe("a request to a split", () => {
  it("needs the right to the split, and none to its arms", async () => {
    const bench = createBench();
    expect((await bench.post(callsOf(2), tokens.salesOnly)).status).toBe(201);
    const refused = await bench.post(callsOf(1, { agent_id: "agent_a" }), tokens.salesOnly);
    expect(refused.status).toBe(422);
    expect(await refused.text()).toContain("is not one of this token's agents");
  });

  it("is refused for what any arm that may get it refuses", async () => {
    const never = { sun: ["09:00-10:00"] };
    const withHours = (split: object) =>
      createBench({
        agents: {
          ...agents,
          agent_b: { ...agents.agent_b, callingHours: "never" },
          agent_sales: { split },
        },
        callingHours: { default: "always", never },
        expireAfterHours: 24,
      });
    const refused = await withHours(half).post(callsOf(1));
    expect(refused.status).toBe(422);
    expect(await refused.text()).toContain("closed by callingHours.never");
    expect((await withHours({ agent_a: 1, agent_b: 0 }).post(callsOf(1))).status).toBe(201);
  });

  it(
    "is dialed by the arms that the forecast named, in this round and before it",
    inSlowTier,
    async () => {
      for (const isFirst of [true, false]) {
        const bench = createBench({
          providers: { other: { type: "webhook" } },
          agents: {
            ...agents,
            agent_b: { ...agents.agent_b, provider: "other" },
            agent_sales: { split: half },
          },
        });
        if (!isFirst) {
          await bench.post(callsOf(1));
          await bench.dialer.simulate(5);
        }
        const { items = [] } = await bench.forecast(callsOf(20));
        const accounts = items.map(({ account }) => account);
        expect(new Set(accounts).size).toBe(2);
        const before = bench.dialer.dialed.length;
        await bench.post(callsOf(20));
        await bench.dialer.simulate(60);
        const dialed = bench.dialer.dialed.slice(before);
        const byNumber = new Map(
          dialed.map(({ call, route }) => [call.request.phone_number, route]),
        );
        expect(callsOf(20).map(({ phone_number }) => byNumber.get(phone_number)?.account)).toEqual(
          accounts.map((account) => account?.split(":")[0]),
        );
      }
    },
  );
});

describe("operators", () => {
  it("ask why calls to a split wait, pause it, and are told what to cancel", async () => {
    const bench = createBench();
    const send = (path: string, body: object) =>
      bench.app.request(`/operator${path}`, jsonRequest(tokens.operator, "POST", body));
    expect((await send("/pause", { agent_id: "agent_sales" })).status).toBe(200);
    await bench.post(callsOf(6));
    await bench.dialer.simulate(10);
    const why = await bench.operator<Why>("/why?agent_id=agent_sales");
    expect(why.calls).toBe(6);
    expect(why.holders).toMatchObject([{ reason: "paused", name: "agent agent_sales", calls: 6 }]);
    expect(bench.dialer.dialed).toEqual([]);
    const refused = await send("/cancel", { agent_id: "agent_sales" });
    expect(refused.status).toBe(422);
    expect(await refused.text()).toContain("cancel those of agent_a, agent_b");
  });

  it("find it by its name, and by the beginning of that", async () => {
    const { app } = createBench();
    const found = async (text: string) => {
      const posted = jsonRequest(tokens.operator, "POST", { text });
      const answer: Searched = JSON.parse(
        await (await app.request("/operator/search", posted)).text(),
      );
      return [answer.found, answer.suggested];
    };
    const split = [{ kind: "split", id: "agent_sales" }];
    expect(await found("agent_sales")).toEqual([split, []]);
    expect(await found("Agent_S")).toEqual([[], split]);
  });

  it("ask why calls wait whose arm has left the split", async () => {
    const { dialer, operator } = createBench({ agents: { ...plan.agents, agent_c: webhook("c") } });
    const split = toSplitMark({ name: "agent_sales", since: 0 });
    for (const call of callsNow(dialer, 2, { agent_id: "agent_c" }, { split }))
      await putIn(dialer, "WAITING", call, { reason: "paused" });
    await putIn(dialer, "WAITING", aCallNow(dialer, { agent_id: "agent_c" }));
    expect((await operator<Why>("/why?agent_id=agent_sales")).calls).toBe(2);
    expect((await operator<Why>("/why?agent_id=agent_c")).calls).toBe(3);
  });

  it("see how many chains are missing, and no difference before the verdict", async () => {
    const bench = createBench();
    expect(await read(bench)).toMatchObject([
      { agent_id: "agent_sales", since: null, detect_points: 5, size: 1_570, verdict: null },
    ]);
    const since = bench.dialer.now();
    const of = { name: "agent_sales", since };
    const round = { key: "0123456789abcdef", arms: half, detectPoints: 5, since };
    await putDocument(bench.dialer, roundKeyOf("agent_sales"), round);
    await bench.dialer.documents.addAll([
      {
        ...resultsKeyOf(of, "agent_a"),
        kind: "split-results",
        counters: { ended: 70, answered: 60, completed: 56 },
        expiresAt: since + 1e9,
      },
    ]);
    const [{ arms, verdict } = { arms: [], verdict: null }] = await read(bench);
    expect(arms).toMatchObject([
      { agent_id: "agent_a", weight: 50, ended: 70, ...hidden, missing: 1_500 },
      { agent_id: "agent_b", ended: 0, ...hidden, missing: 1_570 },
    ]);
    expect(verdict).toBeNull();
  });

  it("see the verdict as it was spoken, and what else differs between the arms", async () => {
    const bench = createBench({
      agents: {
        ...agents,
        agent_b: {
          ...agents.agent_b,
          callingHours: "late",
          callBacks: { within: "14d", most: 2 },
        },
        agent_sales: { split: half, detectPoints: 20 },
      },
      callingHours: { default: "always", late: "always" },
    });
    const since = bench.dialer.now();
    const verdict = {
      at: since,
      arms: {
        agent_a: { ended: 80, answered: 60, completed: 48 },
        agent_b: { ended: 70, answered: 60, completed: 56 },
      },
    };
    const round = { key: "0123456789abcdef", arms: half, detectPoints: 20, since, verdict };
    await putDocument(bench.dialer, roundKeyOf("agent_sales"), round);
    const [split] = await read(bench);
    expect(split).toMatchObject({
      differs: ["callBacks", "callingHours", "url"],
      verdict: { first: "agent_a", arms: [{ agent_id: "agent_b", completes: "more" }] },
    });
    // The example of the interval's author: 56 of 70 less 48 of 80.
    expect(split?.verdict?.arms[0]?.completed.low).toBeCloseTo(0.0524, 4);
    expect(split?.verdict?.arms[0]?.completed.high).toBeCloseTo(0.3339, 4);
  });
});
