import { describe, expect, it } from "vitest";
import {
  createOperatorBench as createBench,
  hostAccount,
  isoOf,
  minuteMs,
  now,
} from "#test/support/operator-bench.ts";

describe("open breakers of GET /operator/pauses", () => {
  it("show their subject and their failures", async () => {
    const { breakers, open, put, breakersOf } = createBench();
    const { account, backlog } = breakersOf("agent_sales");
    const other = breakersOf("agent_support").backlog;
    for (const key of [account, backlog]) await open(key);
    await open(other, { state: "half_open", cause: "full", room: 4 });
    await put("counters", account, { answered: 2, unreachable: 7, inRow: 5 });
    await put("counters", `${backlog} refusals`, {
      http_404: 20,
      "in ES": 12,
      "in FR": 8,
      "number 0a1b2c3d4e5f": 1,
      "number f5e4d3c2b1a0": 1,
    });
    const times = { opened_at: isoOf(now - minuteMs), probe_at: isoOf(now + minuteMs) };
    const all = { code: "http_500", cause: "unreachable", state: "open", ...times };
    expect(await breakers()).toEqual([
      {
        ...all,
        key: account,
        kind: "account",
        name: hostAccount,
        failures: { unreachable: 7, in_row: 5 },
      },
      {
        ...all,
        key: backlog,
        kind: "backlog",
        name: "crm, agent_sales",
        client: "crm",
        agent_id: "agent_sales",
        failures: { refusals: { http_404: 20, numbers_blamed: 2 }, countries: { ES: 12, FR: 8 } },
      },
      {
        ...all,
        cause: "full",
        state: "half_open",
        key: other,
        kind: "backlog",
        name: "crm, agent_support",
        client: "crm",
        agent_id: "agent_support",
        failures: null,
      },
    ]);
  });

  it("say how many calls a breaker of refusals has had refused, though the counters have expired", async () => {
    const { breakers, open, breakersOf } = createBench();
    const refused = { cause: "calls_refused", code: "http_404", refused: 32 } as const;
    await open(breakersOf("agent_sales").backlog, refused);
    expect(await breakers()).toMatchObject([
      { failures: { refusals: { http_404: 32 }, countries: {} } },
    ]);
  });

  it("have no failures where the counters were reset or have expired", async () => {
    const { breakers, open, put } = createBench();
    await open("account:vapi");
    const key = 'backlog:["crm","agent_sales"]';
    await open(key);
    await put("counters", "account:vapi", {});
    await put("counters", `${key} refusals`, { http_404: 20 }, now);
    expect(await breakers()).toMatchObject([{ failures: null }, { failures: null }]);
  });
});
