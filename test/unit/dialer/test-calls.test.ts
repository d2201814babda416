import { listDocuments } from "#test/support/reads.ts";
import { accountOf } from "#test/support/account-of.ts";
import { createAccountDays } from "#functions/dialer/record/account-days.ts";
import { claimedAlong } from "#test/support/resolved.ts";
import { createRouteTable, parseDialPlan } from "#test/support/plans.ts";
import { plannedTypes } from "#shared/calls/provider-types.ts";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openBreaker } from "#functions/dialer/breakers/circuit-breaker.ts";
import { take } from "#shared/rules/calls-per-day.ts";
import { logDecision } from "#functions/dialer/record/write-decisions.ts";
import { backlogBreakerOf } from "#shared/policy/breakers.ts";
import { ensureBacklogs } from "#functions/dialer/record/open-backlogs.ts";
import { accountNameOf, sandboxType } from "#shared/calls/call-request.ts";
import { backlogOf, backlogOfKey, waitingLaneOf } from "#shared/calls/call-row.ts";
import { dialingLane, resultsLane } from "#shared/calls/lane.ts";
import {
  hashedNumberOf,
  isTestClient,
  realClientOf,
  testClientOf,
  clientNamed,
} from "#shared/calls/ids.ts";
import { callStates } from "#shared/calls/states.ts";
import { applyClaim } from "#shared/calls/transitions.ts";
import { putEntries, renewNumbers } from "#shared/policy/dnc-entries.ts";
import {
  createRequestMessage,
  messageSchema,
  toJson,
  toCalls,
} from "#shared/ports/call-messages.ts";
import { parseRow, toStoredRow } from "#shared/ports/stored-row.ts";
import { createProviders } from "#shared/providers/providers.ts";
import { aCall, toCallsMessage } from "#test/support/calls.ts";
import { aCallNow, message } from "#test/support/dialer-calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { testPlan } from "#test/support/environment.ts";
import { rowIn } from "#test/support/rows.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const client = testClientOf("acme");
const plan = parseDialPlan(
  {
    ...testPlan,
    agents: { "*": { provider: "twilio-eu", from: "+12025550123", stream: "wss://example.com" } },
    providers: {
      "twilio-eu": { type: "twilio", timeoutSeconds: 7, callsPerDay: 3, liveCalls: 2 },
    },
    results: {},
  },
  {},
);
const table = createRouteTable(plan);
const sandboxRoute = table.find({ client, mode: "test", agentId: "agent_sales" });

describe("test calls are apart from real ones", () => {
  const real = fc.string({ minLength: 1 }).filter((name) => !isTestClient(name));
  const anyClient = fc
    .tuple(real, fc.boolean())
    .map(([n, isTest]) => (isTest ? testClientOf(n) : n));
  const level = fc
    .record({ client: anyClient, agentId: fc.string(), isUrgent: fc.boolean() })
    .map((of) => ({ ...of, ...clientNamed(of.client) }));

  it("by their route, which the client alone decides", () => {
    fc.assert(
      fc.property(level, (of) => {
        const route = table.find(of);
        expect(route?.provider === sandboxType).toBe(isTestClient(of.client));
        const account = route === undefined ? "" : accountNameOf(route);
        expect(account.startsWith("test:")).toBe(isTestClient(of.client));
        expect(account).toBe(isTestClient(of.client) ? `${of.client}:twilio-eu` : "twilio-eu");
      }),
    );
  });

  it("by their backlogs, accounts and numbers, no two of which share a name", () => {
    fc.assert(
      fc.property(level, level, (one, other) => {
        const isSame = one.client === other.client && one.agentId === other.agentId;
        const isSameLevel = isSame && one.isUrgent === other.isUrgent;
        expect(waitingLaneOf(one) === waitingLaneOf(other)).toBe(isSameLevel);
        expect(backlogOf(one) === backlogOf(other)).toBe(isSame);
        const { client: name, agentId, isUrgent } = one;
        expect(backlogOfKey(waitingLaneOf(one))).toEqual({ client: name, agentId, isUrgent });
        const hashed = (of: typeof one) =>
          hashedNumberOf({ ...of, request: { phone_number: "+12025550100" } });
        const isSharing = [one, other].every((of) => !isTestClient(of.client));
        expect(hashed(one) === hashed(other)).toBe(isSharing || one.client === other.client);
        expect(isTestClient(realClientOf(one))).toBe(false);
      }),
    );
  });

  it("by the mode of their messages, without which nobody reads them", () => {
    for (const name of ["acme", client]) {
      const call = aCall({ client: name, acceptedAt: 1 });
      const body = { text: JSON.stringify(call.request), isBatch: false };
      for (const made of [createRequestMessage(call, body), toCallsMessage([call])]) {
        const sent = JSON.parse(toJson(made));
        const read = messageSchema.parse(sent);
        if (read.kind !== "calls") throw new Error("the message has no calls");
        expect(toCalls(read)).toMatchObject([{ client: name, mode: call.mode }]);
        const mode = call.mode === "test" ? undefined : "test";
        expect(messageSchema.safeParse({ ...sent, mode }).success).toBe(false);
      }
    }
  });

  it.each(callStates)("by the mode of their rows: %s", (state) => {
    const call = aCall({ client });
    const row = rowIn(state, call, sandboxRoute === undefined ? {} : { route: sandboxRoute });
    const stored = toStoredRow(row);
    expect(stored["mode"]).toBe("test");
    expect(parseRow(row.id, row.version, stored)).toEqual(row);
    const { route } = row;
    expect(route?.provider ?? sandboxType).toBe(sandboxType);
    expect(plannedTypes).not.toContain(sandboxType); // no plan may name it
    const later = { ...stored, route: { ...sandboxRoute, provider: "of-a-later-version" } };
    expect(parseRow(row.id, row.version, later)).toBeUndefined();
    expect(row.dueAt === null || isOfTests(row.lane ?? "")).toBe(true);
  });

  it("by the documents of their backlogs", async () => {
    const bench = createDialerBench({});
    const of = (name: string, isUrgent: boolean) => ({
      ...clientNamed(name),
      agentId: "agent_sales",
      isUrgent,
    });
    await ensureBacklogs([of(client, false), of(client, true)], bench.deps);
    await ensureBacklogs([of("acme", true)], bench.deps);
    const listed = await listDocuments(bench.documents, "backlog", { limit: 10 });
    const marks = Object.fromEntries(
      listed.map(({ key, value: { mode, isUrgent } }) => [key, [mode, isUrgent]]),
    );
    expect(marks).toEqual({
      '["test:acme","agent_sales"]': ["test", undefined],
      '["test:acme","agent_sales","urgent"]': ["test", true],
      '["acme","agent_sales"]': ["live", undefined],
      '["acme","agent_sales","urgent"]': ["live", true],
    });
  });

  it("by their claims: none is dialed along a real route, and no real call in the sandbox", () => {
    const realRoute = table.find({ ...clientNamed("acme"), agentId: "agent_sales" });
    for (const [of, route] of [
      [client, realRoute],
      ["acme", sandboxRoute],
    ] as const) {
      const newCall = { call: aCall({ client: of }), numberHash: "h", numberTail: "23" };
      if (route === undefined) throw new Error("there is no route");
      const claim = () =>
        applyClaim(
          undefined,
          { newCall, route, account: accountOf(route, 1) },
          { version: "v", at: 1 },
        );
      expect(claim).toThrow(/sandbox/);
    }
  });
});

