import * as z from "zod";
import type { Call } from "../call.ts";
import type { Route } from "../providers/index.ts";
import type { FrequencyCap } from "../schedule/frequency-cap.ts";
import type { SlotRequest } from "../schedule/pacing.ts";

/**
 * Where a call stands. DEFERRED waits; DIALING has been claimed by one holder, who alone may dial;
 * UNKNOWN may have been placed; PARKED waits for a person's decision; the others are final. REDIALED: an
 * operator has had another call made in its stead.
 */
export const callStates = [
  "DEFERRED",
  "DIALING",
  "UNKNOWN",
  "PARKED",
  "PLACED",
  "REJECTED",
  "EXPIRED",
  "CANCELLED",
  "REDIALED",
] as const;
export type CallState = (typeof callStates)[number];

/** One step of a call's story, in which no number, name or context stands. */
export interface HistoryEntry {
  at: number;
  state: CallState;
  reason: string;
  /** Until when it waits, where it does. */
  dueAt?: number;
  /** The operator who did it, by the token's id. */
  by?: string;
}

/** The ledger's row of one call. Times are milliseconds since the epoch. */
export interface CallRow {
  id: string;
  state: CallState;
  /** Why it stands there, as a short code such as `rate_limited`. */
  reason: string;
  /** Of the latest claim: whoever holds it dials, and nobody else moves the row out of DIALING. */
  token: string | null;
  /** How many times it was claimed. */
  attempt: number;
  /** Sent to an idempotent provider once more: may only become PLACED or PARKED, whatever the answer was. */
  resent: boolean;
  /**
   * DEFERRED: when to dial, or its place in its line. DIALING: when the claim lapses into UNKNOWN. UNKNOWN:
   * when to look again.
   */
  dueAt: number | null;
  /** The account whose pace it waits for; then it is not due before it has been given a slot. */
  line: string | null;
  /** When it was last claimed: its request was sent then or some seconds later, if at all. */
  claimedAt: number | null;
  /** When its outcome was first unknown. */
  unknownSince: number | null;
  /** The whole call, so that an operator can redial it; null once it is placed. */
  call: Call | null;
  /** The route it was last claimed for. */
  route: Route | null;
  providerCallId: string | null;
  /** The id of the call that was made in its stead. */
  redialedAs: string | null;
  requestId: string;
  client: string;
  agentId: string;
  /** Keyed hash and last two digits of the number: all that is kept of it once the call is placed. */
  numberHash: string;
  numberTail: string;
  acceptedAt: number;
  updatedAt: number;
  /** What was written of it, oldest first, but for what was not worth recording. */
  history: HistoryEntry[];
}

/** A call and what is kept of its number, as every first write of a row needs them. */
interface LedgerEntry {
  call: Call;
  numberHash: string;
  numberTail: string;
  /** Repeats what its history says already, or comes after much that it says: the history stays as it is. */
  unrecorded?: boolean;
}

/** The write-ahead intent to dial one call. */
export interface Claim extends LedgerEntry {
  /** Fresh and random for every call and attempt. */
  token: string;
  route: Route;
  /**
   * Counted from 1: one more than the row had when it was read. Refused where it has been claimed since, so that no
   * two requests go by one number.
   */
  attempt: number;
  at: number;
  /** When the sweep may call the outcome unknown: past the provider's time limit and all waiting before it. */
  deadline: number;
  /** The token as read of an UNKNOWN row whose idempotent provider is sent to again. */
  resendOf?: string;
}

/** A decision about a call that nobody has claimed. */
export interface UnclaimedWrite extends LedgerEntry {
  state: "DEFERRED" | "EXPIRED" | "REJECTED" | "PARKED" | "CANCELLED";
  reason: string;
  /** With DEFERRED. */
  dueAt?: number;
  /** With DEFERRED: the line in which it waits, at its place `dueAt`. */
  line?: string;
  at: number;
  /** `dueAt` of the DEFERRED row that was read, or null where none stood: written over nothing else. */
  seenDueAt: number | null;
}

/** What became of a claimed call, said by the holder of its token, or by the sweep with the token as read. */
export const settlementSchema = z.strictObject({
  id: z.string(),
  token: z.string(),
  state: z.enum(["PLACED", "DEFERRED", "REJECTED", "UNKNOWN", "PARKED"]),
  reason: z.string(),
  /** With DEFERRED and UNKNOWN. */
  dueAt: z.number().optional(),
  providerCallId: z.string().optional(),
  at: z.number(),
  unrecorded: z.boolean().optional(),
});
export type Settlement = z.infer<typeof settlementSchema>;

