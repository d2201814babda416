import { readRow } from "#test/support/reads.ts";
import { describe, expect, it } from "vitest";
import { createApp } from "#functions/api/app.ts";
import { messageSchema } from "#shared/ports/call-messages.ts";
import { createTestApi } from "#test/support/api.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { numberOf, pause, resume } from "#test/support/dialer-calls.ts";
import { aRequestId } from "#test/support/calls.ts";
import { apiEnvironment, tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

/** A plan whose calls expire before their Idempotency-Key does. */
const shortPlan = JSON.stringify({ ...JSON.parse(apiEnvironment.DIAL_PLAN), expireAfterHours: 12 });

/** Creates the API and a dialer over one ledger. */
function createBench() {
  const bench = createDialerBench();
  const { app, queue } = createTestApi({
    environment: { ...apiEnvironment, DIAL_PLAN: shortPlan },
    ledger: bench.rows,
    documents: bench.documents,
    now: () => bench.now(),
  });
  const ask = async (
    path: string,
    {
      token = tokens.crmDesk,
      body,
      key,
    }: { token?: string; body?: object; key?: string | undefined } = {},
  ) => {
    const response = await app.request(
      path,
      jsonRequest(token, undefined, body, key === undefined ? {} : { "idempotency-key": key }),
    );
    const text = await response.text();
    const answer = JSON.parse(text === "" ? "{}" : text);
    return { status: response.status, headers: response.headers, body: Object(answer) };
  };
  /** Posts a batch. Resolves to its id, and leaves its message for `deliver`. */
  async function post(count: number, key?: string): Promise<string> {
    const calls = Array.from({ length: count }, (_, index) => ({
      phone_number: numberOf(index),
      agent_id: "agent_sales",
    }));
    const { headers } = await ask("/v1/calls/batch", { token: tokens.crm, body: calls, key });
    return headers.get("x-request-id") ?? "";
  }
  /** Hands everything that was posted to the dialer, which does what it can do within a minute. */
  async function dial(): Promise<void> {
    for (const one of queue.take()) {
      await bench.send(messageSchema.parse(JSON.parse(await one.open())));
    }
    await bench.run(60);
  }
  return { bench, ask, post, dial, queue };
}

describe("a client's request, from its acceptance on", () => {
  it.each([3, 60])(
    "of %i calls is unknown, then waits, then is finished",
    inSlowTier,
    async (count) => {
      const { bench, ask, post, dial } = createBench();
      await pause(bench, { agent: "agent_sales" });
      const id = await post(count);
      const early = await ask(`/v1/requests/${id}`);
      expect([early.status, early.headers.get("retry-after")]).toEqual([404, "5"]);
      await dial();
      const waiting = await ask(`/v1/requests/${id}?limit=1`);
      expect(waiting.body).toMatchObject({
        total: count,
        counts: { by_state: { WAITING: count } },
        finished: false,
        calls: [{ index: 0, reason: "paused" }],
      });
      await resume(bench, { agent: "agent_sales" });
      await bench.run(130);
      const after = (await ask(`/v1/requests/${id}?limit=1`)).body;
      expect(after).toMatchObject({ counts: { by_state: { PLACED: count } }, finished: true });
    },
  );

  it.each([3, 60])(
    "of %i calls is not dialed once it is cancelled, before any row too",
    async (count) => {
      const { bench, ask, post, dial } = createBench();
      const id = await post(count);
      const cancelled = await ask(`/v1/requests/${id}/cancel`, { body: {} });
      const answer = { cancelled: 0, ordered: count };
      expect([cancelled.status, cancelled.body]).toEqual([200, answer]);
      const asOther = await ask(`/v1/requests/${id}/cancel`, { token: tokens.shopDesk, body: {} });
      expect(asOther.body).toEqual(answer);
      const some = { indexes: [1, 1, count - 1, count] };
      expect((await ask(`/v1/requests/${id}/cancel`, { body: some })).body.ordered).toBe(2);
      await dial();
      expect(bench.dialed).toEqual([]);
      const { body } = await ask(`/v1/requests/${id}`);
      expect(body).toMatchObject({ counts: { by_state: { CANCELLED: count } }, finished: true });
      expect(body.calls[0]).toMatchObject({ reason: "client" });
    },
  );

  it("is not dialed once it is cancelled, though its client repeats it after its time", async () => {
    const { bench, ask, post, dial, queue } = createBench();
    const id = await post(3, "a-key");
    queue.take(); // the queue has lost it
    await ask(`/v1/requests/${id}/cancel`, { body: {} });
    bench.advance(23 * 3_600_000);
    expect(await post(3, "a-key")).toBe(id);
    await dial();
    expect(bench.dialed).toEqual([]);
    const { body } = await ask(`/v1/requests/${id}`);
    expect(body.counts).toMatchObject({ by_state: { CANCELLED: 3 } });
  });

  it("is not dialed where its agent's calls are cancelled again by a clock that is behind", async () => {
    const { bench, ask, post, dial } = createBench();
    const asOperator = { token: tokens.operator, body: { agent_id: "agent_sales" } };
    await post(3);
    expect((await ask("/operator/cancel", asOperator)).status).toBe(200);
    bench.advance(-1000);
    expect((await ask("/operator/cancel", asOperator)).status).toBe(200);
    bench.advance(1000);
    await dial();
    expect(bench.dialed).toEqual([]);
  });

  it.each([3, 60])(
    "of %i calls is dialed but for those that are cancelled by index",
    inSlowTier,
    async (count) => {
      const { bench, ask, post, dial } = createBench();
      const id = await post(count);
      const indexes = [0, count - 1];
      expect((await ask(`/v1/requests/${id}/cancel`, { body: { indexes } })).status).toBe(200);
      await dial();
      expect(bench.dialed).toHaveLength(count - 2);
      const { body } = await ask(`/v1/requests/${id}?limit=200`);
      expect(body.counts).toEqual({
        by_state: { CANCELLED: 2, PLACED: count - 2 },
        by_result: {},
      });
      expect([body.calls[0].state, body.calls.at(-1).state]).toEqual(["CANCELLED", "CANCELLED"]);
    },
  );

  it("is shown with its results, and is finished once no result is asked for any more", async () => {
    const { bench, ask, post, dial } = createBench();
    const id = await post(3);
    await dial();
    const nothing = { human: null, word: null, answeredAt: null, endedAt: null, seconds: null };
    const change = async (index: number, more: Partial<CallRow>) => {
      const callId = toCallId(id, index);
      const row = await readRow(bench.rows, callId);
      if (row === undefined) throw new Error("it was dialed");
      const next = { ...row, ...more, version: `changed-${index}-${bench.now()}` };
      expect(await bench.rows.write([{ next, seen: row.version }])).toEqual([true]);
    };
    const asked = { lane: "results:webhook", dueAt: bench.now() + 60_000 };
    await change(0, { result: { ...nothing, status: "busy", word: "busy", endedAt: 1000 } });
    await change(1, asked);
    const { body } = await ask(`/v1/requests/${id}`);
    expect(body.counts).toEqual({ by_state: { PLACED: 3 }, by_result: { busy: 1 } });
    expect(body.finished).toBe(false);
    expect(body.calls[0]).toMatchObject({
      due_at: null,
      result: { status: "busy", human: null, ended_at: "1970-01-01T00:00:01.000Z", seconds: null },
    });
    expect(body.calls[1]).toMatchObject({ due_at: null, result: null });
    bench.advance(2 * 3_600_000); // an account that the plan no longer has is never asked
    expect((await ask(`/v1/requests/${id}`)).body.finished).toBe(true);
  });

  it("is dialed though another client cancels it by its id", async () => {
    const { bench, ask, post, dial } = createBench();
    const id = await post(30);
    await ask(`/v1/requests/${id}/cancel`, { token: tokens.shopDesk, body: {} });
    await dial();
    expect(bench.dialed).toHaveLength(30);
  });
});

describe("what clients ask about requests, when something is wrong", () => {
  const path = "/v1/requests/01KAJ6Y5G0QZ3N4T7V8W9XABCD";
  const headers = { authorization: `Bearer ${tokens.crmDesk}` };
  const asked = async (app: ReturnType<typeof createApp>) => [
    await app.request(path, { headers }),
    await app.request(`${path}/cancel`, { headers, method: "POST" }),
  ];

  it("is refused where the deployment lets no token have the right, and says so", async () => {
    const { CLIENT_RIGHTS: _, ...environment } = apiEnvironment;
    const { app, ledger } = createTestApi({ environment });
    ledger.list = () => Promise.reject(new Error("the ledger was asked"));
    for (const response of await asked(app)) {
      expect(response.status).toBe(403);
      expect(await response.text()).toContain("clientRights");
    }
    const other = createTestApi({ environment: { ...environment, CLIENT_RIGHTS: "write,READ" } });
    for (const response of await asked(other.app)) expect(response.status).toBe(403);
  });

  it("is answered 503 where the ledger is down or the settings are wrong, with Retry-After", async () => {
    const down = createTestApi();
    const now = Date.parse("2025-11-20T12:00Z");
    down.deps.clock.now = () => now;
    down.deps.ledger = {
      ...down.ledger,
      list: () => Promise.reject(new Error("no answer about +12025550123")),
    };
    const wrong = createTestApi({ environment: { ...apiEnvironment, HASH_KEY: undefined } });
    for (const app of [createApp(down.deps), wrong.app]) {
      for (const response of await asked(app)) {
        expect([response.status, response.headers.has("retry-after")]).toEqual([503, true]);
      }
    }
    expect(JSON.stringify(down.events)).not.toContain("2025550123");
  });

  it("cancels nothing that the audit log does not take", async () => {
    const { deps, documents, ledger } = createTestApi();
    const writes: string[] = [];
    deps.documents = {
      ...documents,
      async write(changes) {
        const kinds = changes.map(({ next }) => next.kind);
        writes.push(...kinds);
        return kinds.includes("client-audit") ? [false] : documents.write(changes);
      },
    };
    deps.ledger = { ...ledger, list: async () => ({ rows: [], unreadable: 0 }) };
    const response = await createApp(deps).request(
      `/v1/requests/${aRequestId(Date.now())}/cancel`,
      {
        headers,
        method: "POST",
      },
    );
    expect([response.status, new Set(writes)]).toEqual([503, new Set(["client-audit"])]);
  });
});
