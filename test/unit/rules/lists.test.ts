import { withHashKeys } from "#shared/settings/settings.ts";
import { describe, expect, it } from "vitest";
import { accountBreakerOf, backlogBreakerOf } from "#shared/policy/breakers.ts";
import { pauseKeyOf } from "#shared/rules/pause.ts";
import { restoreKey } from "#shared/policy/ledger-epoch.ts";
import { nextDayAt } from "#shared/policy/day-counts.ts";
import type { DocumentKey } from "#shared/ports/document-kinds.ts";
import { toDocumentsRead } from "#shared/ports/documents-read.ts";
import { toRead } from "#shared/ports/found-documents.ts";
import { checksMsMax } from "#shared/lib/timing.ts";
import { dayMs, hourMs } from "#shared/lib/units.ts";
import * as gates from "#shared/rules/gates.ts";
import { liveKeysOf } from "#shared/rules/live-calls.ts";
import { createResolver } from "#shared/rules/resolved-call.ts";
import {
  firstRoom,
  leastRoom,
  listKeys,
  type ReadFacts,
  type Simulate,
  type Take,
  takeAll,
} from "#shared/rules/rule.ts";
import { toRowsRead } from "#shared/ports/unreadable.ts";
import { withoutPool } from "#test/gate/routes.ts";
import { aRow } from "#test/support/call-rows.ts";
import { testPlan } from "#test/support/environment.ts";
import { accountLimits } from "#test/support/plan-settings.ts";
import { createRouteTable, parseDialPlan } from "#test/support/plans.ts";
import { claimedAlong } from "#test/support/resolved.ts";

// Each list is changed in every way: an entry left out, two neighbours exchanged, a give-back idle. Some situation notices
// each change, or the change is equal for the reason beside it.

const now = Date.UTC(2026, 5, 1, 12);
const pool = ["+12125550190", "+13035550190"];
/** Returns the routes of a plan whose account has these limits. */
function tableWith(limits: Record<string, number>) {
  const plan = parseDialPlan(
    {
      ...testPlan,
      agents: {
        agent_sales: {
          provider: "twilio",
          answerUrl: "https://a.example.com",
          from: { pool, pick: "callee" },
        },
      },
      providers: { twilio: limits },
      callingHours: { default: "always" },
      results: {},
    },
    {},
  );
  return createRouteTable(plan);
}

/** Returns what a call resolves to. */
function targetIn(routes: ReturnType<typeof createRouteTable>) {
  const found = createResolver(routes, () => undefined).find({ ...of, mode: "live" });
  if (found === undefined) throw new Error("the plan has no route");
  return found;
}

const of = { client: "crm", agentId: "agent_sales" };
const table = tableWith({
  ...Object.fromEntries(accountLimits.map((name) => [name, 3])),
  liveCalls: 1,
  callsPerSecond: 1,
});
const target = targetIn(table);
const { account } = target;

/** Returns the changes of a list: each entry left out, and each exchanged with the one after it. */
function changesOf<One>(list: readonly One[]): [string, One[]][] {
  const dropped = list.map((_, index): [string, One[]] => [
    `without ${index}`,
    list.toSpliced(index, 1),
  ]);
  const swapped = list.slice(1).map((after, index): [string, One[]] => {
    const before = list.slice(index, index + 1);
    return [`swaps ${index} and ${index + 1}`, list.toSpliced(index, 2, after, ...before)];
  });
  return [...dropped, ...swapped];
}

/** Lists the changes of a list that no case notices. */
function unnoticed<One, Case>(
  list: readonly One[],
  cases: readonly Case[],
  answer: (list: readonly One[], one: Case) => unknown,
): string[] {
  const text = (some: readonly One[], one: Case) => JSON.stringify(answer(some, one));
  const answers = cases.map((one) => text(list, one));
  return changesOf(list).flatMap(([change, changed]) =>
    cases.some((one, index) => text(changed, one) !== answers[index]) ? [] : change,
  );
}

/** True for an entry left out: where all entries are asked whatever their order, no exchange is noticed. */
const isDrop = (change: string) => change.startsWith("without");

/** Returns all subsets of some words. */
function subsetsOf<Word>(words: readonly Word[]): Word[][] {
  const subsets: Word[][] = [[]];
  for (const word of words) subsets.push(...subsets.map((one) => [...one, word]));
  return subsets;
}

function stored(name: DocumentKey, value: object) {
  return { ...name, version: "v", json: JSON.stringify(value), expiresAt: null };
}

const breaker = {
  state: "open",
  cause: "busy",
  code: "http_429",
  openedAt: now,
  probeAt: now + hourMs,
  intervalMs: 1000,
  blamed: [],
};
const [livePart] = liveKeysOf(account.name, 1);
if (livePart === undefined) throw new Error("the account has no lines");

