import { type Route, toSandboxRoute } from "#shared/calls/call-request.ts";
import { toAccountName } from "#shared/calls/ids.ts";
import { describe, expect, it } from "vitest";
import type { Needs } from "#functions/operator/needs.ts";
import { restoreKey, sweepKey } from "#shared/policy/ledger-epoch.ts";
import { doNotCallListKey } from "#shared/policy/number-entries.ts";
import type { Kind, ValueOf } from "#shared/ports/document-kinds.ts";
import type { Documents } from "#shared/ports/documents.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { suspendedAt, sweptAt } from "#test/support/document-values.ts";
import { createTestApi } from "#test/support/api.ts";
import { dayPlan, fillWithADay } from "#test/support/believable-day.ts";
import { aCall } from "#test/support/calls.ts";
import { apiEnvironment, tokens } from "#test/support/environment.ts";
import { expectDeclared } from "#test/support/operator-answers.ts";
import { createMemoryDocuments } from "#test/support/memory-documents.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";
import { callerIdsKeyOf } from "#shared/rules/caller-ids.ts";

const now = Date.UTC(2026, 10, 21, 12, 34);
const minuteMs = 60_000;
const pool = ["+12125550190", "+13035550190"];
const pooled = { provider: "retell", agent: "a", from: { pool, pick: "callee" } };
const agents = { ...dayPlan.agents, agent_pool: pooled };
const plan = { ...dayPlan, agents, results: {} };

/**
 * @param broken kinds of documents that cannot be listed
 * @param ended kinds of documents that end once what holds calls was read, and before they are listed
 */
function createBench(
  broken: readonly Kind[] = [],
  letters = new Map<string, string>(),
  ended: readonly Kind[] = [],
) {
  const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify(plan) };
  const memory = createMemoryDocuments(() => now, randomVersion);
  const documents: Documents = {
    ...memory,
    list: async (kind, query) => {
      if (broken.includes(kind)) throw new Error("the ledger is down");
      if (ended.includes(kind)) return [];
      return memory.list(kind, query);
    },
  };
  const api = createTestApi({ environment, documents, letters, now: () => now });
  const { ledger } = api;
  async function ask(): Promise<Needs> {
    const headers = { authorization: `Bearer ${tokens.operator}` };
    const response = await api.app.request("/operator/needs", { headers });
    const text = await response.text();
    expectDeclared("get", "/needs", { status: response.status, text });
    expect([text, response.status]).toEqual([text, 200]);
    const body: Needs = JSON.parse(text);
    return body;
  }
  async function put<K extends Kind>(kind: K, key: string, value: ValueOf<K>) {
    const next = { kind, key, version: `${kind}-${key}-new`, value, expiresAt: null };
    const seen = (await documents.read([{ kind, key }])).get(kind, key)?.version ?? null;
    expect(await documents.write([{ next, seen }])).toEqual([true]);
  }
  return { ...api, ask, put, ledger };
}