/** True for a backlog of test calls: of a client, of calls under way, of unknown outcomes or of results. */
function isOfTests(backlog: string): boolean {
  const dialing = dialingLane({
    account: `${client}:twilio-eu`,
    client,
    agentId: "agent_sales",
  });
  const names = [dialing, "watch", resultsLane({ account: `${client}:twilio-eu` })];
  return names.includes(backlog) || backlog === waitingLaneOf({ client, agentId: "agent_sales" });
}

describe("a test client's account", () => {
  it("has the pace, the limits and the time limit of the agent's, and is no plan's", () => {
    const own = table.find({ ...clientNamed("acme"), agentId: "a" });
    if (own === undefined || sandboxRoute === undefined) throw new Error("there is no route");
    const { name, mode } = table.account(sandboxRoute);
    expect({ name, mode }).toEqual({ name: sandboxRoute.account, mode: "test" });
    expect({ ...table.account(own), name, mode }).toEqual(table.account(sandboxRoute));
    expect(table.account(own)).toMatchObject({ timeoutSeconds: 7, callsPerDay: 3, liveCalls: 2 });
    expect(table.account(own).pace).toBeDefined(); // twilio's default
    expect(resultsLane(sandboxRoute)).toBe("results:test:*");
  });

  it("cannot be named in a dial plan", () => {
    const parse = (more: object) => () => parseDialPlan({ ...testPlan, ...more }, {});
    expect(parse({ agents: { a: { provider: "sandbox" } } })).toThrow(/agents.a.provider/);
    expect(parse({ providers: { sandbox: { type: "twilio" } } })).toThrow(/sandbox/);
    expect(parse({ providers: { eu: { type: "sandbox" } } })).toThrow(/type/);
    expect(parse({ providers: { "test:acme": { type: "twilio" } } })).toThrow(/must be a name/);
    const url = "https://example.com";
    expect(parse({ events: { "test:acme": { url } } })).toThrow(/test:/);
    expect(parse({ guards: { "test:acme": { waiting: 1 } } })).toThrow(/test:/);
  });
});

