import { withHashKeys } from "#shared/settings/settings.ts";
import { dialCalls } from "#functions/dialer/dial/dial-calls.ts";
import { createDialerMemory } from "#functions/dialer/runtime/memory.ts";
import type { Call, Route } from "#shared/calls/call-request.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { createSchedule } from "#shared/dial-plan/schedule.ts";
import { type Send, Withheld } from "#shared/lib/http-client.ts";
import { minuteMs } from "#shared/lib/units.ts";
import type { StoredText } from "#shared/ports/document-kinds.ts";
import { parseRow, toStoredRow } from "#shared/ports/stored-row.ts";
import type { DialingProvider, DialOutcome } from "#shared/providers/provider.ts";
import type { RotatedKeys } from "#shared/lib/rotated-keys.ts";
import { createMemoryDeadLetters } from "../support/memory-dead-letters.ts";
import { createMemoryDocuments } from "../support/memory-documents.ts";
import { createMemoryEpochStore } from "../support/memory-epoch-store.ts";
import { createMemoryJournal } from "../support/memory-journal.ts";
import { createMemoryLedger } from "../support/memory-ledger.ts";
import { createRouteTable, parseDialPlan } from "../support/plans.ts";
import { createChance, fractionOf } from "./random.ts";
import { randomCall, randomRow } from "./random-calls.ts";
import { randomDocuments } from "./random-documents.ts";
import { randomPlan } from "./random-plan.ts";
import { accountIn, routeIn, withoutPool } from "./routes.ts";

