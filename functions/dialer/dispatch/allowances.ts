import { claimLifeMs, roundTripsToPermit } from "#shared/lib/timing.ts";
import { waitingLaneOf, type ClientAgent } from "#shared/calls/call-row.ts";
import { isTestClient } from "#shared/calls/ids.ts";
import type { ResolvedAccount } from "#shared/dial-plan/route-table.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { knownRoundTripMs } from "../runtime/time-limits.ts";
import type { AccountRecords } from "./account-records.ts";
import type { DueRows } from "./due-rows.ts";
import type { InFlight } from "./in-flight.ts";
import type { Allowance } from "./shares.ts";
import type { Snapshot } from "./snapshot.ts";
import { firstRoom, leastRoom, type Room, type RoomFacts } from "#shared/rules/rule.ts";
import { backlogRooms, leads, permitsOf, rooms } from "#shared/rules/gates.ts";

/** Maximum calls in flight of an account before its speed is known: without a pace, and with one. */
const firstAllowance = 25;
const firstPacedAllowance = 800;

/** Facts that an account's allowance depends on. */
interface AccountNow {
  /** Room that the account's rules leave. */
  room: Room;
  /** Times of the next permits of its pace. Undefined: it has none. */
  permits: ReturnType<typeof permitsOf>;
  /** Calls that were completed in each of the last two ticks. */
  completed: readonly number[];
  inFlight: number;
  /** Calls in flight whose permits do not show in the pace yet. */
  sent: number;
  /** Maximum calls in flight of an account whose queue lags. */
  lagMax: number | undefined;
}

/**
 * Returns how many calls of an account may be dispatched now.
 *
 * @param connections requests that the whole deployment can have under way at once
 */
function allowAccount(account: AccountNow, connections: number): Allowance {
  const { room, permits, completed, inFlight, sent, lagMax = Infinity } = account;
  const speed = 2 * sumOf(completed);
  if (room.most !== undefined) {
    const count = Math.max(0, room.count);
    return { count, most: room.most, why: room.why ?? null, isBySpeed: false };
  }
  if (permits === undefined) {
    const most = Math.min(Math.max(firstAllowance, speed), 2 * connections, lagMax);
    const free = most - inFlight;
    const count = Math.max(0, Math.min(free, room.count));
    return { count, most, ...whyOf(room, { count: free, why: "in_flight" }) };
  }
  const permitTimes = permits.times.slice(sent);
  // More calls than a machine has CPU for would only miss their permits.
  const free = Math.max(firstPacedAllowance, speed) - inFlight;
  const count = Math.max(0, Math.min(permitTimes.length, room.count, lagMax, free));
  const most = Math.min(permits.times.length, lagMax);
  const by = whyOf(room, { count: permitTimes.length, why: permits.why });
  return { count, most, ...by, permitTimes: permitTimes.slice(0, count) };
}

/** Returns why no more calls may go: the rule that leaves less room than the account takes. */
function whyOf(room: Room, speed: { count: number; why: string }) {
  return room.count < speed.count && room.why !== undefined
    ? { why: room.why, isBySpeed: false }
    : { why: speed.why, isBySpeed: true };
}

/** The allowances of a dispatcher's ticks, from its documents and counts. */
export interface Allowances {
  ofAccount(account: ResolvedAccount): Allowance;
  ofBacklog(key: string): number;
  /** Number of slow rows that may be dispatched. Slow rows of all accounts have at most half of the connections. */
  slowRoom(): { all: number; of(account: string): number };
}

export function createAllowances(
  seen: { snapshot: Snapshot; inFlight: InFlight; records: AccountRecords; dueRows: DueRows },
  {
    clock,
    memory,
    concurrency,
    consumers,
  }: Pick<DialerDeps, "clock" | "memory" | "concurrency" | "consumers">,
): Allowances {
  const { snapshot, inFlight, records } = seen;
  const connections = concurrency * consumers;

  /** Calls of an account that were claimed too recently for their permits to show in its pace as read. */
  function withoutPermit(account: string, timeoutSeconds: number): number {
    const youngMs = roundTripsToPermit * knownRoundTripMs(memory);
    return inFlight.dialingOf(account, clock.now() + claimLifeMs(timeoutSeconds) - youngMs);
  }

  return {
    ofAccount(resolved) {
      const { name: account, timeoutSeconds } = resolved;
      const now = clock.now();
      const sent = inFlight.sentOf(account);
      const facts: RoomFacts = {
        documents: snapshot.documents(),
        now,
        inFlight: inFlight.countOf(account),
        sent,
        countOthers: (calls) => inFlight.countOthers(account, calls),
      };
      return allowAccount(
        {
          room: leastRoom(rooms, resolved, facts),
          permits: permitsOf(resolved, facts),
          completed: records.completedOf(account),
          inFlight: facts.inFlight,
          sent: sent + withoutPermit(account, timeoutSeconds),
          lagMax: records.lagMaxOf(account),
        },
        connections,
      );
    },
    ofBacklog(key) {
      const one = snapshot.get(key);
      if (one === undefined) return 0;
      const { backlog, target } = one;
      const count = (level: string) => inFlight.countIn(level);
      const of = { of: backlog.value, target, answers: backlog.value.answers };
      const now = { ...of, inFlight: countBoth(backlog.value, count) };
      return firstRoom(backlogRooms, now, { documents: snapshot.documents(), now: clock.now() });
    },
    slowRoom: () => findSlowRoom(seen, { connections, now: clock.now() }),
  };
}

/** Finds the room for slow rows: half of the connections, shared evenly by the accounts that have such rows. */
function findSlowRoom(
  { snapshot, inFlight, records, dueRows }: Parameters<typeof createAllowances>[0],
  { connections, now }: { connections: number; now: number },
): ReturnType<Allowances["slowRoom"]> {
  const most = Math.max(1, Math.floor(connections / 2));
  const held = new Map<string, number>();
  const accounts = new Set<string>();
  // All tests have one share: many testers would leave little to each real account.
  const sharerOf = (account: string) => (isTestClient(account) ? "tests" : account);
  /**
   * Accounts whose calls may wait for a slow service before their request. These calls must leave half of the account
   * to its other agents.
   */
  const checked = new Set<string>();
  let all = 0;
  for (const one of snapshot.all()) {
    if (!one.isSlow) continue;
    if (leads.some((lead) => lead(one.target) > 0)) checked.add(one.account);
    const count = inFlight.countIn(one.key);
    const sharer = sharerOf(one.account);
    held.set(sharer, (held.get(sharer) ?? 0) + count);
    all += count;
    if (count > 0 || (!one.isStopped && dueRows.mayBeDue(one.backlog, now))) accounts.add(sharer);
  }
  const share = Math.max(1, Math.floor(most / Math.max(1, accounts.size)));
  return {
    all: Math.max(0, most - all),
    of(account: string) {
      const half = Math.floor(Math.max(records.mostOf(account), 2) / 2);
      const own = checked.has(account) ? Math.min(share, half) : share;
      return Math.max(0, own - (held.get(sharerOf(account)) ?? 0));
    },
  };
}

/**
 * Counts the calls in flight of a client and agent: urgent and other ones share an allowance. All that are under way
 * count for the backlog of the others.
 */
function countBoth(of: ClientAgent, countIn: (key: string) => number): number {
  const levels = [true, false].map((isUrgent) => ({ ...of, isUrgent }));
  return sumOf(levels.map((level) => countIn(waitingLaneOf(level))));
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
