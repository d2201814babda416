import { describe, expect, it } from "vitest";
import { compactJournal } from "#functions/dialer/sweep/compact-journal.ts";
import { replayJournal } from "#functions/dialer/sweep/replay-journal.ts";
import { createApp } from "#functions/api/app.ts";
import { createRequestId, withCalls } from "#shared/calls/ids.ts";
import { randomId } from "#shared/lib/random.ts";
import { hourMs } from "#shared/lib/units.ts";
import { ownEntriesMax } from "#shared/policy/gathered-entries.ts";
import { createTestApi } from "#test/support/api.ts";
import { acceptedId, aRequestId } from "#test/support/calls.ts";
import { hashOf } from "#test/support/dialer-calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { suspendedAt } from "#test/support/document-values.ts";
import { apiEnvironment, testPlan, tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { createMemoryJournal } from "#test/support/memory-journal.ts";
import { cancellationKeyOf } from "#shared/policy/cancellation-orders.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const start = Date.parse("2026-06-01T10:00Z");

function createBench({ guards = {} }: { guards?: object } = {}) {
  const clock = { now: start };
  const entries = new Map<string, string>();
  const journal = createMemoryJournal(entries);
  const plan = { ...testPlan, ...guards };
  const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify(plan) };
  const api = createTestApi({ environment, journal, now: () => clock.now });
  const send = (path: string, token: string, body: unknown) =>
    api.app.request(path, jsonRequest(token, "POST", body));
  const names = () => journal.list({ limit: 10_000 });
  const time = { isOver: () => false };
  return {
    ...api,
    clock,
    journal,
    entries,
    send,
    names,
    cancel: async (id: string, body: object = {}) =>
      (await send(`/v1/requests/${id}/cancel`, tokens.crmDesk, body)).status,
    optOut: async (number: string) =>
      (await send("/v1/do-not-call", tokens.crmOptOut, { phone_numbers: [number] })).status,
    compact: () => {
      const sleep = () => Promise.resolve();
      const deps = { journal, clock: { ...api.deps.clock, sleep } };
      return compactJournal({ journalAfter: null }, time, deps);
    },
    left: async () => [
      (await names()).length,
      (await api.documents.list("client-audit", { limit: 1_000 })).length,
    ],
    /** Applies the journal to a ledger of before, as a restore does. Returns its documents. */
    async restore() {
      const bench = createDialerBench();
      const restored = suspendedAt(start, { state: "confirmed", epoch: 5, at: start, by: "ops" });
      let replayed: Awaited<ReturnType<typeof replayJournal>> = { isJournalDone: false };
      while (replayed.isJournalDone !== true) {
        const deps = { ...bench.deps, journal };
        replayed = await replayJournal({ ...restored, ...replayed }, deps);
      }
      return bench.documents;
    },
  };
}

describe("orders for ids that no accepted request has", () => {
  it("leave nothing behind", async () => {
    const { cancel, left } = createBench();
    for (let n = 0; n < 20; n++) {
      expect(await cancel(createRequestId(start, randomId()))).toBe(404);
    }
    expect(await left()).toEqual([0, 0]);
  });

  it("leave nothing behind for the id of an answer that accepted nothing", async () => {
    const { app, cancel, left, send } = createBench({
      guards: { guards: { crm: { callsPerDay: 1 } } },
    });
    const call = { phone_number: "+12025550123", agent_id: "agent_sales" };
    const accepted = await send("/v1/calls", tokens.crm, call);
    const answers = [
      await app.request("/v1/nothing", jsonRequest(tokens.crm)),
      await send("/v1/calls", tokens.crm, { ...call, extra: 1 }),
      await send("/v1/calls", tokens.crm, { ...call, agent_id: "agent_unknown" }),
      await send("/v1/calls", tokens.crm, call),
    ];
    expect([accepted, ...answers].map(({ status }) => status)).toEqual([201, 404, 422, 422, 422]);
    const idOf = (answer: Response) => answer.headers.get("x-request-id") ?? "";
    for (const answer of answers) expect(await cancel(idOf(answer))).toBe(404);
    expect(await left()).toEqual([0, 0]);
    expect(await cancel(idOf(accepted))).toBe(200);
  });
});

it("an order for calls that may be on the queue is kept, and its repeats add no entry", async () => {
  const { cancel, left } = createBench();
  const id = aRequestId(start - 1_000);
  for (let n = 0; n < 20; n++) expect(await cancel(id)).toBe(200);
  expect((await left())[0]).toBe(1);
});