describe("what test calls do", () => {
  const number = "+12025550112";

  it("concerns only their own client: caps and opt-outs", inSlowTier, async () => {
    const bench = createDialerBench({
      startAt: "2026-11-18T15:00:00Z",
      plan: { maxCalls: { count: 1, days: 1 }, results: {} },
    });
    simulateSandbox(bench);
    const dial = async (of: string) => {
      const call = aCallNow(bench, { phone_number: number }, { client: of });
      await bench.send(message(call));
      await bench.simulate(20);
      return bench.row(call.id);
    };
    expect(await dial("acme")).toMatchObject({ state: "PLACED" });
    expect(await dial(client)).toMatchObject({ state: "PLACED", route: { provider: sandboxType } });
    expect(await dial(testClientOf("shop"))).toMatchObject({ state: "PLACED" });
    expect(await dial(client)).toMatchObject({ state: "WAITING", reason: "max_calls" });
    bench.advance(86_400_000);
    await bench.sweep();
    await bench.deliverEvents();
    expect(await dial(client)).toMatchObject({ state: "REJECTED", reason: "do_not_call" });
    expect(await dial("acme")).toMatchObject({ state: "PLACED" });
    bench.advance(3_600_000);
    expect(await dial(client)).toMatchObject({ state: "PLACED" });
    expect(bench.dialed.every(({ call }) => call.client === "acme")).toBe(true);
  });

  it("is over in time for the client's next ones, though an end stays unknown", async () => {
    const bench = createDialerBench({
      startAt: "2026-11-18T15:00:00Z",
      plan: { providers: { webhook: { liveCalls: 2, maxCallMinutes: 10 } }, results: {} },
    });
    simulateSandbox(bench);
    const send = async (ending: string) => {
      const call = aCallNow(bench, { phone_number: `+120255501${ending}` }, { client });
      await bench.send(message(call));
      await bench.simulate(20);
      return call;
    };
    const pass = async (minutes: number) => {
      for (let minute = 0; minute < minutes; minute++) {
        await bench.simulate(60);
        await bench.deliverEvents();
      }
    };
    const [noResult, lost] = [await send("13"), await send("10")];
    const third = await send("00");
    await pass(10);
    expect(await bench.row(noResult.id)).toMatchObject({ state: "PLACED" });
    expect(await bench.row(lost.id)).toMatchObject({ state: "NEEDS_REVIEW" });
    expect(await bench.row(third.id)).toMatchObject({ state: "WAITING", reason: "live_calls" });
    await pass(4);
    expect(await bench.row(third.id)).toMatchObject({ state: "PLACED" });
  });
});

it("an opt-out from test calls ends under a new HASH_KEY too", async () => {
  const { deps, documents } = createDialerBench({});
  await putEntries(["former"], { ...deps, lifeMs: 3_600_000 });
  await renewNumbers([["current", "former"]], deps);
  const key = { kind: "do-not-call", key: "current" } as const;
  const renewed = (await documents.read([key])).get(key.kind, key.key);
  expect(renewed?.expiresAt).toBe(deps.clock.now() + 3_600_000);
});

/** Has test calls of a bench dialed by the sandbox. */
function simulateSandbox(bench: ReturnType<typeof createDialerBench>): void {
  const providers = createProviders(
    { environment: {}, now: bench.now, print: () => undefined, fetch: fetchNothing },
    [],
  );
  const { providerOf } = bench.deps.settings;
  bench.deps.settings.providerOf = (route) =>
    route.provider === sandboxType ? providers(route) : providerOf(route);
}

async function fetchNothing(): Promise<Response> {
  throw new Error("nothing is sent");
}

describe("an operator", () => {
  it("is not alarmed as a client has used up its day for tests", async () => {
    const { deps, events } = createDialerBench({});
    const settings = { ...deps.settings, table };
    for (const caller of ["acme", client]) {
      const route = table.find({ ...clientNamed(caller), agentId: "agent_sales" });
      if (route === undefined) throw new Error("the plan has no route");
      const row = rowIn("DIALING", aCall({ client: caller }), { route });
      const claimed = claimedAlong(route, { row, version: "v" }, settings);
      const enter = async () => {
        const taking = take(claimed, { days: createAccountDays(deps) });
        await taking.settled;
        return taking.verdict();
      };
      const allowed = [await enter(), await enter(), await enter()];
      expect(allowed).toEqual([undefined, undefined, undefined]);
      expect(await enter()).toMatchObject({ kind: "hold", reason: "calls_per_day" });
    }
    expect(events).toMatchObject([
      { level: "alarm", event: "account.calls_per_day", account: "twilio-eu" },
      { level: "info", event: "account.calls_per_day", account: `${client}:twilio-eu` },
    ]);
  });

  it("is not alarmed by test calls", async () => {
    const bench = createDialerBench({});
    const { deps } = bench;
    const at = { cause: "unreachable", code: "time_out", sentAt: bench.now() } as const;
    for (const name of ["acme", client]) {
      const opened = backlogBreakerOf({ client: name, agentId: "agent_sales" });
      await openBreaker(opened, at, deps);
      const call = { ...aCall({ client: name }), request: { agent_id: "agent_sales" } };
      logDecision(call, { state: "NEEDS_REVIEW", reason: "outcome_unknown" }, deps);
    }
    const levels = bench.events.map(({ event, level }) => `${event} ${level}`);
    expect(levels).toEqual([
      "breaker.opened alarm",
      "call.needs_review alarm",
      "breaker.opened warning",
      "call.needs_review info",
    ]);
  });
});
