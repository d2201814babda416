import * as fc from "fast-check";
import { backlogBreakerOf } from "#shared/policy/breakers.ts";
import { describe, expect, it } from "vitest";
import type { BacklogView } from "#functions/operator/backlogs.ts";
import { backlogOf } from "#shared/calls/call-row.ts";
import { timeOfId } from "#shared/calls/ids.ts";
import { sweptAt } from "#test/support/document-values.ts";
import { aCall } from "#test/support/calls.ts";
import { testPlan } from "#test/support/environment.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";
import {
  createOperatorBench as createBench,
  hostAccount,
  isoOf,
  minuteMs,
  now,
} from "#test/support/operator-bench.ts";
import { inSlowTier, perTier } from "#test/support/per-tier.ts";

const heldBy = ({ client, holders }: BacklogView) => [
  client,
  holders?.map(({ reason, name }) => `${reason} ${name}`),
];

describe("GET /operator/backlogs", () => {
  it("lists each backlog's head, its number of waiting calls and its account, earliest due first", async () => {
    const { ask, wait } = createBench();
    await wait("agent_support", 5 * minuteMs);
    const [first = ""] = await wait("agent_sales", -10 * minuteMs, { count: 3 });
    const answer = await ask();
    expect(answer).toMatchObject({ last_sweep_at: null });
    expect(answer.oldest_due_at).toBe(isoOf(now - 10 * minuteMs));
    expect(answer.backlogs.map(({ agent_id }) => agent_id)).toEqual([
      "agent_sales",
      "agent_support",
    ]);
    expect(answer.backlogs[0]).toEqual({
      client: "crm",
      agent_id: "agent_sales",
      urgent: false,
      account: hostAccount,
      head: {
        call_id: first,
        due_at: isoOf(now - 10 * minuteMs),
        accepted_at: isoOf(timeOfId(first)),
      },
      waiting: 3,
      waiting_is_whole: true,
      holders: [{ reason: "turn", name: hostAccount, calls: 3, is_exact: true }],
    });
    expect(answer.cursor).toBeUndefined();
  });

  it("leaves out a backlog in which no call waits", async () => {
    const { ask, wait, ledger } = createBench();
    const ids = await wait("agent_sales", 0);
    await ledger.purge(ids);
    expect(await ask()).toMatchObject({ backlogs: [], oldest_due_at: null });
  });

  it("shows which backlogs a client's pause holds", async () => {
    const { ask, wait, pause } = createBench();
    await wait("agent_sales", -2, { client: "shop" });
    await wait("agent_sales", -1);
    await pause({ client: "shop" });
    const { backlogs } = await ask();
    expect(backlogs.map(heldBy)).toEqual([
      ["shop", ["paused client shop"]],
      ["crm", [`turn ${hostAccount}`]],
    ]);
  });

  it("keeps two clients of one agent apart, and holds both by the agent's pause", async () => {
    const { ask, wait, pause } = createBench();
    await wait("agent_sales", -2, { client: "shop" });
    await wait("agent_sales", -1);
    await wait("agent_support", 0);
    await pause({ agent: "agent_sales" });
    const { backlogs } = await ask();
    expect(backlogs.map(heldBy)).toEqual([
      ["shop", ["paused agent agent_sales"]],
      ["crm", ["paused agent agent_sales"]],
      ["crm", [`turn ${hostAccount}`]],
    ]);
  });

  it("names no account of an agent that the plan does not know, though its calls wait", async () => {
    const { ask, wait, pause } = createBench();
    await wait("agent_gone", 0);
    await pause({ agent: "agent_gone" });
    await pause({ account: "webhook" });
    expect((await ask()).backlogs).toMatchObject([
      { account: null, holders: [{ reason: "route_gone", name: "agent_gone" }] },
    ]);
  });

  it("finds the route of an agent that only * stands for", async () => {
    const { ask, wait } = createBench({ "*": testPlan.agents.agent_sales });
    await wait("agent_9", 0);
    expect((await ask()).backlogs).toMatchObject([
      { account: hostAccount, holders: [{ reason: "turn" }] },
    ]);
  });

  it("names the account's pause, and once that is gone the breaker that a call must pass", async () => {
    const { ask, wait, open, breakersOf } = createBench();
    await wait("agent_sales", -1);
    await wait("agent_support", 0);
    const { backlog } = breakersOf("agent_sales");
    await open(backlog);
    expect((await ask()).backlogs.map(heldBy)).toEqual([
      ["crm", [`breaker_open ${backlog}`]],
      ["crm", [`turn ${hostAccount}`]],
    ]);

    const held = createBench();
    await held.wait("agent_sales", 0);
    await held.pause({ account: "webhook" });
    expect((await held.ask()).backlogs.map(heldBy)).toEqual([["crm", ["paused account webhook"]]]);
  });

  it("names no breaker that is closed or has expired", async () => {
    const { ask, wait, open, breakers } = createBench();
    await wait("agent_sales", 0);
    await open(backlogBreakerOf({ client: "crm", agentId: "agent_sales" }), { state: "closed" });
    await open(`account:${hostAccount}`, {}, now);
    expect((await ask()).backlogs.map(heldBy)).toEqual([["crm", [`turn ${hostAccount}`]]]);
    expect(await breakers()).toEqual([]);
  });

  it("says why due calls of an account stand still, if they do", async () => {
    const { ask, wait, put } = createBench({
      agent_sales: testPlan.agents.agent_sales,
      agent_support: { provider: "webhook", url: "http://127.0.0.2:9/support" },
    });
    await wait("agent_sales", -1);
    await wait("agent_support", 0);
    const account = { client: "", agents: {}, completed: [], sent: [], allowance: 0 };
    await put("dispatcher", "dispatcher", {
      holder: null,
      since: now,
      beatAt: now,
      accounts: { [hostAccount]: { ...account, why: "pace" } },
    });
    const { backlogs } = await ask();
    expect(backlogs.map(({ holders }) => holders?.[0]?.reason)).toEqual(["pace", "turn"]);
  });

  it(
    "counts all waiting calls, as GET /operator/why does, and shows the time of the last sweep",
    inSlowTier,
    async () => {
      const { ask, wait, put } = createBench();
      await wait("agent_sales", 0, { count: 501 });
      await put("sweep", "sweep", sweptAt(now - minuteMs));
      const answer = await ask();
      expect(answer.backlogs[0]).toMatchObject({ waiting: 501, waiting_is_whole: true });
      expect(answer.last_sweep_at).toBe(isoOf(now - minuteMs));
    },
  );

  it("shows every backlog once, page by page, sorted within each window of 1,000", async () => {
    const ages = fc.array(fc.integer({ min: -3, max: 3 }), { minLength: 1, maxLength: 8 });
    const property = async (dueMs: number[], limit: number) => {
      const { ask, wait } = createBench();
      for (const [n, ms] of dueMs.entries()) await wait("agent_sales", ms, { client: `c${n}` });
      const found: BacklogView[] = [];
      let cursor: string | undefined;
      do {
        const place = cursor === undefined ? "" : `&cursor=${cursor}`;
        const answer = await ask(`?limit=${limit}${place}`);
        expect(answer.oldest_due_at).toBe(isoOf(now + Math.min(...dueMs)));
        found.push(...answer.backlogs);
        cursor = answer.cursor;
      } while (cursor !== undefined);
      expect(new Set(found.map(({ client }) => client)).size).toBe(dueMs.length);
      expect(found.map(({ head }) => Date.parse(head.due_at) - now)).toEqual(
        dueMs.toSorted((one, other) => one - other),
      );
    };
    await fc.assert(fc.asyncProperty(ages, fc.integer({ min: 1, max: 4 }), property), {
      numRuns: perTier({ quick: 3, long: 30 }),
    });
  });

  it(
    "continues in the next window if there are more than 1,000 backlogs, and asks for no more at once",
    inSlowTier,
    async () => {
      const { ask, ledger, documents } = createBench();
      const rows = Array.from({ length: 1001 }, (_, n) => {
        const client = `client_${String(n).padStart(4, "0")}`;
        return rowIn("WAITING", aCall({ client }), { dueAt: now - n });
      });
      await writeRows(rows, ledger, documents);
      const asked: number[] = [];
      const due = ledger.due.bind(ledger);
      ledger.due = (query) => {
        asked.push(query.lanes.length * query.each);
        return due({ ...query });
      };
      const first = await ask("?limit=1");
      expect(first.backlogs[0]?.client).toBe("client_0999"); // the oldest of its window
      expect(asked.length).toBeLessThan(30);
      expect(Math.max(...asked)).toBeLessThanOrEqual(5000);
      const before = JSON.stringify({
        from: backlogOf({ client: "client_0999", agentId: "agent_sales" }),
      });
      const last = await ask(`?cursor=${Buffer.from(before).toString("base64url")}`);
      expect(last.backlogs.map(({ client }) => client)).toEqual(["client_1000"]);
      expect(last.cursor).toBeUndefined();
      const seen = new Set<string>();
      let cursor: string | undefined;
      do {
        const answer = await ask(`?limit=200${cursor === undefined ? "" : `&cursor=${cursor}`}`);
        for (const { client } of answer.backlogs) seen.add(client);
        cursor = answer.cursor;
      } while (cursor !== undefined);
      expect(seen.size).toBe(1001);
    },
  );

  it.each(["?limit=0", "?limit=201", "?cursor=elsewhere", "?cursor=e30x", "?agent_id=a"])(
    "answers 422 to %s",
    async (query) => {
      expect((await createBench().send(`/backlogs${query}`)).status).toBe(422);
    },
  );
});
