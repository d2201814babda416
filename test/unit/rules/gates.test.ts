import { createNumberHasher } from "#shared/telephony/number-hashes.ts";
import { glob } from "node:fs/promises";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import type { DocumentsRead, StoredText } from "#shared/ports/document-kinds.ts";
import { toDocumentsRead } from "#shared/ports/documents-read.ts";
import { dayKeyOf } from "#shared/policy/day-counts.ts";
import { createSchedule } from "#shared/dial-plan/schedule.ts";
import { hourMs, minuteMs } from "#shared/lib/units.ts";
import * as gates from "#shared/rules/gates.ts";
import { createResolver, type ResolvedCall } from "#shared/rules/resolved-call.ts";
import {
  type ClaimFacts,
  type ClockFacts,
  type Facts,
  type Judge,
  listKeys,
  pass,
} from "#shared/rules/rule.ts";
import { type Chance, createChance } from "#test/gate/random.ts";
import { accountIn, routeIn, withoutPool } from "#test/gate/routes.ts";
import { randomCall, randomRow } from "#test/gate/random-calls.ts";
import { randomDocuments, readOf } from "#test/gate/random-documents.ts";
import { randomPlan } from "#test/gate/random-plan.ts";
import { type EqualGate, equalGates } from "#test/mutation/gate-survivors.ts";
import { testPlan } from "#test/support/environment.ts";
import { accountLimits } from "#test/support/plan-settings.ts";
import { createRouteTable, parseDialPlan } from "#test/support/plans.ts";

/** The lists of judges. */
const lists = {
  ends: gates.ends,
  trusted: gates.trusted,
  delivery: gates.delivery,
  resend: gates.resend,
  byTime: gates.byTime,
  beforeClaim: gates.beforeClaim,
  beforeClaimInDelivery: gates.beforeClaimInDelivery,
  beforeClaimByDocuments: gates.beforeClaimByDocuments,
  orders: gates.orders,
  permitTime: gates.permitTime,
  clock: gates.clock,
};

/** Everything that any list asks for. */
type AllFacts = Facts & ClockFacts & ClaimFacts & { documents: DocumentsRead };

interface Case {
  call: ResolvedCall;
  facts: AllFacts;
}

/** Number of random calls. With fewer, a change of two judges that seldom object together would stay unnoticed. */
const casesMax = 6_000;
const casesPerPlan = 50;
const pool = ["+12125550190", "+13035550190"];

/** Returns a random plan, and draws limits that `randomPlan` does not know: who adds one need not come here. */
function limitedPlan(chance: Chance, how: { isOpen: boolean }) {
  const drawn = randomPlan(chance, how);
  const { providers = {} }: { providers?: Record<string, object> } = drawn;
  const others = accountLimits.filter((name) => name !== "callsPerDay");
  const limits = () =>
    Object.fromEntries(
      others.flatMap((name) => (chance.is(0.4) ? [[name, chance.below(6, 1)]] : [])),
    );
  const limited = Object.entries(providers).map(([name, account]) => [
    name,
    { ...account, ...limits() },
  ]);
  return parseDialPlan({ ...drawn, providers: Object.fromEntries(limited) }, {});
}

/** Draws what these limits have counted. */
function countsOf({ target, of }: ResolvedCall, chance: Chance, now: number): StoredText[] {
  const { name = "" } = target?.account ?? {};
  const ofDay = dayKeyOf({ account: name }, now).key;
  return listKeys(gates.backlogKeys, [{ of, target }], now).flatMap(({ kind, key }) => {
    if (kind !== "day-counts" || key === ofDay || !chance.is(0.4)) return [];
    const json = JSON.stringify({ calls: chance.below(7) });
    return { kind, key, version: "v", json, expiresAt: null };
  });
}

function randomCases(): Case[] {
  const cases: Case[] = [];
  const hashKeys = { current: "5".repeat(64), former: "6".repeat(64) };
  let plan = limitedPlan(createChance(1), { isOpen: false });
  for (let index = 0; index < casesMax; index++) {
    const chance = createChance(1_000_003 + index);
    const { is, one, below } = chance;
    if (index % casesPerPlan === 0) plan = limitedPlan(chance, { isOpen: is(0.2) });
    const table = createRouteTable(plan);
    const now = Date.UTC(2026, 5, 1 + below(3), below(24), below(60), below(60));
    const call = randomCall(chance, { now, index: 0, isFresh: is(0.3) });
    const route = routeIn(plan.agents, call);
    const row = randomRow(chance, { call, route: route && withoutPool(route), now, hashKeys });
    const obstacle = one([0.02, 0.08, 0.4, 0.7]);
    const world = { calls: [call], routes: route === undefined ? [] : [route], hashKeys, now };
    const isSuspended = is(obstacle / 4);
    const resolved = createResolver(table, createNumberHasher(hashKeys).all).resolve(call, row);
    const stored = randomDocuments(chance, obstacle, world);
    const documents = readOf([...stored, ...countsOf(resolved, chance, now)], isSuspended);
    cases.push({
      call: resolved,
      facts: {
        now,
        at: now + one([0, 4_000, minuteMs, 6 * hourMs]),
        documents,
        table,
        schedule: createSchedule(table, () => undefined),
        ahead: new Map(route === undefined ? [] : [[accountIn(route), below(6)]]),
        requestsAtOnce: below(10, 1),
        permission: one([undefined, { checks: [], validUntil: now + one([-1, 0, 5_000]), ms: 3 }]),
        stopped: new Set(is(0.3) ? [resolved.backlog] : []),
        deadline: now + one([20_000, minuteMs, hourMs]),
        claimedAt: now - one([0, 300, 10_001, 14_000, -1_100]),
        preliminaryMs: one([0, 0, 15_000]),
      },
    });
  }
  return cases;
}

