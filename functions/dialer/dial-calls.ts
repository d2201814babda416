import type { Call } from "../../shared/calls/call.ts";
import { callOf, type CallRow, type CallState } from "../../shared/calls/call-row.ts";
import { reviewed } from "../../shared/calls/state-machine.ts";
import { accountOf, routeOf } from "../../shared/dial-plan/routes.ts";

import type { BearingDocuments } from "../../shared/documents/restore.ts";
import { errorForLog } from "../../shared/platform/log.ts";
import { accountNameOf } from "../../shared/providers/index.ts";
import { callUpSoon, gatherWaiting, type WaitingRow } from "./waiting/call-up-soon.ts";
import { createCaps } from "./delivery/caps.ts";
import { decide, type Dial, type Known, type LookUp } from "./decide.ts";
import type { Delivery, Result } from "./delivery/delivery.ts";
import { dialCall } from "./dial-call.ts";
import type { DialerDeps } from "./context.ts";
import { bothRead, documentsFor, knownBy } from "./delivery/documents-for.ts";
import { createFreshDocuments } from "./delivery/fresh-documents.ts";
import { lookUpCalls } from "./look-up.ts";
import { createPermits } from "./delivery/permits.ts";
import { createSharedWrites, manyCalls } from "./delivery/shared-writes.ts";
import { createPlaces } from "./delivery/places.ts";
import { aheadMax, windowMin } from "./delivery/window.ts";
import { countStates, logDecision, type ToWrite, writeDecided } from "./write-decided.ts";

/** Calls of an account with a pace that are claimed per request that this process's window allows. */
const claimsARequest = 8;

/** Time without a place freed by its account after which a call goes back. */
const noPlaceMs = 5_000;

/** A call to handle: carried by its message, or only named by it. */
export interface WantedCall {
  id: string;
  call?: Call | undefined;
}

/** The calls of one delivery, the documents read and the decisions. */
interface Plan {
  calls: Call[];
  read: BearingDocuments;
  askedAt: number;
  breakersOpened: number;
  unreadable: Set<string>;
  writes: ToWrite[];
  reviews: CallRow[];
  dials: Dial[];
  lookUps: LookUp[];
  /** Called-up rows that came before their account had a permit for them. */
  early: WaitingRow[];
}

/**
 * Decides on every call of a delivery and dials those that are due: claim, one request, settle. Every outcome
 * is written before its message is acknowledged.
 *
 * @param wanted calls to handle, each id once
 * @param deadline end of the invocation, in milliseconds since the epoch
 * @returns the ids whose messages must be delivered again
 * @throws if the ledger cannot be read; then nothing was dialed
 */
export async function dialCalls(
  wanted: readonly WantedCall[],
  deps: DialerDeps,
  deadline: number,
): Promise<Set<string>> {
  if (wanted.length === 0) return new Set();
  const plan = await readAndDecide(wanted, deps).catch(() => readAndDecide(wanted, deps));
  const again = new Set(plan.unreadable);
  const failed = (ids: readonly string[]) => (error: unknown) => {
    deps.log("alarm", "ledger.unreachable", { count: ids.length, error: errorForLog(error) });
    for (const id of ids) again.add(id);
  };
  const idsOf = (writes: readonly ToWrite[]) => writes.map(({ call }) => call.id);
  const [results] = await Promise.all([
    dialAll(plan, deps, deadline),
    writeDecided(plan.writes, deps).catch(failed(idsOf(plan.writes))),
    review(plan.reviews, deps).catch(failed(plan.reviews.map(({ id }) => id))),
    lookUpCalls(plan.lookUps, deps, deadline),
    callUpSoon(plan.early, deps),
  ]);
  for (const { dial, result } of results) if (result.kind === "again") again.add(dial.call.id);
  const notDialed = results.flatMap(({ dial, result }) =>
    // An UNKNOWN row is left unchanged: it is due, so a sweep calls it up again.
    result.kind === "not_dialed" && dial.row?.state !== "UNKNOWN"
      ? [{ call: dial.call, row: dial.row, decided: result.decided }]
      : [],
  );
  // A row that found no place, or an open breaker, stays unchanged. The former goes back as a delayed hint.
  const isKept = ({ row, decided }: ToWrite) =>
    row !== undefined && ["no_capacity", "breaker_open"].includes(decided.reason);
  const late = notDialed.filter((one) => !isKept(one));
  await callUpSoon(
    notDialed.flatMap(({ call, row, decided }) =>
      isKept({ call, row, decided }) && decided.state === "WAITING"
        ? { call, ...decided, writtenAt: plan.askedAt, cameBack: true }
        : [],
    ),
    deps,
  );
  await writeDecided(late, deps).catch(failed(idsOf(late)));
  await countStates(
    results.flatMap(({ result }): CallState[] =>
      result.kind === "done" && result.state !== undefined ? [result.state] : [],
    ),
    deps,
  );
  return again;
}