/** What an operator has decided about one call. */
export interface OperatorAct {
  id: string;
  to: "PLACED" | "CANCELLED" | "REDIALED";
  /** As the row was read: what was decided of a waiting call does not hold of one that has been parked since. */
  from: CallState;
  /** With REDIALED: the id of the call that is made in its stead. */
  redialedAs?: string;
  /** The operator's token's id. */
  by: string;
  at: number;
}

/**
 * What an operator has ordered for calls to come: `hold agent X` and `hold account X` keep calls waiting until the
 * order is dropped; `cancel agent X` and `cancel request X` end those that were accepted up to `at`.
 */
export interface Order {
  name: string;
  at: number;
  by: string;
  /** Null: until it is dropped. */
  expiresAt: number | null;
}

/** One thing that an operator did. */
export interface LoggedAct {
  id: string;
  at: number;
  by: string;
  /** Such as `redial`, `hold` or `reveal`. */
  act: string;
  /** The call, agent, account or request that it was done to; never a number. */
  target: string;
  /** How many it concerned. */
  count?: number;
}

/** A place in the order of due rows. */
export interface DuePlace {
  dueAt: number;
  id: string;
}

/** What the sweep needs of a row that is due. */
export type DueRow = Pick<
  CallRow,
  "id" | "state" | "reason" | "token" | "attempt" | "route" | "requestId" | "agentId"
> & { dueAt: number };

/**
 * A provider account or a route that answered like a broken one. It is held once `probeAt` is set: its
 * calls wait, and from `probeAt` on one of them, whoever moves `probeAt` first, is dialed to see.
 */
export interface Hold {
  /** `account:webhook` or `route:` and a digest of the route. */
  name: string;
  /** The provider's code of the latest answer. */
  code: string;
  /** Equal answers in a row. */
  count: number;
  probeAt: number | null;
}

interface Strike {
  name: string;
  code: string;
  holdFrom: number;
  probeAt: number;
  at: number;
}

export interface BoundKey {
  /** Of the request that bound the key. */
  fingerprint: string;
  /** Of that request's call ids. */
  seed: string;
}

/** A call about to be made to a number that has frequency caps. */
interface CountedCall {
  numberHash: string;
  callId: string;
  at: number;
  caps: readonly FrequencyCap[];
}

/**
 * The home of every call the dialer has seen. Every write of a row is conditional; the conditions, one pure
 * function each, are in state-machine.ts, and every adapter keeps them (test/contracts). Lists are answered
 * in their order, one answer an item. A thrown error means that any part may or may not have taken effect.
 */
export interface CallLedger {
  /** The rows of those ids that have one. */
  read(ids: string[]): Promise<Map<string, CallRow>>;
  /** True: the row is DIALING under this claim's token, by this write or by an earlier one of the same. */
  claim(claims: Claim[]): Promise<boolean[]>;
  /** True: the row stands in that state under that token, by this write or by an earlier one. */
  settle(settlements: Settlement[]): Promise<boolean[]>;
  /** DEFERRED, or ended, before any claim. True: written. False: the row has moved on, and is the home. */
  defer(writes: UnclaimedWrite[]): Promise<boolean[]>;
  /** Rows in DEFERRED, DIALING or UNKNOWN with `dueAt` ≤ `until`, earliest first, those after `after`. */
  due(query: {
    until: number;
    after?: DuePlace | undefined;
    /** The rows of this line; without it, those that stand in none. */
    line?: string;
    limit: number;
  }): Promise<DueRow[]>;
  /** When the last sweep was that `swept` tells of. */
  sweptAt(): Promise<number | undefined>;
  swept(at: number): Promise<void>;
  /** Every line in which a call waits, and perhaps some that are empty by now. */
  lines(): Promise<string[]>;
  /** True: the call stands so, by this act or by an earlier one of the same. */
  act(acts: OperatorAct[]): Promise<boolean[]>;
  /** Adds to the history of those rows that there are. */
  note(notes: { id: string; entry: HistoryEntry }[]): Promise<void>;
  /** Rows of a state, a request, or a number by its keyed hash; newest acceptance first, those before `before`. */
  list(
    query: ({ state: CallState } | { requestId: string } | { numberHash: string }) & {
      before?: { acceptedAt: number; id: string } | undefined;
      limit: number;
    },
  ): Promise<CallRow[]>;
  /** Rows not written since `before` that are neither DEFERRED nor DIALING, at most `limit`. */
  ended(before: number, limit: number): Promise<Pick<CallRow, "id" | "state">[]>;
  /** Deletes those of the ids that still are such rows, and the keys and counts that have expired by `now`. */
  purge(ids: string[], before: number, now: number): Promise<void>;

