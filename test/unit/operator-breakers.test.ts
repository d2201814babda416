import { describe, expect, it } from "vitest";
import { testPlan } from "../support/environment.ts";
import {
  createOperatorBench as createBench,
  hostAccount,
  isoOf,
  minuteMs,
  now,
} from "../support/operator-bench.ts";

describe("open breakers of GET /operator/pauses", () => {
  it("show their subject and their failures", async () => {
    const { breakers, open, put, breakersOf } = createBench();
    const { account, route } = breakersOf("agent_sales");
    for (const key of [account, route, "agent:agent_sales"]) await open(key);
    await put("failures", account, { answered: 2, unanswered: 7, inRow: 5 });
    await put("failures", "agent:agent_sales", { http_404: 20 });
    const times = { opened_at: isoOf(now - minuteMs), probe_at: isoOf(now + minuteMs) };
    const all = { code: "http_500", ...times };
    expect(await breakers()).toEqual(
      [
        {
          ...all,
          key: account,
          kind: "account",
          name: hostAccount,
          failures: { unanswered: 7, in_row: 5 },
        },
        {
          ...all,
          key: "agent:agent_sales",
          kind: "agent",
          name: "agent_sales",
          failures: { refusals: { http_404: 20 } },
        },
        {
          ...all,
          key: route,
          kind: "route",
          name: route.slice("route:".length),
          failures: null,
          agents: ["agent_sales"],
        },
      ].toSorted((one, other) => (one.key < other.key ? -1 : 1)),
    );
  });

  it("name every agent of the plan that shares a route, and none where the plan was corrected since", async () => {
    const sales = testPlan.agents.agent_sales;
    const { breakers, open, breakersOf } = createBench({
      ...testPlan.agents,
      twin: sales,
      "*": sales,
    });
    await open(breakersOf("agent_sales").route);
    await open("route:0123456789abcdef");
    expect(await breakers()).toMatchObject(
      [
        { key: breakersOf("twin").route, agents: ["agent_sales", "twin", "*"] },
        { key: "route:0123456789abcdef", agents: [] },
      ].toSorted((one, other) => (one.key < other.key ? -1 : 1)),
    );
  });

  it("have no failures where the counters were reset or have expired", async () => {
    const { breakers, open, put } = createBench();
    await open("account:vapi");
    await open("agent:agent_sales");
    await put("failures", "account:vapi", {});
    await put("failures", "agent:agent_sales", { http_404: 20 }, now);
    expect(await breakers()).toMatchObject([{ failures: null }, { failures: null }]);
  });
});