async function readAndDecide(wanted: readonly WantedCall[], deps: DialerDeps): Promise<Plan> {
  const { ledger, clock, log } = deps;
  const askedAt = clock.now();
  const { breakersOpened } = deps.memory;
  const brought = wanted.flatMap(({ call }) => call ?? []);
  const [{ rows, unreadable }, first] = await Promise.all([
    ledger.read(wanted.map(({ id }) => id)),
    documentsFor(brought, { numbers: true }, deps),
  ]);
  for (const id of unreadable) log("alarm", "row.unreadable", { call_id: id });
  // The agent and number of calls that were only named are read from their rows.
  const named = wanted.flatMap(({ id, call }) => {
    const row = rows.get(id);
    return call === undefined && row !== undefined ? (callOf(row) ?? []) : [];
  });
  const read =
    named.length === 0
      ? first
      : bothRead(first, await documentsFor(named, { numbers: true }, deps));
  const plan: Plan = {
    calls: [...brought, ...named],
    read,
    askedAt,
    breakersOpened,
    unreadable,
    writes: [],
    reviews: [],
    dials: [],
    lookUps: [],
    early: [],
  };
  // Claims of calls that cannot go within 5 s by the pace as read would be useless.
  const ahead = new Map<string, number>();
  const known = knownBy(read, clock.now(), deps, ahead);
  const oldest = oldestAccepted(clock.now(), deps);
  for (const { id, call: delivered } of inOrder(wanted, rows, known.now)) {
    const row = rows.get(id);
    const call = row === undefined ? delivered : callOf(row);
    if (unreadable.has(id) || call === undefined) continue;
    if (row === undefined && call.acceptedAt < oldest) {
      // The row may have been purged, and a duplicate must not outlive it.
      log("alarm", "call.too_old", { call_id: id, request_id: call.requestId });
      continue;
    }
    const decision = decide(delivered, row, known);
    if (decision.kind === "dial" || decision.kind === "early") {
      const account = accountNameOf(decision.route);
      ahead.set(account, (ahead.get(account) ?? 0) + 1);
    }
    if (decision.kind === "dial") plan.dials.push(decision);
    else if (decision.kind === "write") plan.writes.push({ call, row, decided: decision.decided });
    else if (decision.kind === "review") plan.reviews.push(decision.row);
    else if (decision.kind === "look_up") plan.lookUps.push(decision);
    else if (decision.kind === "early") {
      const waits = { state: "WAITING", reason: "pace", dueAt: decision.permitAt } as const;
      plan.early.push({ call, ...waits, writtenAt: askedAt, cameBack: true });
    } else if (decision.because === "route_gone") log("alarm", "route.gone", { call_id: id });
  }
  return withoutOvertaking(plan, known);
}

/**
 * Lets all fresh calls of an account wait in rows where one of them has to wait for its pace: they are called up in
 * turn, and none takes a permit that was counted for another.
 */
function withoutOvertaking(plan: Plan, { plan: dialPlan, now }: Known): Plan {
  const accounts = new Set(
    plan.writes.flatMap(({ call, decided }) => {
      const route = routeOf(call.request.agent_id, dialPlan);
      return route !== undefined && decided.reason === "pace" ? accountNameOf(route) : [];
    }),
  );
  if (accounts.size === 0) return plan;
  const decided = { state: "WAITING", reason: "pace", dueAt: now } as const;
  const dials: Dial[] = [];
  const writes = [...plan.writes];
  for (const dial of plan.dials) {
    const { call, row, route } = dial;
    if (row === undefined && accounts.has(accountNameOf(route)))
      writes.push({ call, row, decided });
    else dials.push(dial);
  }
  return { ...plan, dials, writes };
}