  /**
   * How many calls came into each state, but DIALING, in each hour of [from, until), by hours since the epoch. What was
   * settled or deferred may be missing until `writeCounts`.
   */
  counts(from: number, until: number): Promise<{ hour: number; state: CallState; count: number }[]>;
  /** Writes the counts of what this process has settled and deferred since: asked for before it may stand still. */
  writeCounts(): Promise<void>;
  /** How many rows stand in a state, as far as `most`; more are not counted. */
  standing(state: CallState, most: number): Promise<number>;

  /** Every hold that has been ordered. */
  holdOrders(): Promise<Order[]>;
  /** Those of the named orders that stand at `now`. */
  ordersNamed(names: string[], now: number): Promise<Order[]>;
  /** All of both: every hold, and those of the named orders that stand at `now`. */
  ordersFor(names: string[], now: number): Promise<Order[]>;
  /** Gives an order, or gives it anew. */
  giveOrder(order: Order): Promise<void>;
  dropOrder(name: string): Promise<void>;
  /** Those of the hashed numbers that are on the do-not-call list. */
  doNotCall(numberHashes: string[]): Promise<Set<string>>;
  addDoNotCall(numberHashes: string[], at: number): Promise<void>;
  dropDoNotCall(numberHashes: string[]): Promise<void>;
  logAct(act: LoggedAct): Promise<void>;
  /** What operators did, newest first, before `before`. */
  acts(query: {
    before?: { at: number; id: string } | undefined;
    limit: number;
  }): Promise<LoggedAct[]>;

  /** What an unexpired key stands for. */
  readKey(key: string, now: number): Promise<BoundKey | undefined>;
  /** Stores `bound` under `key` unless an unexpired one is there; answers with what stands there now. */
  bindKey(key: string, bound: BoundKey, now: number, expiresAt: number): Promise<BoundKey>;

  /** Every account and route that has strikes. */
  holds(): Promise<Hold[]>;
  /**
   * Counts one more answer `code`, from 1 where the latest differs, and holds until `probeAt` from
   * `holdFrom` equal ones on. Changes nothing while a probe is still to come: that answer was under way.
   */
  strike(strike: Strike): Promise<Hold>;
  /** Moves `probeAt` on and counts one more, if it is as read. True: this caller sends the probe. */
  takeProbe(hold: Hold, nextProbeAt: number): Promise<boolean>;
  /** A success: forgets the strikes. */
  clearHold(name: string): Promise<void>;

  /** Gives out slots of an account's pace, each to one caller; earliest first, none where there is no room. */
  reserve(request: SlotRequest): Promise<number[]>;

  /**
   * Counts a call towards its number's caps; counted before, it is moved to `at`, and never back: a write may come
   * late. Answers with `at`, or, where a cap is reached by other calls and nothing is counted, with the moment at
   * which the number is free again.
   */
  count(call: CountedCall): Promise<number>;
  /** Takes a call back that surely was not placed, if it still is counted at that time. */
  uncount(call: Pick<CountedCall, "numberHash" | "callId" | "at">): Promise<void>;
}

/** The part of the ledger that operators write, and that counts calls for them. */
export type OperatorRecords = Pick<
  CallLedger,
  | "counts"
  | "writeCounts"
  | "standing"
  | "holdOrders"
  | "ordersNamed"
  | "ordersFor"
  | "giveOrder"
  | "dropOrder"
  | "doNotCall"
  | "addDoNotCall"
  | "dropDoNotCall"
  | "logAct"
  | "acts"
>;

/** The part of the ledger that keeps no calls: Idempotency-Keys, held accounts, paces and counted calls. */
export type Limits = Pick<
  CallLedger,
  | "readKey"
  | "bindKey"
  | "holds"
  | "strike"
  | "takeProbe"
  | "clearHold"
  | "reserve"
  | "count"
  | "uncount"
>;