/** Documents of troubles, each of which keeps the account's calls waiting. */
const troubles = {
  restored: [
    stored(restoreKey, {
      state: "suspended",
      at: null,
      since: now,
      by: null,
      epoch: 1,
      isWatchDone: false,
      lookedUp: 0,
      toReview: 0,
    }),
  ],
  paused: [
    stored(pauseKeyOf({ client: of.client }), { of: { client: of.client }, by: "ops", at: now }),
  ],
  broken: [stored({ kind: "breaker", key: accountBreakerOf(account.name) }, breaker)],
  resting: [
    stored(
      { kind: "caller-ids", key: "twilio" },
      {
        numbers: Object.fromEntries(
          pool.map((one) => [one, { blocked: 0, restsUntil: now + 2 * hourMs, since: 0 }]),
        ),
      },
    ),
  ],
  busy: [
    stored(livePart, {
      entries: [{ call: "c", claim: "x", at: now - hourMs }],
      meanMs: 30 * hourMs,
    }),
  ],
};

/** Limits of calls in a time, by the documents that count them: of a day, and of whatever is added. */
const counters = listKeys(gates.countedKeys, [{ target }], now).filter(
  ({ kind }) => kind === "day-counts",
);
const all = subsetsOf([
  ...Object.values(troubles),
  ...counters.map((name) => [stored(name, { calls: 3 })]),
]).map((some) => some.flat());
type Situation = (typeof all)[number];

function factsOf(some: Situation): ReadFacts {
  return { documents: toDocumentsRead(some), now };
}

describe("each entry at its place is needed in the list", () => {
  it("of holders", () => {
    const longest = (list: typeof gates.holders, some: Situation) =>
      list
        .flatMap((holders) => holders(target, factsOf(some)))
        .reduce<{ reason: string; until: number | null } | undefined>(
          (first, one) =>
            first !== undefined && (first.until ?? Infinity) >= (one.until ?? Infinity)
              ? first
              : one,
          undefined,
        );
    // A pool rests until a time, and a breaker until nobody knows when: which one is asked first changes nothing.
    expect(unnoticed(gates.holders, all, longest)).toEqual(["swaps 2 and 3"]);
  });

  it("of rooms", () => {
    const room = (list: typeof gates.rooms, some: Situation) =>
      leastRoom(list, account, { ...factsOf(some), inFlight: 2, sent: 0, countOthers: () => 0 });
    expect(unnoticed(gates.rooms, all, room)).toEqual([]);
  });

  it("of the documents that count the calls of an account", () => {
    const limits = [...new Set(["callsPerSecond", "liveCalls", ...accountLimits])];
    const named = (list: typeof gates.countedKeys, name: string) =>
      listKeys(list, [{ target: targetIn(tableWith({ [name]: 3 })) }], now);
    const counted = (name: string) => named(gates.countedKeys, name).length;
    expect(counted("callsPerSecond")).toBe(1);
    // Each account has a pace, so another limit adds to its document.
    const others = limits.filter((name) => name !== "callsPerSecond");
    expect(others.filter((name) => counted(name) < 2)).toEqual([]);
    expect(unnoticed(gates.countedKeys, limits, named).filter(isDrop)).toEqual([]);
  });

  it("of what a call may take before its request, and of why live calls are polled", () => {
    const leadMs = (checks?: [string]) => {
      const route = checks === undefined ? target.route : { ...target.route, checks };
      return Math.max(0, ...gates.leads.map((lead) => lead({ route })));
    };
    expect([leadMs(), leadMs(["crm"])]).toEqual([0, checksMsMax]);
    expect(gates.polledFor).toEqual(["live_calls"]);
  });

  it("of the documents of an account, of which its room depends", () => {
    const asked = new Set<string>();
    const documents = toRead((kind, key) => void asked.add(`${kind} ${key}`));
    const facts = { documents, now, inFlight: 0, sent: 0, countOthers: () => 0 };
    leastRoom(gates.rooms, account, facts);
    const named = new Set(
      listKeys(gates.accountKeys, [{ target }], now).map(({ kind, key }) => `${kind} ${key}`),
    );
    const isListed = (one: string) => gates.listedKinds.some((kind) => one.startsWith(`${kind} `));
    const counted = [...asked].filter((one) => !isListed(one));
    expect(counted.length).toBeLessThan(asked.size);
    expect(counted.length).toBeGreaterThan(0);
    expect(counted.filter((one) => !named.has(one))).toEqual([]);
  });

  it("of rooms of a backlog", () => {
    const under = (value: object) => [
      stored({ kind: "breaker", key: backlogBreakerOf(of) }, value),
    ];
    const situations = [[], under(breaker), under({ ...breaker, probeAt: now })];
    expect(
      unnoticed(gates.backlogRooms, situations, (list, some) =>
        String(firstRoom(list, { of, target, answers: null, inFlight: 0 }, factsOf(some))),
      ),
    ).toEqual([]);
  });

  it("of stops and rests, which all must allow a call", () => {
    const stopped = (list: typeof gates.stops, some: Situation) =>
      list.some((stops) => stops(target, factsOf(some)));
    expect(unnoticed(gates.stops, all, stopped).filter(isDrop)).toEqual([]);
    const rests = (list: typeof gates.rests, some: Situation) =>
      Math.max(0, ...list.map((until) => until(target, factsOf(some))));
    expect(unnoticed(gates.rests, all, rests).filter(isDrop)).toEqual([]);
  });

  it("of limits that a forecast simulates", () => {
    /** Serves three calls, one of which begins on the next day, and tells the times and limits of the next one. */
    const serve = (list: readonly Simulate[], some: Situation) => {
      const limits = list.flatMap((simulate) => simulate(account, factsOf(some)) ?? []);
      const times: unknown[] = [];
      for (const due of [0, dayMs, dayMs, dayMs, 0]) {
        let at = now + due;
        const free = limits.map((one) => {
          const ready = at;
          at = one.freeAt(ready);
          return { one, ready, freeAt: at };
        });
        const by = free.findLast((seen) => seen.one.isCause({ ...seen, at }));
        times.push([at - nextDayAt(now), by?.one.limit]);
        for (const one of limits) one.begin(at);
      }
      return times;
    };
    expect(unnoticed(gates.simulated, all, serve).filter(isDrop)).toEqual([]);
    // Lines that become free are looked for before a day that has room for their calls.
    const reversed = gates.simulated.toReversed();
    const served = (list: readonly Simulate[]) => all.map((some) => serve(list, some));
    expect(served(reversed)).not.toEqual(served(gates.simulated));
  });

  it("of what is said about an account's limits", () => {
    const used = (list: typeof gates.uses, some: Situation) =>
      list.map((one) => one(account, factsOf(some)));
    expect(unnoticed(gates.uses, all, used)).toEqual([]);
  });
});