it("repeated orders are one after a restore, as they were before", inSlowTier, async () => {
  const { clock, cancel, compact, documents, restore } = createBench();
  const id = acceptedId(withCalls(aRequestId(start - 1_000), 20));
  for (let n = 0; n < 3 * ownEntriesMax; n++) {
    clock.now += n % 20 === 0 ? 60_000 : 5;
    expect(await cancel(id)).toBe(200);
    expect(await cancel(id, { indexes: [n % 20] })).toBe(200);
  }
  clock.now += 2 * hourMs;
  await compact();
  const { kind, key } = cancellationKeyOf({ request: id });
  const ordersIn = async (from: typeof documents) =>
    (await from.read([{ kind, key }])).get(kind, key)?.value.orders ?? [];
  const before = await ordersIn(documents);
  expect(before).toHaveLength(2);
  expect(new Set(await ordersIn(await restore()))).toEqual(new Set(before));
});

describe("orders above a client's number of entries", () => {
  const more = 40;
  const ids = Array.from({ length: ownEntriesMax + more }, (_, n) => aRequestId(start - n));

  it(
    "are taken, leave one entry a minute, and are all given again after a restore",
    inSlowTier,
    async () => {
      const bench = createBench();
      for (const id of ids) expect(await bench.cancel(id)).toBe(200);
      const numbers = Array.from({ length: 40 }, (_, n) => `+1202555${1_000 + n}`);
      for (const number of numbers) expect(await bench.optOut(number)).toBe(200);
      bench.clock.now += 2 * 60_000;
      await bench.compact();
      expect(await bench.left()).toEqual([ownEntriesMax + 1, expect.any(Number)]);
      const documents = await bench.restore();
      const keys = ids.map((request) => cancellationKeyOf({ request }));
      const found = await documents.read(keys);
      expect(keys.filter(({ kind, key }) => found.get(kind, key) === undefined)).toEqual([]);
      const listed = numbers.map(
        (number) => ({ kind: "do-not-call", key: hashOf(number) }) as const,
      );
      const read = await documents.read(listed);
      expect(listed.filter(({ kind, key }) => read.get(kind, key) === undefined)).toEqual([]);
    },
  );

  it(
    "are in the store once they are answered, whoever dies before another write",
    inSlowTier,
    async () => {
      const bench = createBench();
      for (const [n, id] of ids.entries()) {
        expect(await bench.cancel(id)).toBe(200);
        if (n % 30 !== 9) continue;
        const { kind, key } = cancellationKeyOf({ request: id });
        expect((await (await bench.restore()).read([{ kind, key }])).get(kind, key)).toBeDefined();
      }
    },
  );

  it("are all kept where many come at once and their objects arrive in any order", async () => {
    const bench = createBench();
    const { deps } = bench;
    const journal = {
      append: async (name: string, body: string) => {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
        await bench.journal.append(name, body);
      },
    };
    const app = createApp({ ...deps, journal });
    const cancel = async (id: string) =>
      app.request(`/v1/requests/${id}/cancel`, jsonRequest(tokens.crmDesk, "POST", {}));
    const answers = await Promise.all(ids.map(cancel));
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    await bench.compact();
    const keys = ids.map((request) => cancellationKeyOf({ request }));
    const found = await (await bench.restore()).read(keys);
    expect(keys.filter(({ kind, key }) => found.get(kind, key) === undefined)).toEqual([]);
  });

  it("are entries of their own where the ledger cannot count them", async () => {
    const bench = createBench();
    const documents = { ...bench.documents, add: () => Promise.reject(new Error("down")) };
    const app = createApp({ ...bench.deps, documents });
    const numbers = { phone_numbers: ["+12025550123"] };
    const answer = await app.request(
      "/v1/do-not-call",
      jsonRequest(tokens.crmOptOut, "POST", numbers),
    );
    expect(answer.status).toBe(200);
    expect(await bench.names()).toHaveLength(1);
    expect(bench.events).toContainEqual(
      expect.objectContaining({ event: "journal.not_gathered", level: "warning" }),
    );
  });

  it(
    "of one client leave those of another as they are, and end with the minute",
    inSlowTier,
    async () => {
      const bench = createBench();
      for (const id of ids) await bench.cancel(id);
      const before = (await bench.names()).filter((name) => name.includes("+")).length;
      expect(before).toBe(more);
      await bench.send(`/v1/requests/${aRequestId(start)}/cancel`, tokens.shopDesk, {});
      bench.clock.now += 60_000;
      await bench.cancel(aRequestId(start));
      expect((await bench.names()).filter((name) => name.includes("+"))).toHaveLength(before);
    },
  );

  it("are part of the journal's parts after a day, once each", async () => {
    const bench = createBench();
    for (const id of ids) await bench.cancel(id);
    bench.clock.now += 26 * hourMs;
    await bench.compact();
    const [part = ""] = await bench.names();
    expect(await bench.names()).toEqual([expect.stringMatching(/~$/)]);
    const [id = ""] = ids.slice(-1);
    expect(bench.entries.get(part)?.split(id)).toHaveLength(2);
  });
});
