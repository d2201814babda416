import { toAccountName } from "#shared/calls/ids.ts";
import { describe, expect, it } from "vitest";
import { accountBreakerOf } from "#shared/policy/breakers.ts";
import { dayKeyOf } from "#shared/policy/day-counts.ts";
import type { DocumentKey } from "#shared/ports/document-kinds.ts";
import { toDocumentsRead } from "#shared/ports/documents-read.ts";
import { rooms } from "#shared/rules/gates.ts";
import { leastRoom, type RoomFacts } from "#shared/rules/rule.ts";
import { createRouteTable, parseDialPlan } from "#test/support/plans.ts";
import { testPlan } from "#test/support/environment.ts";

const now = Date.UTC(2026, 5, 1, 12);
const plan = parseDialPlan(
  {
    ...testPlan,
    agents: { a: { provider: "vapi", agent: "assistant", from: "number" } },
    providers: { vapi: { callsPerDay: 5, liveCalls: 1 } },
    results: {},
  },
  {},
);
const account = createRouteTable(plan).account({
  provider: "vapi",
  account: toAccountName("vapi"),
});

const closed = {
  code: "http_429",
  openedAt: now,
  probeAt: now,
  intervalMs: 1000,
  cause: "busy",
  room: 0,
  blamed: [],
};

/** Returns the facts of an account that has placed some of its five calls of the day, and whose one line is taken or not. */
function factsOf({
  placed,
  isLive,
  breaker,
}: {
  placed: number;
  isLive: boolean;
  breaker?: object;
}): RoomFacts {
  const stored = (name: DocumentKey, value: object) => ({
    ...name,
    version: "v",
    json: JSON.stringify(value),
    expiresAt: null,
  });
  const day = stored(dayKeyOf({ account: account.name }, now), { calls: placed });
  const key = { kind: "breaker", key: accountBreakerOf(account.name) } as const;
  const all = breaker === undefined ? [day] : [day, stored(key, { ...closed, ...breaker })];
  return {
    documents: toDocumentsRead(all),
    now,
    inFlight: 0,
    sent: 0,
    countOthers: () => (isLive ? 1 : 0),
  };
}

const open = { state: "open" };
const halfOpen = { state: "half_open", room: 2 };

describe("the room of an account", () => {
  it("is the least that a rule leaves, which says why", () => {
    const room = leastRoom(rooms, account, factsOf({ placed: 3, isLive: false }));
    expect(room).toEqual({ count: 1, why: "live_calls" });
    const beside = factsOf({ placed: 4, isLive: false, breaker: halfOpen });
    expect(leastRoom(rooms, account, beside)).toEqual({ count: 1, why: "calls_per_day" });
  });

  it("is full for the day before it is full for its lines", () => {
    const full = leastRoom(rooms, account, factsOf({ placed: 5, isLive: true }));
    expect(full).toEqual({ count: 0, why: "calls_per_day", most: 0 });
    const lines = leastRoom(rooms, account, factsOf({ placed: 4, isLive: true }));
    expect(lines).toEqual({ count: 0, why: "live_calls", most: 0 });
  });

  it("is one call under an open breaker, whatever else is full", () => {
    const facts = factsOf({ placed: 5, isLive: true, breaker: open });
    const probe = { count: 1, why: "breaker_open", most: 1 };
    expect(leastRoom(rooms, account, facts)).toEqual(probe);
    expect(leastRoom(rooms, account, { ...facts, inFlight: 1 })).toEqual({ ...probe, count: 0 });
  });

  it("has no bounds where the plan names none", () => {
    const unlimited = { ...account, callsPerDay: undefined, liveCalls: undefined };
    const room = leastRoom(rooms, unlimited, factsOf({ placed: 9, isLive: true }));
    expect(room).toEqual({ count: Infinity });
  });
});