/** A delivery: its calls, what stands in the ledger, and how providers, checks and ports behave. */
export interface World {
  seed: number;
  now: number;
  plan: object;
  hashKeys: RotatedKeys;
  requested: { id: string; call?: Call; account?: string }[];
  rows: CallRow[];
  documents: StoredText[];
  concurrency: number;
  /** True if ports answer in no time. */
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

/** Runs the random delivery of a seed. */
export async function deliverOne(seed: number): Promise<{ world: World; left: Left }> {
  const world = randomWorld(seed);
  return { world, left: await deliver(world) };
}

/** Returns the world of a seed: a plan, calls, rows, documents and how ports behave. */
function randomWorld(seed: number): World {
  const chance = createChance(seed);
  const { is, one, below } = chance;
  const isOpen = is(0.7);
  const isInstant = is(0.6);
  const faults = one([0, 0, 0.02, 0.1]);
  const plan = randomPlan(chance, { isOpen });
  const hashKeys = is(0.3)
    ? { current: "5".repeat(64), former: "6".repeat(64) }
    : { current: "5".repeat(64) };
  const { agents } = parseDialPlan(plan, {});
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
  const obstacle = isOpen ? one([0, 0, 0.01]) : one([0, 0.02, 0.1]);
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
    documents: randomDocuments(chance, obstacle, { calls, routes, hashKeys, now }),
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

/** Has the dialer dial the calls of a world, and returns what it leaves behind. */
async function deliver(world: World): Promise<Left> {
  const { now, requested, deadlineMs } = world;
  const clock = createClock(now);
  let versions = 0;
  const version = () => `w${++versions}w`;
  const storedRows = new Map(
    world.rows.map((row) => {
      const { id, version: of } = row;
      return [id, { id, version: of, json: JSON.stringify(toStoredRow(row)) }];
    }),
  );
  const storedDocuments = new Map(world.documents.map((one) => [`${one.kind} ${one.key}`, one]));
  const troubled = troubledPorts(world, clock);
  const requests: Requested[] = [];
  const events = new Set<string>();
  const queue = troubled("queue", {
    send: async () => undefined,
    sendMany: async (all: readonly object[]) => all.length,
  });
  const deps = {
    queue,
    eventsQueue: queue,
    ledger: troubled("ledger", createMemoryLedger(storedRows)),
    documents: troubled("documents", createMemoryDocuments(clock.now, version, storedDocuments)),
    epochStore: createMemoryEpochStore(),
    deadLetters: createMemoryDeadLetters(),
    journal: createMemoryJournal(),
    settings: settingsOf(world, { clock, requests }),
    clock: { now: clock.now, sleep: clock.sleep },
    random: { version, fraction: () => 0.5 },
    concurrency: world.concurrency,
    consumers: 3,
    statementsLeft: () => Infinity,
    dispatcher: { lifeMs: 50_000, headsPerLook: 5_000, endsIdle: false },
    sweepSeconds: 60,
    log: (_level: string, event: string) => void events.add(event),
    memory: createDialerMemory(),
  };
  const done = dialCalls(requested.map(Object), Object(deps), now + deadlineMs).catch(
    (error: unknown) => new Set([`throws ${error instanceof Error ? error.message : ""}`]),
  );
  const retried = await clock.run(done);
  const rows = new Map(
    [...storedRows.values()].flatMap(({ id, version: of, json }) => {
      const row = parseRow(id, of, JSON.parse(json));
      return row === undefined ? [] : [[id, row] as const];
    }),
  );
  return { requests, rows, retried, events };
}

/** The clock of a world, and the requests that were made in it. */
interface Serving {
  clock: ReturnType<typeof createClock>;
  requests: Requested[];
}

/** Returns the settings of a world, with its providers and checks. */
function settingsOf({ seed, now, plan: json, hashKeys }: World, { clock, requests }: Serving) {
  const plan = parseDialPlan(json, {});
  const table = createRouteTable(plan);
  return {
    plan,
    table,
    ...withHashKeys(hashKeys),
    schedule: createSchedule(table, () => undefined),
    publicUrl: "https://calls.example.com",
    providerOf: (route: Route) => providerAlong(route, { seed, clock, requests }),
    askCheck: async ({ check, body }: { check: string; body: string }) => {
      await clock.sleep(1_500 * fractionOf(seed, `slow ${check} ${body}`));
      const fraction = fractionOf(seed, `${check} ${JSON.parse(body).id}`);
      if (fraction < 0.7) return { decision: "call" };
      if (fraction < 0.8) return { decision: "refuse", reason: "no" };
      if (fraction < 0.85) return { decision: "never" };
      if (fraction < 0.9) return { decision: "wait", until: now + minuteMs };
      return { decision: "failed", code: "time_out" };
    },
  };
}

/** Returns a function that makes the calls to a port slow, and some of them fail, by what they are about. */
function troubledPorts({ seed, faults, isInstant }: World, clock: ReturnType<typeof createClock>) {
  const seen = new Map<string, number>();
  return <Port extends object>(port: string, methods: Port): Port =>
    new Proxy(methods, {
      get(target, name, receiver) {
        const method: unknown = Reflect.get(target, name, receiver);
        if (typeof method !== "function") return method;
        return async (...values: unknown[]) => {
          const about = `${port}.${String(name)} ${aboutOf(values[0])}`;
          const count = (seen.get(about) ?? 0) + 1;
          seen.set(about, count);
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

/** Returns what a port was asked about, without versions and in a fixed order. */
function aboutOf(value: unknown): string {
  const all = Array.isArray(value) ? value : [value];
  return [...new Set(all.map(nameOf))].toSorted().join("|");
}

function nameOf(one: unknown): string {
  if (typeof one !== "object" || one === null) return String(one);
  const { next = one }: { next?: object } = one;
  const { id, kind, key }: { id?: string; kind?: string; key?: string } = next;
  return id ?? `${kind}:${key}`;
}

/** A provider that answers by the call's id. */
function providerAlong(
  route: Route,
  { seed, clock, requests }: Serving & { seed: number },
): Pick<DialingProvider<Route>, "dial" | "lookUp"> {
  const canLookUp = route.provider === "twilio" || route.provider === "vapi";
  return {
    async dial({ guarded, call, timeoutSeconds }) {
      const of = (what: string) => fractionOf(seed, `${what} ${call.id}`);
      if (of("prepares") < 0.2) await clock.sleep(7_000 * of("prepare"));
      const send: Send = async (_url, { mayLeave }) => {
        if (of("connects") < 0.2) await clock.sleep(3_000 * of("connect"));
        if (mayLeave?.() === false) throw new Withheld("not any more");
        requests.push({ id: call.id, at: clock.now(), route });
        return new Response();
      };
      const { signal } = new AbortController();
      await guarded(send, of("ring") < 0.3 ? 5 : timeoutSeconds)("https://example.com", {
        headers: {},
        redirect: "manual",
        signal,
      });
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
