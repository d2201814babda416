import type { CallLedger } from "#shared/ports/ledger.ts";
import type { Call, Route } from "#shared/calls/call-request.ts";
import { type CallRow, waitingBacklogOf } from "#shared/calls/call-row.ts";
import type { Send } from "#shared/lib/http-client.ts";
import { minuteMs } from "#shared/lib/units.ts";
import type { StoredText } from "#shared/ports/document-kinds.ts";
import type { DialingProvider, DialOutcome } from "#shared/providers/provider.ts";
import type { HashKeys } from "#shared/telephony/phone-number.ts";
import { parseRow, toStoredRow } from "#shared/ports/stored-row.ts";
import { createMemoryDeadLetters } from "../support/memory-dead-letters.ts";
import { createMemoryDocuments } from "../support/memory-documents.ts";
import { createMemoryEpochStore } from "../support/memory-epoch-store.ts";
import { createMemoryJournal } from "../support/memory-journal.ts";
import { createMemoryLedger } from "../support/memory-ledger.ts";
import { createChance, fractionOf } from "./random.ts";
import { randomCall, randomRow } from "./random-calls.ts";
import { randomDocuments } from "./random-documents.ts";
import { randomPlan } from "./random-plan.ts";
import { accountIn, routeIn, withoutPool } from "./routes.ts";

/** The dialing of one side. */
export interface Dialing {
  parse(plan: object, hashKeys: HashKeys): { agents: Record<string, Route>; settings: object };
  createMemory(): object;
  /** Returns a ledger whose rows have the form of this side. */
  ledger(ledger: CallLedger): CallLedger;
  Withheld: new (message: string) => Error;
  dialCalls(requested: readonly object[], deps: object, deadline: number): Promise<Set<string>>;
  dispatch(deps: object, deadline: number): Promise<void>;
}

/** A delivery: its calls, what stands in the ledger, and how providers, checks and ports behave. */
export interface World {
  seed: number;
  now: number;
  plan: object;
  hashKeys: HashKeys;
  requested: { id: string; call?: Call; account?: string }[];
  rows: CallRow[];
  documents: StoredText[];
  concurrency: number;
  /**
   * True if ports answer in no time. Only then, and without faults, are there caps and limits of days: calls of a delivery
   * share their statements now, so another one would be slow, or fail.
   */
  isInstant: boolean;
  /** Chance that a call to a port fails. */
  faults: number;
  deadlineMs: number;
}

/** A request that a provider was sent. */
interface Requested {
  id: string;
  /** Milliseconds since the epoch. */
  at: number;
  route: Route;
}

/** Everything that a delivery leaves behind. */
export interface Left {
  requests: readonly Requested[];
  rows: ReadonlyMap<string, CallRow>;
  /** Ids of the calls to be delivered again; `throws` and a reason: all are. */
  retried: ReadonlySet<string>;
  /** Events that were logged. */
  events: ReadonlySet<string>;
}

/** Runs a random delivery on one side. */
export async function deliverOne(
  seed: number,
  side: Dialing,
): Promise<{ world: World; left: Left }> {
  const world = randomWorld(seed, side);
  const { facts } = await deliver(world, side);
  return { world, left: facts };
}

