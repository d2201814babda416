import { describe, expect, it, vi } from "vitest";
import { createApp } from "../../functions/api/app.ts";
import { createMemoryLedger } from "../../shared/ledger/memory-ledger.ts";
import { readApiSettings } from "../../shared/settings.ts";
import { createTestApi } from "../support/api.ts";
import { apiEnvironment, testPlan, tokens } from "../support/environment.ts";

function createBench(environment: Record<string, string | undefined> = apiEnvironment) {
  const { deps, queue, events } = createTestApi({ environment });
  const post = (headers: Record<string, string> = {}) =>
    createApp(deps).request("/v1/calls", {
      method: "POST",
      headers: {
        authorization: `Bearer ${tokens.crm}`,
        "content-type": "application/json",
        ...headers,
      },
      body: JSON.stringify({ phone_number: "+12025550123", agent_id: "agent_sales" }),
    });
  return { deps, queue, events, post };
}

const boom = async () => {
  throw new Error("no answer about +12025550123");
};

describe("the API, when something fails", () => {
  it("takes no body that is longer than was said", async () => {
    const { deps, queue } = createBench();
    const call = JSON.stringify({ phone_number: "+12025550123", agent_id: "agent_sales" });
    const headers = {
      authorization: `Bearer ${tokens.crm}`,
      "content-type": "application/json",
      "content-length": String(call.length),
    };
    const body = call.padEnd(64 * 1024 + 1);
    const app = createApp(deps);
    expect((await app.request("/v1/calls", { method: "POST", headers, body })).status).toBe(422);
    expect(queue.take()).toEqual([]);
  });

  it("repeats a failed send once, under the same id", async () => {
    const { deps, queue, post } = createBench();
    const sent: unknown[] = [];
    deps.queue = {
      ...queue,
      send: async (message) => {
        sent.push(message);
        if (sent.length === 1) throw new Error("reset");
      },
    };
    expect((await post()).status).toBe(201);
    expect(sent).toHaveLength(2);
    expect(sent[0]).toEqual(sent[1]);
  });

  it("answers 503 where the queue is down, and says that the request may have been accepted", async () => {
    const { deps, queue, events, post } = createBench();
    deps.queue = { ...queue, send: boom };
    const response = await post();
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
    const { detail }: { detail: string } = JSON.parse(await response.text());
    expect(detail).toMatch(/may have been accepted.*only under the same Idempotency-Key/);
    expect(events).toContainEqual(expect.objectContaining({ event: "queue.unreachable" }));
    expect(JSON.stringify(events)).not.toContain("2025550123");
  });

  it("answers 503 where the queue does not answer within 10 s, twice", async () => {
    vi.useFakeTimers();
    const { deps, queue, post } = createBench();
    let sends = 0;
    deps.queue = {
      ...queue,
      send() {
        sends += 1;
        return new Promise(() => undefined);
      },
    };
    const answered = post();
    await vi.advanceTimersByTimeAsync(20_000);
    expect((await answered).status).toBe(503);
    expect(sends).toBe(2);
    vi.useRealTimers();
  });

  it("answers 503 where a key cannot be kept, and queues nothing", async () => {
    const { deps, queue, post } = createBench();
    deps.ledger = async () => ({ ...createMemoryLedger(), readKey: boom, bindKey: boom });
    const response = await post({ "idempotency-key": "k" });
    expect(response.status).toBe(503);
    expect(await response.text()).toContain("Nothing was accepted");
    expect(queue.take()).toEqual([]);
    expect((await post()).status).toBe(201); // without a key there is nothing to keep
  });

  it("accepts a repeat of what it accepted though the plan has changed since", async () => {
    const { deps, queue, post } = createBench();
    const headers = { "idempotency-key": "k" };
    expect((await post(headers)).status).toBe(201);
    const agents = { other: testPlan.agents.agent_support };
    const changed = { ...apiEnvironment, DIAL_PLAN: JSON.stringify({ ...testPlan, agents }) };
    deps.settings = readApiSettings(changed, {}, deps.log);
    expect((await post(headers)).status).toBe(201);
    expect(queue.take()).toHaveLength(2);
    expect((await post({ "idempotency-key": "another" })).status).toBe(422);
    expect((await post()).status).toBe(422);
  });

  it("refuses a repeat under a key from before HASH_KEY was rotated, and gives it no new id", async () => {
    const { deps, queue, post } = createBench();
    const headers = { "idempotency-key": "k" };
    expect((await post(headers)).status).toBe(201);
    deps.settings = readApiSettings({ ...apiEnvironment, HASH_KEY: "a6".repeat(32) }, {}, deps.log);
    expect((await post(headers)).status).toBe(422);
    expect(queue.take()).toHaveLength(1);
  });

  it.each([
    ["no tokens", { API_TOKENS: undefined }, 401],
    ["empty tokens", { API_TOKENS: "" }, 401],
    ["unreadable tokens", { API_TOKENS: "[{]" }, 401],
    ["no HASH_KEY", { HASH_KEY: undefined }, 503],
    ["a short HASH_KEY", { HASH_KEY: "5f5f" }, 503],
    ["a plan that is none", { DIAL_PLAN: "{}" }, 503],
    ["no plan", { DIAL_PLAN: undefined }, 503],
  ])("fails closed with %s, and says so loudly", async (_, more, status) => {
    const { events, queue, post } = createBench({ ...apiEnvironment, ...more });
    expect((await post()).status).toBe(status);
    expect(events).toContainEqual(
      expect.objectContaining({ level: "alarm", event: "settings.invalid" }),
    );
    expect(queue.take()).toEqual([]);
  });
});