describe("what needs a person", () => {
  it("is nothing in an empty service", async () => {
    expect(await createBench().ask()).toEqual({ needs: [], unread: [] });
  });

  it("is a day's breaker, pause and reviews, each with whom it holds, what it means and the fix", async () => {
    const { ask, ledger, documents } = createBench();
    await fillWithADay(ledger, documents, now);
    const { needs, unread } = await ask();
    expect(unread).toEqual([]);
    expect(needs).toMatchObject([
      {
        kind: "breaker",
        account: "retell",
        clients: ["research"],
        calls: 91,
        code: "http_503",
        means: expect.stringContaining("does not answer"),
        resume: { breaker: "account:retell" },
      },
      {
        kind: "pause",
        what: "agent agent_paris",
        clients: ["crm"],
        calls: 310,
        since: new Date(now - 18 * minuteMs).toISOString(),
        resume: { agent_id: "agent_paris" },
      },
      {
        kind: "review",
        account: "retell",
        clients: ["research"],
        calls: 7,
        code: "outcome_unknown",
      },
    ]);
    expect(needs.every(({ means, fix }) => means.length > 10 && fix.length > 10)).toBe(true);
  });

  it("is a real call to review, however many test calls were left to a person before", async () => {
    const { ask, ledger, documents } = createBench();
    const retell = { provider: "retell", account: toAccountName("retell") } as const;
    const reviewed = (client: string, route: Route, count: number, acceptedAt: number) => {
      const calls = Array.from({ length: count }, () => aCall({ client, acceptedAt }));
      return calls.map((call) => rowIn("NEEDS_REVIEW", call, { route, at: acceptedAt }));
    };
    const sandbox = toSandboxRoute("test:crm", retell);
    const tests = reviewed("test:crm", sandbox, 250, now - 9 * minuteMs);
    await writeRows([...tests, ...reviewed("crm", retell, 2, now - minuteMs)], ledger, documents);
    const { needs } = await ask();
    const found = needs.find(({ account }) => account === "retell");
    expect(found).toMatchObject({ kind: "review", clients: ["crm"], calls: 2, calls_max: null });
  });

  it("is not a breaker by which a provider only slows calls down", async () => {
    const { ask, put } = createBench();
    const value = {
      state: "open" as const,
      code: "http_429",
      openedAt: now,
      probeAt: now,
      intervalMs: 1000,
      cause: "busy" as const,
      room: 0,
      blamed: [],
    };
    await put("breaker", "account:vapi", value);
    expect((await ask()).needs).toEqual([]);
    await put("breaker", "account:twilio", {
      ...value,
      cause: "account_refused",
      code: "http_401",
    });
    expect((await ask()).needs).toMatchObject([
      { what: "account twilio", means: expect.stringMatching(/refuses the account.*credentials/) },
    ]);
  });

  it("is a missing HASH_KEY, with every call that it holds and their clients", async () => {
    const { ask, put, ledger, documents } = createBench();
    await fillWithADay(ledger, documents, now);
    const { kind: list, key } = doNotCallListKey;
    await put(list, key, { keys: ["a key that is gone"], current: null });
    const { needs } = await ask();
    expect(needs.filter(({ kind }) => kind === "held")).toMatchObject([
      {
        what: "waiting calls",
        code: "other_hash_key",
        calls: 1269,
        clients: ["crm", "research"],
        means: "The do-not-call list was made under another HASH_KEY.",
        fix: expect.stringContaining("the settings"),
        resume: null,
      },
    ]);
  });

  it("is a breaker with the calls that were refused one by one, and how they are redialed", async () => {
    const { ask, put } = createBench();
    const key = `backlog:${JSON.stringify(["crm", "agent_sales"])}`;
    await put("breaker", key, {
      state: "half_open",
      code: "http_404",
      openedAt: now,
      probeAt: now,
      intervalMs: 1000,
      cause: "calls_refused",
      room: 3,
      blamed: [],
    });
    await put("counters", `${key} refusals`, { http_404: 77, "in US": 77 });
    // Calls that were accepted earlier expired before the breaker opened.
    const earliest = new Date(now - 168 * 3_600_000).toISOString();
    expect((await ask()).needs).toMatchObject([
      {
        kind: "breaker",
        what: "client and agent crm, agent_sales",
        means: expect.stringMatching(/ 77 calls were refused\. The code says: .* does not exist/),
        fix: expect.stringContaining(
          `redial --state REJECTED --reason http_404 --client crm --agent agent_sales --from ${earliest}`,
        ),
      },
    ]);
  });

  it("is an open breaker behind hundreds that have closed", async () => {
    const { ask, put } = createBench();
    const value = {
      code: "http_503",
      openedAt: now,
      probeAt: now,
      intervalMs: 1000,
      cause: "receiver" as const,
      room: 0,
      blamed: [],
    };
    for (let n = 0; n < 600; n++) {
      await put("breaker", `backlog:["crm","agent_${n}"]`, { ...value, state: "closed" });
    }
    await put("breaker", "receiver:crm", { ...value, state: "open" });
    expect((await ask()).needs).toMatchObject([{ kind: "breaker", what: "receiver crm" }]);
  });

  it("is a review since the oldest of its calls, however many are newer", async () => {
    const { ask, ledger, documents } = createBench();
    const rows = Array.from({ length: 120 }, (_, n) => {
      const at = now - n * minuteMs;
      return rowIn("NEEDS_REVIEW", aCall({ acceptedAt: at }), { at, reason: "http_403" });
    });
    await writeRows(rows, ledger, documents);
    const since = new Date(now - 119 * minuteMs).toISOString();
    expect((await ask()).needs).toMatchObject([{ calls: 100, calls_max: 100, since }]);
  });

  it("is a review by account and reason, with the oldest time and every client", async () => {
    const { ask, ledger, documents } = createBench();
    const row = (client: string, reason: string, minutes: number) =>
      rowIn("NEEDS_REVIEW", aCall({ client }), { at: now - minutes * minuteMs, reason });
    const rows = [
      row("crm", "http_403", 5),
      row("shop", "http_403", 50),
      row("crm", "restored", 1),
    ];
    await writeRows(rows, ledger, documents);
    const { needs } = await ask();
    const forbidden = needs.find(({ code }) => code === "http_403");
    expect(forbidden).toMatchObject({
      clients: ["crm", "shop"],
      calls: 2,
      since: new Date(now - 50 * minuteMs).toISOString(),
      means: expect.stringContaining("forbids"),
    });
    expect(needs).toHaveLength(2);
  });

  it("says which parts could not be read, and shows the rest", async () => {
    const { ask, ledger, documents, events } = createBench(["breaker"]);
    await fillWithADay(ledger, documents, now);
    const { needs, unread } = await ask();
    expect(unread).toEqual(["breakers"]);
    expect(needs.map(({ kind }) => kind)).toEqual(["pause", "review"]);
    expect(events).toContainEqual(
      expect.objectContaining({ event: "needs.not_read", problem: "breakers" }),
    );
    const worse = createBench(["breaker", "pause", "backlog"]);
    expect((await worse.ask()).unread.toSorted()).toEqual(["breakers", "held", "pauses"]);
  });

  it("leaves out a pause that ends while the needs are read", async () => {
    const { ask, ledger, documents } = createBench([], new Map(), ["pause"]);
    await fillWithADay(ledger, documents, now);
    const { needs, unread } = await ask();
    expect([needs.map(({ kind }) => kind), unread]).toEqual([["breaker", "review"], []]);
  });

  it("is a halted sweep, a full ledger, a restore, a pool that rests", async () => {
    const { ask, put } = createBench();
    const size = { bytesMax: 100, samples: [{ at: now, bytes: 80 }] };
    await put("sweep", sweepKey.key, { ...sweptAt(now - 6 * minuteMs), size });
    const rests = { blocked: 3, restsUntil: now + minuteMs, since: now };
    const numbers = Object.fromEntries(pool.map((number) => [number, rests]));
    await put("caller-ids", callerIdsKeyOf({ account: toAccountName("retell") }).key, { numbers });
    const kindsOf = async () => (await ask()).needs.map(({ kind, what }) => `${kind}: ${what}`);
    expect(await kindsOf()).toEqual([
      "sweep_halted: sweeps",
      "ledger_full: ledger at 80 %",
      "pool: agent agent_pool",
    ]);
    await put("restore", restoreKey.key, suspendedAt(now - minuteMs));
    expect((await kindsOf())[0]).toBe("restored: ledger");
    // No answer may quote the numbers of a pool.
    expect(JSON.stringify(await ask())).not.toMatch(/2125550190/);
  });
});
