import { describe, expect, it } from "vitest";
import { lagMaxAfter } from "#functions/dialer/dispatch/account-records.ts";
import { createInFlight } from "#functions/dialer/dispatch/in-flight.ts";
import { isSlow } from "#functions/dialer/dispatch/snapshot.ts";
import { accountBreakerOf, backlogBreakerOf } from "#shared/policy/breakers.ts";
import { backlogRooms, isHanging } from "#shared/rules/gates.ts";
import { firstRoom } from "#shared/rules/rule.ts";
import { checkBreakerOf, createResolver } from "#shared/rules/resolved-call.ts";
import { toDocumentsRead } from "#shared/ports/documents-read.ts";
import { createRouteTable, parseDialPlan, routeFrom } from "../support/plans.ts";
import { testPlan } from "../support/environment.ts";
import { countQueries } from "../support/count-queries.ts";
import { createDialerBench } from "../support/dialer.ts";
import {
  type Bench,
  documentOf,
  idsDialed,
  idsDispatched,
  putDocument,
  putWaiting,
  webhook,
} from "../support/dialer-calls.ts";
import { inSlowTier } from "../support/per-tier.ts";

/** Rules about dispatchers that random scenarios break too seldom. */

const startAt = "2026-06-01T10:00Z";
const of = { client: "crm", agentId: "agent_sales" };

/** Opens the breaker of a backlog, as unanswered calls do. */
const openBreaker = (bench: Bench, probeInMs: number) =>
  putDocument(
    bench,
    { kind: "breaker", key: backlogBreakerOf(of) },
    {
      state: "open",
      cause: "unreachable",
      code: "time_out",
      openedAt: bench.now(),
      probeAt: bench.now() + probeInMs,
      intervalMs: 5_000,
      room: 0,
      blamed: [],
    },
  );

describe("a look", () => {
  it("dispatches what is due, and nothing that is due later in the same backlog", async () => {
    const bench = createDialerBench({ startAt });
    const due = await putWaiting(bench, 2, -1000);
    await putWaiting(bench, 3, 20_000);
    await bench.dispatch();
    expect(idsDispatched(bench).toSorted()).toEqual(due.map(({ id }) => id).toSorted());
  });

  it("dispatches nothing behind an open breaker before its probe, and then one call", async () => {
    const bench = createDialerBench({ startAt });
    await putWaiting(bench, 10, 0);
    await openBreaker(bench, 30_000);
    await bench.dispatch();
    expect(idsDispatched(bench)).toEqual([]);
    bench.advance(30_000);
    await bench.dispatch();
    expect(idsDispatched(bench)).toHaveLength(1);
  });

  it("sends slow calls in messages of their own", async () => {
    const agents = { quick: { ...webhook, url: "https://one.example/a" }, slow: webhook };
    const bench = createDialerBench({ startAt, plan: { agents } });
    for (const agent_id of ["quick", "slow"]) {
      const key = JSON.stringify(["crm", agent_id]);
      await putWaiting(bench, 4, 0, { request: { phone_number: "+12025550123", agent_id } });
      const backlog = await documentOf(bench, "backlog", key);
      if (backlog === undefined) throw new Error("no document of the backlog");
      const answers = agent_id === "slow" ? "slow" : "quick";
      await putDocument(bench, { kind: "backlog", key }, { ...backlog.value, answers });
    }
    await bench.dispatch();
    const accounts = bench
      .queued()
      .map((one) =>
        one.kind === "dispatch" ? new Set(one.rows.map(({ account }) => account)) : [],
      );
    expect(idsDispatched(bench)).toHaveLength(8);
    expect(accounts).toHaveLength(2);
    for (const own of accounts) expect([...own]).toHaveLength(1);
  });
});

describe("a dispatcher whose platform counts its queries", () => {
  const limited = async (queriesMax: number) => {
    const bench = createDialerBench({ startAt });
    // The dispatcher leaves 300.
    const queries = countQueries(
      { ledger: bench.rows, documents: bench.documents },
      queriesMax + 300,
    );
    bench.deps.dispatcher = { lifeMs: 50_000, headsPerLook: 5_000, endsIdle: false };
    bench.answer = async () => ({ kind: "unknown", code: "time_out" });
    await putWaiting(bench, 1, 1000);
    const dispatcher = () => queries;
    await bench.simulate(58, { dispatchEverySeconds: 3600, dispatcher });
    const { beatAt = 0 } = (await documentOf(bench, "dispatcher", "dispatcher"))?.value ?? {};
    return { queries: queries.count(), lastedMs: beatAt - Date.parse(startAt) };
  };

  it("looks less often, so that its queries last for its lifetime", async () => {
    const { queries, lastedMs } = await limited(140);
    expect(queries).toBeLessThanOrEqual(140);
    expect(lastedMs).toBeGreaterThan(45_000);
  });

  it("ends before its queries are used up", async () => {
    const { queries, lastedMs } = await limited(50);
    expect(queries).toBeLessThanOrEqual(50);
    expect(lastedMs).toBeGreaterThan(10_000);
  });
});