const ports = ["ancestor", "permit", "cap", "day", "line", "counter"] as const;
type Port = (typeof ports)[number];

const row = aRow({ ancestors: ["call_before"], route: target.route, claims: ["claim"] });
const claim = claimedAlong(
  withoutPool(target.route),
  { row, version: "claim" },
  { table, ...withHashKeys({ current: "5".repeat(64) }) },
);

/** Returns ports that refuse what some of them give, and the names of those to which something was given back. */
function portsOf(refusing: readonly Port[]) {
  const given: string[] = [];
  const give = (name: string) => async () => void given.push(name);
  const has = (port: Port) => !refusing.includes(port);
  const placed = { ...aRow({ id: "call_before" }), state: "PLACED" as const };
  const context: gates.TakeContext = {
    ledger: Object({
      read: async () => toRowsRead(has("ancestor") ? [] : [placed], []),
    }),
    documents: {
      add: async (_name, { calls = 0 }) => {
        if (calls < 0) given.push("counter");
        return { calls: has("counter") ? 1 : 99 };
      },
    },
    clock: { now: () => now },
    log: () => undefined,
    permit: Promise.resolve(has("permit") ? { permitAt: now } : undefined),
    caps: {
      free: async () => ({ at: now, atBest: now }),
      count: async () =>
        has("cap")
          ? { isCounted: true }
          : { isCounted: false, free: { at: now + hourMs, atBest: now } },
      release: give("cap"),
    },
    days: { enter: async () => has("day"), leave: give("day") },
    lines: { enter: async () => has("line"), leave: give("line") },
  };
  return { context, given };
}

/** Takes everything, then gives it back. Returns why something could not be taken, and what was given back. */
async function takeAndGive(list: readonly Take<gates.TakeContext>[], refusing: readonly Port[]) {
  const { context, given } = portsOf(refusing);
  const taken = takeAll(list, claim, context);
  const verdict = await taken.judge();
  await taken.give();
  return JSON.stringify([verdict, given]);
}

describe("what a call takes", () => {
  const situations = subsetsOf<Port>(ports);

  async function differs(list: readonly Take<gates.TakeContext>[]): Promise<boolean> {
    for (const one of situations) {
      if ((await takeAndGive(list, one)) !== (await takeAndGive(gates.takes, one))) return true;
    }
    return false;
  }

  it("is taken by each entry of the list, and the first that is refused says why", async () => {
    for (const [change, changed] of changesOf(gates.takes))
      expect(await differs(changed), change).toBe(true);
  });

  it.each(ports.filter((port) => port !== "counter"))(
    "is refused with a reason where the %s alone refuses",
    async (port) => {
      expect(await takeAndGive(gates.takes, [port])).toMatch(/^\[\{"kind":"(hold|later|end)"/);
    },
  );

  it("is given back by each take that can", async () => {
    const idle = gates.takes.map((_, index) =>
      gates.takes.map((take, at): typeof take =>
        at === index
          ? (claimed, context) => ({ ...take(claimed, context), give: async () => undefined })
          : take,
      ),
    );
    const noticed: boolean[] = [];
    for (const list of idle) noticed.push(await differs(list));
    // Nothing is taken of the earlier tries, and a permit passes unused.
    expect(noticed).toEqual(gates.takes.map((_, index) => index > 1));
  });
});
