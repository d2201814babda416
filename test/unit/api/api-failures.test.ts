import { readRow } from "#test/support/reads.ts";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createApp } from "#functions/api/app.ts";
import type { Documents } from "#shared/ports/documents.ts";
import { createMemoryLedger } from "#test/support/memory-ledger.ts";
import type { MemoryQueue } from "#test/support/memory-queue.ts";
import { toCalls, messageSchema } from "#shared/ports/call-messages.ts";
import { readApiSettings } from "#test/support/plans.ts";
import { aCall } from "#test/support/calls.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";
import { lazyPort } from "#shared/lib/lazy-port.ts";
import { createTestApi } from "#test/support/api.ts";
import { apiEnvironment, testPlan, tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";

function createBench(environment: Record<string, string | undefined> = apiEnvironment) {
  let now = Date.parse("2026-06-01T12:00Z");
  const { deps, queue, ledger, documents, events } = createTestApi({
    environment,
    now: () => now,
  });
  const wait = (ms: number) => void (now += ms);
  const post = (headers: Record<string, string> = {}) =>
    createApp(deps).request(
      "/v1/calls",
      jsonRequest(
        tokens.crm,
        "POST",
        { phone_number: "+12025550123", agent_id: "agent_sales" },
        headers,
      ),
    );
  const ask = (path: string, body: object) =>
    createApp(deps).request(`/operator${path}`, jsonRequest(tokens.operator, "POST", body));
  /** Replaces some methods of the API's documents. */
  const replace = (methods: Partial<Documents>) => {
    deps.documents = { ...documents, ...methods };
  };
  return { deps, queue, ledger, documents, events, wait, post, ask, replace };
}

/** Resolves to the calls of all messages on the queue, each with its id. */
async function callsOn(queue: MemoryQueue) {
  const texts = await Promise.all(queue.take().map((one) => one.open()));
  return texts.flatMap((text) => {
    const message = messageSchema.parse(JSON.parse(text));
    return message.kind === "calls" ? toCalls(message) : [];
  });
}

const hang = () => new Promise<never>(() => undefined);

const boom = async () => {
  throw new Error("no answer about +12025550123");
};

describe("the API, when something fails", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it("refuses a body that is longer than announced", async () => {
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

  it("reports calls that only a later version can read to an operator", async () => {
    const { id } = aCall();
    const row = { id, version: "v", json: JSON.stringify({ state: "RINGING" }) };
    const ledger = createMemoryLedger(new Map([[id, row]]));
    const { app, events } = createTestApi({ ledger });
    const headers = { authorization: `Bearer ${tokens.operator}` };
    const listed = await app.request("/operator/calls", { headers });
    expect(await listed.json()).toEqual({ calls: [], looked_until: null, unreadable: 1 });
    expect((await app.request(`/operator/calls/${id}`, { headers })).status).toBe(503);
    expect(events).toContainEqual(
      expect.objectContaining({ level: "alarm", event: "row.unreadable", call_id: id }),
    );
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
  });

  it.each<[string, Partial<Documents>]>([
    ["writing a key", { write: hang }],
    ["writing a key and reading it back", { write: hang, read: hang }],
  ])("answers 503 within 10 s where %s hangs, and queues nothing", async (_, methods) => {
    vi.useFakeTimers();
    const { queue, post, replace } = createBench();
    replace(methods);
    const answered = post({ "idempotency-key": "k" });
    await vi.advanceTimersByTimeAsync(10_000);
    const response = await answered;
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(queue.take()).toEqual([]);
  });

  it("answers 503 where the documents cannot be made, and makes them with the next request", async () => {
    vi.useFakeTimers();
    const { deps, documents, post } = createBench();
    let creations = 0;
    deps.documents = lazyPort(() => (creations++ === 0 ? hang() : Promise.resolve(documents)));
    const answered = post({ "idempotency-key": "k" });
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await answered).status).toBe(503);
    expect((await post({ "idempotency-key": "k" })).status).toBe(201);
  });

  it("answers an operator 503 where the ledger hangs or fails, and says so in the log", async () => {
    vi.useFakeTimers();
    const { deps, ledger, documents, ask, events } = createBench();
    const call = aCall();
    await writeRows([rowIn("WAITING", call)], ledger, documents);
    const cancel = () => ask(`/calls/${call.id}/cancel`, {});
    for (const write of [hang, boom]) {
      deps.ledger = { ...ledger, write };
      const answered = cancel();
      await vi.advanceTimersByTimeAsync(10_000);
      expect((await answered).status).toBe(503);
    }
    expect(events).toContainEqual(expect.objectContaining({ event: "ledger.unreachable" }));
    expect(JSON.stringify(events)).not.toContain("2025550123");
    deps.ledger = ledger;
    expect((await cancel()).status).toBe(200);
  });

  it("takes an operator's write for done where its answer was lost", async () => {
    const { deps, ledger, documents, ask } = createBench();
    const call = aCall();
    await writeRows([rowIn("REJECTED", call)], ledger, documents);
    const write: typeof ledger.write = async (changes) => {
      await ledger.write(changes);
      return boom();
    };
    deps.ledger = { ...ledger, write };
    const first = await ask(`/calls/${call.id}/redial`, {});
    const again = await ask(`/calls/${call.id}/redial`, {});
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(await again.json()).toEqual(await first.json());
  });

  it("does what an operator decided where the counts cannot be written", async () => {
    const { ledger, documents, ask, replace, events } = createBench();
    const call = aCall();
    await writeRows([rowIn("WAITING", call)], ledger, documents);
    replace({ add: boom });
    expect((await ask(`/calls/${call.id}/cancel`, {})).status).toBe(200);
    expect(events).toContainEqual(
      expect.objectContaining({ level: "warning", event: "counts.update_failed" }),
    );
  });

  it("does nothing for an operator if the audit log cannot be written", async () => {
    const { ledger, documents, ask, replace } = createBench();
    const call = aCall();
    await writeRows([rowIn("NEEDS_REVIEW", call)], ledger, documents);
    replace({ write: async () => [false] });
    expect((await ask(`/calls/${call.id}/reveal`, {})).status).toBe(503);
    expect((await ask(`/calls/${call.id}/resolve`, { outcome: "placed" })).status).toBe(503);
    expect((await ask("/pause", { agent_id: "agent_sales" })).status).toBe(503);
    expect((await readRow(ledger, call.id))?.state).toBe("NEEDS_REVIEW");
  });

  it("writes do-not-call entries that were refused once more, and answers 503 where none is taken", async () => {
    const { documents, ask, replace } = createBench();
    let isThrottled = true;
    replace({
      write: async (changes) => {
        const isList = changes.some(({ next }) => next.kind === "do-not-call");
        if (!isList || !isThrottled) return documents.write(changes);
        isThrottled = false;
        return changes.map(() => false);
      },
    });
    const number = "+12025550123";
    expect((await ask("/do-not-call", { add: [number] })).status).toBe(200);
    const check = await ask("/do-not-call/check", { phone_number: number });
    expect(await check.json()).toEqual({ listed: true });
    replace({
      write: async (changes) =>
        changes.some(({ next }) => next.kind === "do-not-call")
          ? changes.map(() => false)
          : documents.write(changes),
    });
    expect((await ask("/do-not-call", { add: ["+12025550124"] })).status).toBe(503);
  });

  it("answers 503 where a key cannot be kept, and queues nothing", async () => {
    const { queue, post, replace } = createBench();
    replace({ read: boom, write: boom });
    const response = await post({ "idempotency-key": "k" });
    expect(response.status).toBe(503);
    expect(await response.text()).toContain("This request was not accepted");
    expect(queue.take()).toEqual([]);
    expect((await post()).status).toBe(201); // without a key, no document is written
  });

  it("accepts the request if only the answer to its key's write was lost, and binds no key if the write failed", async () => {
    const { documents, queue, post, replace } = createBench();
    const headers = { "idempotency-key": "k" };
    replace({
      write: async (changes) => {
        await documents.write(changes);
        return boom();
      },
    });
    const first = await post(headers);
    expect([first.status, first.headers.has("idempotency-replayed")]).toEqual([201, false]);
    const again = await post(headers);
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
    expect(new Set((await callsOn(queue)).map(({ id }) => id)).size).toBe(1);
    // The write did not take effect: no key is bound, and no call accepted.
    replace({ write: boom });
    expect((await post({ "idempotency-key": "another" })).status).toBe(503);
    expect(queue.take()).toEqual([]);
  });

  it("keeps the ids of a repeat whose first calls have expired, and renews their time", async () => {
    const plan = { ...testPlan, expireAfterHours: 1 };
    const { queue, post, wait } = createBench({
      ...apiEnvironment,
      DIAL_PLAN: JSON.stringify(plan),
    });
    const headers = { "idempotency-key": "k" };
    const answers = [await post(headers)];
    wait(3_599_999);
    answers.push(await post(headers));
    wait(1);
    answers.push(await post(headers));
    const replayed = answers.map((one) => one.headers.get("idempotency-replayed"));
    expect(replayed).toEqual([null, "true", "true"]);
    expect(new Set(answers.map((one) => one.headers.get("x-request-id"))).size).toBe(1);
    const calls = await callsOn(queue);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(1);
    const [first = 0] = calls.map(({ acceptedAt }) => acceptedAt);
    expect(calls.map(({ acceptedAt }) => acceptedAt - first)).toEqual([0, 0, 3_600_000]);
  });

  it("forgets a key after 24 hours", async () => {
    const { queue, post, wait } = createBench();
    const headers = { "idempotency-key": "k" };
    await post(headers);
    wait(24 * 3_600_000 - 1);
    expect((await post(headers)).headers.has("idempotency-replayed")).toBe(true);
    wait(1);
    expect((await post(headers)).headers.has("idempotency-replayed")).toBe(false);
    expect(new Set((await callsOn(queue)).map(({ id }) => id)).size).toBe(2);
  });

  it("logs one event for each request, and marks that of a repeat", async () => {
    const { events, post } = createBench();
    const headers = { "idempotency-key": "k" };
    const requestId = (await post(headers)).headers.get("x-request-id");
    await post(headers);
    const accepted = { level: "info", event: "request.accepted", request_id: requestId };
    expect(events).toEqual([
      { ...accepted, client: "crm", token_id: "crm", count: 1, ms: 0 },
      { ...accepted, client: "crm", token_id: "crm", count: 1, ms: 0, replayed: true },
    ]);
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