/** Runs the same random delivery on both sides. Returns what each has left behind, as text. */
export async function deliverBoth(
  seed: number,
  { was, is }: { was: Dialing; is: Dialing },
): Promise<{ was: string; is: string; requests: number }> {
  const world = randomWorld(seed, was);
  const before = await deliver(world, was);
  const after = await deliver(world, is);
  // Since then, the removals from a list are read once more, as they are counted.
  const compared = (left: string) => left.replaceAll(/ *"port documents\.read unlisted:.*\n/g, "");
  return { was: compared(before.left), is: compared(after.left), requests: before.requests };
}

/** Time for which a dispatcher looks at a world, in milliseconds. */
const dispatchMs = 20_000;

/** Has both sides dispatch the waiting calls of the same random world. Returns what each has left behind, as text. */
export async function dispatchBoth(
  seed: number,
  { was, is }: { was: Dialing; is: Dialing },
): Promise<{ was: string; is: string; sent: number }> {
  const world = withBacklogs({ ...randomWorld(seed, was), isInstant: true, faults: 0 });
  const dispatch = async (side: Dialing) => {
    const { left } = await leave(world, side, async (deps) => {
      await side.dispatch(deps, world.now + dispatchMs);
      return [];
    });
    // Then, the pace of each account was read, whether or not the plan limits it.
    return left.replaceAll(/ *"port documents\.read pace:.*\n/g, "");
  };
  const before = await dispatch(was);
  return { was: before, is: await dispatch(is), sent: before.split('"sent {').length - 1 };
}

/** Adds the documents of the backlogs in which rows wait, without which no dispatcher knows them. */
function withBacklogs(world: World): World {
  const usedAt = world.now - minuteMs;
  const rows = world.rows.map((row): CallRow => {
    if (row.state !== "WAITING") return row;
    const backlog = waitingBacklogOf(row);
    const fraction = fractionOf(world.seed, `due ${row.id}`);
    return { ...row, backlog, dueAt: world.now - Math.floor(minuteMs * (fraction - 0.2)) };
  });
  const backlogs = rows.flatMap(({ state, backlog, client, agentId, isUrgent }): StoredText[] => {
    if (state !== "WAITING" || backlog === null) return [];
    const fraction = fractionOf(world.seed, `answers ${backlog}`);
    const answers = fraction < 0.5 ? "quick" : fraction < 0.8 ? "slow" : null;
    const json = JSON.stringify({ client, agentId, isUrgent, usedAt, answers });
    return [{ kind: "backlog", key: backlog, version: `v${backlog}`, json, expiresAt: null }];
  });
  return { ...world, rows, documents: [...world.documents, ...backlogs] };
}

/** Returns the world of a seed: a plan of one side, calls, rows, documents and how ports behave. */
export function randomWorld(seed: number, { parse }: Dialing): World {
  const chance = createChance(seed);
  const { is, one, below } = chance;
  const isOpen = is(0.7);
  const isInstant = is(0.6);
  const faults = one([0, 0, 0.02, 0.1]);
  const plan = randomPlan(chance, { isOpen, hasCounts: isInstant && faults === 0 });
  const hashKeys = is(0.3)
    ? { current: "5".repeat(64), former: "6".repeat(64) }
    : { current: "5".repeat(64) };
  const { agents } = parse(plan, hashKeys);
  const now = Date.UTC(2026, 5, 1 + below(2), below(24), below(60), below(60));
  const calls = Array.from({ length: below(11, 1) }, (_, index) =>
    randomCall(chance, { now, index, isFresh: isOpen && index < 6 }),
  );
  const rows = calls.flatMap((call) => {
    const route = routeIn(agents, call);
    const known = { call, route: route && withoutPool(route), now, hashKeys };
    return randomRow(chance, known) ?? [];
  });
  const routes = calls.flatMap((call) => routeIn(agents, call) ?? []);
  const trouble = {
    obstacle: isOpen ? one([0, 0, 0.01]) : one([0, 0.02, 0.1]),
    unreadable: 0,
  };
  const withRow = new Set(rows.map(({ id }) => id));
  return {
    seed,
    now,
    plan,
    hashKeys,
    requested: calls.map((call) => {
      const route = routeIn(agents, call);
      if (!withRow.has(call.id) || is(0.2)) return { id: call.id, call };
      return { id: call.id, ...(route && is(0.9) ? { account: accountIn(route) } : {}) };
    }),
    rows,
    // A call whose check has permitted it no longer probes the check's breaker.
    documents: randomDocuments(chance, trouble, { calls, routes, hashKeys, now }).filter(
      ({ kind, key }) => kind !== "breaker" || !key.startsWith("check:"),
    ),
    concurrency: below(6, 1),
    isInstant,
    faults,
    deadlineMs: one([50_000, 2 * minuteMs, 15 * minuteMs]),
  };
}

/** A clock that stands while work can go on, and then moves to the next moment for which somebody waits. */
function createClock(start: number) {
  let now = start;
  let timers: { at: number; wake: () => void }[] = [];
  return {
    now: () => now,
    sleep: (ms: number) =>
      new Promise<void>((wake) => {
        if (ms <= 0) wake();
        else timers.push({ at: now + ms, wake });
      }),
    async run<Result>(work: Promise<Result>): Promise<Result> {
      let isOver = false;
      const end = () => void (isOver = true);
      work.then(end, end);
      for (;;) {
        await new Promise((resolve) => setImmediate(resolve));
        if (isOver) return work;
        const at = Math.min(...timers.map((timer) => timer.at));
        if (!Number.isFinite(at)) continue;
        now = Math.max(now, at);
        const due = timers.filter((timer) => timer.at <= now);
        timers = timers.filter((timer) => timer.at > now);
        for (const { wake } of due) wake();
      }
    },
  };
}

/** Has a side dial the calls of a world. */
function deliver(
  world: World,
  side: Dialing,
): Promise<{ left: string; requests: number; facts: Left }> {
  return leave(world, side, async (deps) => {
    const { requested, now, deadlineMs } = world;
    return [...(await side.dialCalls(requested, deps, now + deadlineMs))];
  });
}

/** Has a side work in a world, and returns what it leaves behind. `work` resolves to the calls to be delivered again. */
async function leave(
  world: World,
  side: Dialing,
  work: (deps: object) => Promise<string[]>,
): Promise<{ left: string; requests: number; facts: Left }> {
  const { seed, now, plan, hashKeys } = world;
  const clock = createClock(now);
  const { settings } = side.parse(plan, hashKeys);
  const traces: string[] = [];
  let versions = 0;
  const version = () => `w${++versions}w`;
  const storedRows = new Map<string, { id: string; version: string; json: string }>();
  const storedDocuments = new Map<string, StoredText>();
  for (const row of world.rows) {
    const { id } = row;
    storedRows.set(id, {
      id,
      version: row.version,
      json: JSON.stringify(toStoredRow(row)),
    });
  }
  for (const one of world.documents) storedDocuments.set(`${one.kind} ${one.key}`, one);
  const troubled = troubledPorts(world, { clock, traces });
  const requests: string[] = [];
  const rung: Requested[] = [];
  const events = new Set<string>();
  const queue = troubled("queue", {
    send: async (message: object) => void traces.push(`sent ${JSON.stringify(message)}`),
    sendMany: async (all: readonly object[]) => {
      for (const message of all) traces.push(`sent ${JSON.stringify(message)}`);
      return all.length;
    },
  });
  const deps = {
    queue,
    eventsQueue: queue,
    ledger: troubled("ledger", side.ledger(createMemoryLedger(storedRows))),
    documents: troubled("documents", createMemoryDocuments(clock.now, version, storedDocuments)),
    epochStore: createMemoryEpochStore(),
    deadLetters: createMemoryDeadLetters(),
    journal: createMemoryJournal(),
    settings: {
      ...settings,
      publicUrl: "https://calls.example.com",
      providerOf: (route: Route) =>
        providerAlong(route, { seed, clock, requests, rung, Withheld: side.Withheld }),
      askCheck: async ({ check, body }: { check: string; body: string }) => {
        requests.push(`check ${check} ${body} at ${clock.now()}`);
        await clock.sleep(1_500 * fractionOf(seed, `slow ${check} ${body}`));
        const fraction = fractionOf(seed, `${check} ${JSON.parse(body).id}`);
        if (fraction < 0.7) return { decision: "call" };
        if (fraction < 0.8) return { decision: "refuse", reason: "no" };
        if (fraction < 0.85) return { decision: "never" };
        if (fraction < 0.9) return { decision: "wait", until: now + minuteMs };
        return { decision: "failed", code: "time_out" };
      },
    },
    clock: { now: clock.now, sleep: clock.sleep },
    random: { version, fraction: () => 0.5 },
    concurrency: world.concurrency,
    consumers: 3,
    statementsLeft: () => Infinity,
    dispatcher: { lifeMs: 50_000, headsPerLook: 5_000, endsIdle: false },
    sweepSeconds: 60,
    // Sweeps alone say now that a route is gone.
    log: (level: string, event: string, fields: object) => {
      events.add(event);
      if (event !== "route.gone") traces.push(`${level} ${event} ${JSON.stringify(fields)}`);
    },
    memory: side.createMemory(),
  };
  const done = work(deps).catch((error: unknown) => [
    `throws ${error instanceof Error ? error.message : ""}`,
  ]);
  const retried = await clock.run(done);
  // Calls that meet the limit of their day are refused together. A live call has no end of its own any more,
  // a backlog has a mode, an error's place is told, and a route's account has that name.
  const masked = (text: string) =>
    text
      .replaceAll(/w\d+w/g, "w")
      .replaceAll(/\\?"refused\\?":\d+/g, "refused")
      .replaceAll(/,\\*"endsAt\\*":[\d.]+/g, "")
      .replaceAll(/,\\*"mode\\*":\\*"live\\*"/g, "")
      .replaceAll(/ \([\w.-]+:\d+:\d+\)/g, "")
      .replaceAll(/(?<=")failures(?=\\*")/g, "counters")
      .replaceAll(/(?<=")lookedAt(?=\\*")/g, "tickedAt")
      .replaceAll(/(\\*)"(?:provider|type)\\*":/g, '$1"account$1":');
  const sorted = (all: Iterable<string>) => [...all].map(masked).toSorted();
  const left = {
    retried: retried.toSorted(),
    requests: sorted(requests),
    rows: sorted([...storedRows.values()].map((one) => JSON.stringify(one))),
    documents: sorted([...storedDocuments.values()].map((one) => JSON.stringify(one))),
    traces: sorted(traces),
    over: clock.now(),
  };
  const rows = new Map(
    [...storedRows.values()].flatMap(({ id, version: of, json }) => {
      const row = parseRow(id, of, JSON.parse(json));
      return row === undefined ? [] : [[id, row] as const];
    }),
  );
  const facts = { requests: rung, rows, retried: new Set(retried), events };
  return { left: JSON.stringify(left, null, 1), requests: requests.length, facts };
}

/** Returns a function that makes the calls to a port slow, and some of them fail: the same on both sides, in any order. */
function troubledPorts(
  { seed, faults, isInstant }: World,
  { clock, traces }: { clock: ReturnType<typeof createClock>; traces: string[] },
) {
  const seen = new Map<string, number>();
  return <Port extends object>(port: string, methods: Port): Port =>
    new Proxy(methods, {
      get(target, name, receiver) {
        const method: unknown = Reflect.get(target, name, receiver);
        if (typeof method !== "function") return method;
        return async (...values: unknown[]) => {
          const asked = aboutOf(values[0]);
          const about = `${port}.${String(name)} ${asked}`;
          const count = (seen.get(about) ?? 0) + 1;
          seen.set(about, count);
          for (const one of asked.split("|")) {
            if (!isShared(one)) traces.push(`port ${port}.${String(name)} ${one}`);
          }
          // Since then, removals are read a second time: it takes no time, and does not fail.
          if (about.startsWith("documents.read unlisted:") && count > 1) {
            return await Reflect.apply(method, target, values);
          }
          const ms = isInstant ? 0 : Math.floor(100 * fractionOf(seed, `ms ${about} ${count}`));
          await clock.sleep(ms);
          const fate = fractionOf(seed, `fate ${about} ${count}`);
          if (fate < faults / 2) throw new Error("lost before");
          const result: unknown = await Reflect.apply(method, target, values);
          if (fate < faults) throw new Error("lost after");
          return result;
        };
      },
    });
}

/** True for documents that the calls of a delivery read and write in shared statements, which they did not before. */
function isShared(about: string): boolean {
  return about.startsWith("cap:") || about.startsWith("day-counts:");
}

/** Returns what a port was asked about, without versions and in a fixed order. */
function aboutOf(value: unknown): string {
  const all = Array.isArray(value) ? value : [value];
  return [...new Set(all.map(nameOf))].toSorted().join("|");
}

function nameOf(one: unknown): string {
  if (typeof one !== "object" || one === null) return String(one);
  const { next = one }: { next?: object } = one;
  const { id, kind, key }: { id?: string; kind?: string; key?: string } = next;
  return id ?? `${kind === "failures" ? "counters" : kind}:${key}`;
}

type DialOptions = Parameters<DialingProvider<Route>["dial"]>[0];
/** A request to dial. What is `guarded` was `ring` then. */
type DialRequest = Omit<DialOptions, "guarded"> & {
  [Name in "guarded" | "ring"]?: DialOptions["guarded"];
};

/** A provider that answers by the call's id. */
function providerAlong(
  route: Route,
  {
    seed,
    clock,
    requests,
    rung,
    Withheld,
  }: {
    seed: number;
    clock: ReturnType<typeof createClock>;
    requests: string[];
    rung: Requested[];
    Withheld: Dialing["Withheld"];
  },
) {
  const canLookUp = route.provider === "twilio" || route.provider === "vapi";
  return {
    async dial({ ring, guarded = ring, ...request }: DialRequest): Promise<DialOutcome> {
      const { call, attempt, timeoutSeconds, maxCallMinutes, callbackUrl } = request;
      const of = (what: string) => fractionOf(seed, `${what} ${call.id}`);
      if (of("prepares") < 0.2) await clock.sleep(7_000 * of("prepare"));
      const send: Send = async (_url, { mayLeave }) => {
        if (of("connects") < 0.2) await clock.sleep(3_000 * of("connect"));
        if (mayLeave?.() === false) throw new Withheld("not any more");
        const hasAddress = callbackUrl !== undefined;
        const sent = { attempt, timeoutSeconds, maxCallMinutes, hasAddress, route };
        rung.push({ id: call.id, at: clock.now(), route });
        requests.push(`${call.id} at ${clock.now()} ${JSON.stringify(sent)}`);
        return new Response();
      };
      const { signal } = new AbortController();
      const fetchOptions = { headers: {}, redirect: "manual", signal } as const;
      await guarded?.(send, of("ring") < 0.3 ? 5 : timeoutSeconds)(
        "https://example.com",
        fetchOptions,
      );
      await clock.sleep(4_000 * of("answers") ** 3);
      return outcomeOf(of("outcome"));
    },
    ...(canLookUp ? { lookUp: async () => undefined } : {}),
  };
}

function outcomeOf(fraction: number): DialOutcome {
  if (fraction < 0.5) return { kind: "placed", providerCallId: "p1" };
  if (fraction < 0.6) return { kind: "unknown", code: "time_out" };
  if (fraction < 0.7) return { kind: "rejected", code: "bad_number" };
  if (fraction < 0.8) return { kind: "not_placed", code: "busy", blamesNumber: true };
  if (fraction < 0.85) return { kind: "not_placed", code: "http_503", unreachable: true };
  if (fraction < 0.9) return { kind: "not_placed", code: "http_429", retryAfterSeconds: 20 };
  if (fraction < 0.95) return { kind: "account_refused", code: "http_401" };
  return { kind: "route_refused", code: "bad_from" };
}