/** Returns a fresh call whose account may dial no more in its delivery, while all numbers of its pool rest. */
function behindOthers(): Case {
  const plan = parseDialPlan(
    {
      ...testPlan,
      agents: {
        pooled: {
          provider: "twilio",
          answerUrl: "https://a.example.com",
          from: { pool, pick: "callee" },
        },
      },
      callingHours: { default: "always" },
      destinations: { allow: ["*"] },
    },
    {},
  );
  const table = createRouteTable(plan);
  const now = Date.UTC(2026, 5, 1);
  const [random] = cases;
  if (random === undefined) throw new Error("no random call");
  const { notBefore: _, ancestors: __, ...posted } = random.call.call;
  const request = { phone_number: "+12125550123", agent_id: "pooled" };
  const call = { ...posted, request, acceptedAt: now };
  const resting = { blocked: 0, restsUntil: now + hourMs, since: 0 };
  const stored = (kind: "account" | "caller-ids", value: object) => ({
    kind,
    key: "twilio",
    version: "v",
    json: JSON.stringify(value),
    expiresAt: null,
  });
  const documents = toDocumentsRead([
    stored("account", { quick: true, busy: false }),
    stored("caller-ids", { numbers: Object.fromEntries(pool.map((one) => [one, resting])) }),
  ]);
  const resolved = createResolver(table, () => undefined).resolve(call, undefined);
  const at = { now, at: now, documents: { ...documents, isSuspended: false }, table };
  const schedule = createSchedule(table, () => undefined);
  const ahead = new Map([["twilio", 1]]);
  return {
    call: resolved,
    facts: { ...random.facts, ...at, schedule, ahead, requestsAtOnce: 1 },
  };
}

function answerOf(judges: readonly Judge<AllFacts>[], { call, facts }: Case): string {
  try {
    const answer = pass(judges, call, facts);
    if (answer.kind !== "passed") return JSON.stringify(answer);
    return JSON.stringify([answer.target?.route, answer.notBefore]);
  } catch (error) {
    return `throws ${Object(error).name}`;
  }
}

/** Names of judges: those of their rules and questions. */
const names = new Map<unknown, string>();
const folder = resolve(import.meta.dirname, "../../../shared/rules");
for await (const path of glob("*.ts", { cwd: folder })) {
  if (path === "gates.ts") continue;
  const rule: Record<string, unknown> = await import(resolve(folder, path));
  for (const [question, answer] of Object.entries(rule))
    names.set(answer, `${path.slice(0, -3)} ${question}`);
}

/** A list with one judge left out, or with one exchanged with the judge after it. */
interface Change {
  /** The judges that it concerns. */
  of: string[];
  changed: Judge<AllFacts>[];
}

function changesOf(judges: readonly Judge<AllFacts>[]): Change[] {
  const nameOf = (judge: Judge<AllFacts>) => names.get(judge) ?? "made";
  const dropped = judges.map((judge, index): Change => ({
    of: [nameOf(judge)],
    changed: judges.toSpliced(index, 1),
  }));
  const swapped = judges.slice(1).flatMap((after, index): Change | Change[] => {
    const before = judges[index];
    if (before === undefined) return [];
    const changed = judges.toSpliced(index, 2, after, before);
    return { of: [nameOf(before), nameOf(after)], changed };
  });
  return [...dropped, ...swapped];
}

const cases = randomCases();
cases.push(behindOthers());

describe("the judges of a list", () => {
  it.each(Object.entries<readonly Judge<AllFacts>[]>(lists))(
    "%s are each needed at their place",
    (list, judges) => {
      // A resend has a row.
      const own = cases.filter(({ call }) => list !== "resend" || call.row !== undefined);
      const answers = own.map((one) => answerOf(judges, one));
      const unnoticed = changesOf(judges).flatMap(({ of, changed }) =>
        own.some((one, index) => answerOf(changed, one) !== answers[index]) ? [] : [of],
      );
      const equal = equalGates.filter((one) => one.list === list);
      const isEqual = (of: string[], { judges: known }: EqualGate) =>
        known.length === 1 ? of.includes(known[0]) : of.join() === known.join();
      expect(unnoticed.filter((of) => !equal.some((one) => isEqual(of, one)))).toEqual([]);
      // Whatever counts as equal is no longer needed once it is noticed.
      expect(equal.filter((one) => !unnoticed.some((of) => isEqual(of, one)))).toEqual([]);
    },
  );

  it("of a delivery wait for the turn in it before they choose a calling number", () => {
    expect(answerOf(gates.delivery, behindOthers())).toBe('{"kind":"hold","reason":"turn"}');
  });
});