/** Sorts by waiting time, longest first, then by id, which is the order of acceptance. */
function inOrder(
  wanted: readonly WantedCall[],
  rows: ReadonlyMap<string, CallRow>,
  now: number,
): WantedCall[] {
  const since = ({ id }: WantedCall) => rows.get(id)?.dueAt ?? now;
  return wanted.toSorted((a, b) => since(a) - since(b) || (a.id < b.id ? -1 : 1));
}

/** Acceptance time before which a call's row may have been purged, in milliseconds since the epoch. */
export function oldestAccepted(now: number, { settings }: Pick<DialerDeps, "settings">): number {
  return now - (settings.plan.retentionDays - 1) * 86_400_000;
}

async function dialAll(
  { calls, read, askedAt, breakersOpened, dials }: Plan,
  deps: DialerDeps,
  deadline: number,
): Promise<{ dial: Dial; result: Result }[]> {
  if (dials.length === 0) return [];
  const { settings, clock, memory, concurrency, log } = deps;
  /** Number of calls left, by account. */
  const left = new Map<string, number>();
  const count = ({ route }: Dial, more: number) => {
    const account = accountNameOf(route);
    left.set(account, (left.get(account) ?? 0) + more);
  };
  for (const dial of dials) count(dial, 1);
  const { windows } = memory;
  const accounts = new Map(
    dials.map(({ route }) => [accountNameOf(route), accountOf(route, settings.plan)]),
  );
  const limitOf = (account: string): number => {
    const { concurrency: most = concurrency, pace } = accounts.get(account) ?? {};
    const window = windows.limitOf(account);
    // With a pace, most claimed calls wait for their permits, and the others for the ledger.
    if (pace !== undefined) return Math.min(most, window * claimsARequest);
    // No calls are claimed ahead for an account that has not answered yet: it may hang.
    if (window <= windowMin || dials.length < manyCalls) return Math.min(most, window, concurrency);
    return Math.min(most, Math.min(window, concurrency) + windows.aheadOf(account, concurrency));
  };
  const isPaced = [...accounts.values()].some(({ pace }) => pace !== undefined);
  const placesMax = isPaced ? concurrency * 2 : Math.max(concurrency * 2, concurrency + aheadMax);
  const isShared = (account: string) =>
    [...left].some(([one, callsLeft]) => one !== account && callsLeft > 0);
  const placesFor = { isShared, waitMsMax: noPlaceMs, clock };
  const delivery: Delivery = {
    deps,
    deadline,
    places: createPlaces({ ...placesFor, total: placesMax, limitOf }),
    connections: createPlaces({ ...placesFor, total: concurrency, limitOf: windows.limitOf }),
    permits: createPermits(deps),
    caps: createCaps(deps),
    documents: createFreshDocuments(calls, { read, askedAt, breakersOpened }, deps),
    writes: createSharedWrites(dials.length, deps),
    callUp: gatherWaiting(deps),
    ledger: { isDown: false },
  };
  return Promise.all(
    dials.map(async (dial) => {
      // One call's error must not hand back the other calls, whose requests may be under way.
      const result = await dialCall(dial, delivery).catch((error: unknown): Result => {
        log("alarm", "dialer.failed", { call_id: dial.call.id, error: errorForLog(error) });
        return { kind: "again" };
      });
      count(dial, -1);
      return { dial, result };
    }),
  );
}

/** Moves rows whose outcome stayed unknown to NEEDS_REVIEW. */
async function review(rows: readonly CallRow[], deps: DialerDeps): Promise<void> {
  const { ledger, clock, random, settings } = deps;
  const at = clock.now();
  const { reviewAfterSeconds } = settings.plan;
  const changes = rows.flatMap((row) => {
    const next = reviewed(row, reviewAfterSeconds, { version: random.version(), at });
    return next === undefined ? [] : { next, seen: row.version, row };
  });
  if (changes.length === 0) return;
  const written = await ledger.write(changes);
  const made = changes.filter((_, index) => written[index] === true);
  for (const { row, next } of made) {
    const call = callOf(row);
    if (call !== undefined) logDecision(deps, call, next.state, { reason: next.reason });
  }
  await countStates(
    made.map(({ next }) => next.state),
    deps,
  );
}