describe("an account without a pace", () => {
  it(
    "that answers at once is sent ever more, though its calls are never seen under way",
    inSlowTier,
    async () => {
      const bench = createDialerBench({ startAt, consumers: 40 });
      await putWaiting(bench, 2_000, 0);
      await bench.simulate(6);
      expect(idsDialed(bench)).toHaveLength(2_000);
    },
  );

  it("whose dispatches arrive late is sent half as many, and twice as many once they do not", () => {
    expect(lagMaxAfter(undefined, false, 100)).toBeUndefined();
    expect(lagMaxAfter(undefined, true, 100)).toBe(50);
    expect(lagMaxAfter(50, true, 50)).toBe(25);
    expect(lagMaxAfter(6, true, 6)).toBe(5);
    expect(lagMaxAfter(25, false, 25)).toBe(50);
    expect(lagMaxAfter(60, false, 25)).toBeUndefined();
  });
});

describe("a backlog", () => {
  const open = (probeAt: number, { key = backlogBreakerOf(of), ...more } = {}) => {
    const value = { state: "open", cause: "busy", code: "http_429", openedAt: 0, probeAt };
    const json = JSON.stringify({ ...value, intervalMs: 1000, room: 0, blamed: [], ...more });
    return toDocumentsRead([{ kind: "breaker", key, version: "1", json, expiresAt: null }]);
  };
  const table = createRouteTable(parseDialPlan(testPlan, {}));
  const route = routeFrom("vapi", { provider: "vapi", agent: "assistant", from: "number" });
  const target = createResolver(table, () => undefined).along(route, of);
  const backlog = { of, target, answers: "quick" as const };

  it("has one probe in flight behind its open breaker, once its time has come", () => {
    const allowed = (probeAt: number, inFlight: number) =>
      firstRoom(backlogRooms, { ...backlog, inFlight }, { documents: open(probeAt), now: 1000 });
    expect([allowed(1001, 0), allowed(1000, 0), allowed(1000, 1)]).toEqual([0, 1, 0]);
  });

  it("hangs while requests of it, or questions to its check, stay unanswered", () => {
    const hangs = (more: object) => isHanging(checked, { documents: open(0, more) });
    const checked = {
      ...target,
      services: [{ name: checkBreakerOf("crm"), requestsPerSecond: 1 }],
    };
    expect(hangs({ cause: "unreachable" })).toBe(true);
    expect(hangs({ cause: "check", key: checkBreakerOf("crm") })).toBe(true);
    expect(hangs({ cause: "busy" })).toBe(false);
    expect(hangs({ cause: "unreachable", state: "closed" })).toBe(false);
    // Another backlog of the account may well be answered.
    expect(hangs({ cause: "unreachable", key: accountBreakerOf(target.account.name) })).toBe(false);
  });

  it("is slow by its own answers, and by its account's before it has any", () => {
    const slow = (answers: "quick" | "slow" | null, isAccountQuick: boolean) =>
      isSlow(answers, isAccountQuick);
    expect([slow("slow", true), slow(null, false)]).toEqual([true, true]);
    expect([slow("quick", false), slow(null, true)]).toEqual([false, false]);
  });
});

describe("a row that was dispatched", () => {
  const row = { id: "b", dueAt: 50, account: "a", backlog: "one" };

  it("is in flight while a page of its backlog ends before it", () => {
    const inFlight = createInFlight();
    inFlight.send({ ...row, at: 100 });
    inFlight.seeBacklog("one", { rows: [{ id: "a", dueAt: 10 }], isCut: true }, 200);
    expect(inFlight.isSent("b")).toBe(true);
    expect(inFlight.countIn("one")).toBe(1);
    inFlight.seeBacklog("one", { rows: [{ id: "a", dueAt: 10 }], isCut: false }, 300);
    expect(inFlight.isSent("b")).toBe(false);
    expect(inFlight.takeCompleted("a")).toEqual({ completed: 1, isLagging: false });
  });

  it("is in flight once, as a row that waits or as a call under way, and is completed after that", () => {
    const inFlight = createInFlight();
    inFlight.send({ ...row, at: 100 });
    const call = { id: "b", dueAt: 900, account: "a", client: "crm", agentId: "x" };
    inFlight.seeDialing([call]);
    expect(inFlight.countOf("a")).toBe(1);
    inFlight.seeDialing([]);
    expect(inFlight.countOf("a")).toBe(0);
    expect(inFlight.takeCompleted("a").completed).toBe(1);
  });
});
