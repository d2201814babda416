import type { ResolvedAccount, RouteTable } from "../dial-plan/route-table.ts";
import type { CallRow, Permission } from "../calls/call-row.ts";
import type { Texts } from "../calls/reason-text.ts";
import type { Schedule } from "../dial-plan/schedule.ts";
import type { Decided } from "../calls/transitions.ts";
import type { ControlDocuments } from "../policy/ledger-epoch.ts";
import type { DocumentKey, DocumentsRead, ValueOf } from "../ports/document-kinds.ts";
import type { ResolvedCall, ResolvedRoute } from "./resolved-call.ts";

export type { Texts };

/** The answer of a rule that stands in a call's way. */
export type Verdict =
  /** The call ends in this state. */
  | ({ kind: "end" } & Exclude<Decided, { state: "WAITING" }>)
  /** The call has a time of its own before which it cannot go, and loses its place until then. */
  | { kind: "later"; reason: string; at: number }
  /** The call keeps its place. `firstDueAt`: due time of the first row of a fresh call; absent: the time that was judged. */
  | { kind: "hold"; reason: string; firstDueAt?: number };

/** Verdict on a call that keeps its place. */
export type Hold = Extract<Verdict, { kind: "hold" }>;

/** The call keeps its place, for this reason. */
export function hold(reason: string): Hold {
  return { kind: "hold", reason };
}

/** Changes by a rule to a call that may go: an earliest time, or a route with a calling number chosen. */
export interface Passage {
  notBefore?: number;
  route?: ResolvedRoute["route"];
}

/**
 * Names the documents that a rule reads, of a call or of all calls of a client and agent. `now`: milliseconds since the
 * epoch.
 */
export type Keys<Of> = (of: Of, now: number) => readonly DocumentKey[];

/** Facts that name the documents of all calls of a client and agent. */
export type KeyedBacklog = Pick<ResolvedCall, "of" | "target">;

/** Facts that name the documents of a call's number. */
export interface KeyedNumber {
  call: Pick<ResolvedCall["call"], "client">;
  hashes: ResolvedCall["hashes"];
}

/** Facts that name the documents of an account. */
export interface KeyedAccount {
  target: Pick<ResolvedRoute, "route" | "account"> | undefined;
}

/** Returns the documents that rules read, each once. */
export function listKeys<Of>(
  rules: readonly Keys<Of>[],
  of: Iterable<Of>,
  now: number,
): DocumentKey[] {
  return distinctKeys([...of].flatMap((one) => rules.flatMap((keys) => keys(one, now))));
}

export function distinctKeys(keys: readonly DocumentKey[]): DocumentKey[] {
  return [...new Map(keys.map((key) => [`${key.kind} ${key.key}`, key])).values()];
}

/** Documents as read, and the time. */
export interface ReadFacts {
  documents: DocumentsRead;
  now: number;
}

/** Facts on which the room of an account depends. */
export interface RoomFacts extends ReadFacts {
  /** Calls of the account that were dispatched or are being dialed. */
  inFlight: number;
  /** Calls in flight that no dialer has taken yet, so that no document counts them. */
  sent: number;
  /** Counts the calls in flight that are none of these. */
  countOthers(calls: ReadonlySet<string>): number;
}

/** The number of further calls that a rule leaves to an account. */
export interface Room {
  count: number;
  /** Why no more may go. Undefined: they wait for their turn. */
  why?: string;
  /** Present: no other rule is asked, and the account takes this number at once. */
  most?: number;
}

/** A rule's question about an account. Undefined: the rule leaves any number of calls. */
export type RoomOf = (account: ResolvedAccount, facts: RoomFacts) => Room | undefined;

/** The use of a limit of an account. */
export interface Used {
  /** Reason of the calls that wait for it. */
  reason: string;
  now: number;
  limit: number;
  /** Time from which on the oldest of those counted is counted. Absent: all of them end at once. */
  oldestAt?: number;
}

/** A rule's question how far its limit of an account is used. Undefined: the plan has none. */
export type UsedOf = (account: ResolvedAccount, facts: ReadFacts) => Used | undefined;

/** A backlog as a tick of the dispatcher sees it. */
export interface BacklogNow {
  of: ResolvedCall["of"];
  target: ResolvedRoute;
  /** Speed of the answers to the last calls. Null: there was none. */
  answers: ValueOf<"backlog">["answers"];
  /** Calls of its client and agent that were dispatched or are being dialed. */
  inFlight: number;
}

/** A rule's question about a backlog: how many further calls of it may go. Undefined: the rule leaves any number. */
export type BacklogRoomOf = (backlog: BacklogNow, facts: ReadFacts) => number | undefined;

/** Returns the time before which none of the calls along a route can go, as far as a tick can see; 0: they may go. */
export type RestsUntil = (target: ResolvedRoute, facts: ReadFacts) => number;

/** The limit of an account in a forecast, which continues from what was read. */
export interface SimulatedLimit {
  limit: string;
  /** Returns the first time from `ready` on at which the limit leaves room for a call. */
  freeAt(ready: number): number;
  /** Counts a call that begins at `at`. */
  begin(at: number): void;
  /** True if a call that goes at `at` waited for this limit last. */
  isCause(call: { ready: number; freeAt: number; at: number }): boolean;
}

/** Begins to simulate the limit of an account. Undefined: the plan has none. */
export type Simulate = (account: ResolvedAccount, facts: ReadFacts) => SimulatedLimit | undefined;

/** Something that keeps all calls of a client and agent waiting. */
export interface Holder {
  reason: string;
  /** The pause's `agent X` or `account X`, the key of the breaker, the account of the pool; empty after a restore. */
  name: string;
  /**
   * Time at which it ends by itself, in milliseconds since the epoch. Null: somebody must act, or a provider must
   * recover.
   */
  until: number | null;
}

/** True if a rule stops all work on calls, whatever their routes. */
export type Halts = (documents: ControlDocuments) => boolean;

/** True if a rule blocks all calls along a route, so that the dispatcher dispatches none. */
export type Stops = (target: ResolvedRoute, facts: ReadFacts) => boolean;

/** Returns what holds the calls along a route, even if it has ended by now. */
export type HoldersOf = (target: ResolvedRoute, facts: ReadFacts) => readonly Holder[];

/** A rule's question about a call at a gate. Pure and synchronous. */
export type Judge<Asked = Facts> = (
  call: ResolvedCall,
  facts: Asked,
) => Verdict | Passage | undefined;

/** A call that passed all judges of a gate. */
export interface Passed {
  kind: "passed";
  target: ResolvedRoute | undefined;
  /** Earliest time of its request, in milliseconds since the epoch. */
  notBefore: number;
}

/** Everything that judges know besides the call. Times are milliseconds since the epoch. */
export interface Facts {
  now: number;
  /** Time at which the call would leave: up to some seconds ahead. */
  at: number;
  documents: ControlDocuments;
  table: RouteTable;
  schedule: Schedule;
  /** Number of calls that go before this one, by account. */
  ahead: ReadonlyMap<string, number>;
  /** Maximum fresh calls of an account that one delivery dials; Infinity in forecasts. The account's `concurrency` may be smaller. */
  requestsAtOnce: number;
}

/** Facts of calls none of which keeps another from going at once. */
export const unbounded: Pick<Facts, "ahead" | "requestsAtOnce"> = {
  ahead: new Map(),
  requestsAtOnce: Infinity,
};

/** Facts of a call on its way to its request, which judges by the clock need. */
export interface ClockFacts extends Pick<Facts, "now" | "at" | "schedule"> {
  /** The permission of its checks. Absent: there are none. */
  permission?: Permission | undefined;
  /** Backlogs of which this delivery sends no more calls. */
  stopped: ReadonlySet<string>;
  /** End of the invocation. */
  deadline: number;
}

/** Facts of a claimed call. */
export interface ClaimFacts extends Pick<ClockFacts, "now" | "at" | "schedule" | "permission"> {
  /** Time at which the claim was written, or at which the work under it began, if that is earlier. */
  claimedAt: number;
  /** Time that the adapter's earlier requests may have taken, in milliseconds. */
  preliminaryMs: number;
}

/** A call under its claim. */
export interface ClaimedCall {
  dial: ResolvedCall & { target: ResolvedRoute };
  /** The row as the claim wrote it. */
  row: CallRow;
  /** Version of that write, which names the claim. */
  version: string;
}

/** Something that a claimed call takes. */
export interface Taking {
  /** Resolves once it is taken, or cannot be. Rejects if nobody knows. */
  settled: Promise<unknown>;
  /** Returns why it could not be taken; undefined: it is. Asked once all takes have settled. */
  verdict(): Verdict | undefined;
  /** Gives back what may have been taken, because the call certainly was not placed. Never throws. */
  give(): Promise<void>;
}

/** Begins to take something, in the same tick as the others. */
export type Take<Context> = (claim: ClaimedCall, context: Context) => Taking;

/** Checks what a call takes later, without taking it. Undefined: the call may continue. */
export type Peek<Context> = (
  call: ResolvedCall & { target: ResolvedRoute },
  context: Context,
) => Promise<Verdict | undefined>;

/** Returns the time that a call along a route may need before its request, in milliseconds. */
export type Leads = (target: Pick<ResolvedRoute, "route">) => number;

/** Everything that one claimed call takes. */
export interface Taken {
  /** Resolves to the first verdict in the order of the takes. Rejects if one of them is not known. */
  judge(): Promise<Verdict | undefined>;
  /** Gives everything back. A resend keeps it, as its first request may have placed the call. Never throws. */
  give(): Promise<void>;
}

/** Begins to take everything at once, as nothing depends on another. */
export function takeAll<Context>(
  takes: readonly Take<Context>[],
  claim: ClaimedCall,
  context: Context,
): Taken {
  const takings = takes.map((take) => take(claim, context));
  // A write of one may land after another has failed, so all are awaited before any is given back.
  const settled = Promise.allSettled(takings.map((taking) => taking.settled));
  return {
    async judge() {
      const failed = (await settled).find((one) => one.status === "rejected");
      if (failed !== undefined) throw failed.reason;
      return takings.map((taking) => taking.verdict()).find((verdict) => verdict !== undefined);
    },
    async give() {
      await settled;
      if (claim.row.resent) return;
      await Promise.all(takings.map((taking) => taking.give()));
    },
  };
}

/** Asks the judges in their order. The first one that stands in the way decides. */
export function pass<Asked extends Pick<Facts, "at">>(
  judges: readonly Judge<Asked>[],
  call: ResolvedCall,
  facts: Asked,
): Verdict | Passed {
  const { target } = call;
  let route = target?.route;
  let notBefore = facts.at;
  for (const judge of judges) {
    const answer = judge(call, facts);
    if (answer === undefined) continue;
    if ("kind" in answer) return answer;
    route = answer.route ?? route;
    notBefore = Math.max(notBefore, answer.notBefore ?? 0);
  }
  if (target === undefined || route === undefined || route === target.route) {
    return { kind: "passed", target, notBefore };
  }
  return { kind: "passed", target: { ...target, route }, notBefore };
}

/** Returns the room that several rules leave to an account: that of the first which is full, or else the least. */
export function leastRoom(
  rooms: readonly RoomOf[],
  account: ResolvedAccount,
  facts: RoomFacts,
): Room {
  const all = rooms.flatMap((room) => room(account, facts) ?? []);
  const full = all.find(({ most }) => most !== undefined);
  if (full !== undefined) return full;
  const count = Math.min(...all.map((one) => one.count));
  return all.find((one) => one.count === count && one.why !== undefined) ?? { count };
}

/** Returns the room that the first rule which bounds a backlog leaves to it. */
export function firstRoom(
  rooms: readonly BacklogRoomOf[],
  backlog: BacklogNow,
  facts: ReadFacts,
): number {
  for (const room of rooms) {
    const count = room(backlog, facts);
    if (count !== undefined) return Math.max(0, count);
  }
  return Infinity;
}

/** Returns the first verdict of judges that change nothing of a call that may go; undefined: it may. */
export function findVerdict<Asked extends Pick<Facts, "at">>(
  judges: readonly Judge<Asked>[],
  call: ResolvedCall,
  facts: Asked,
): Verdict | undefined {
  const result = pass(judges, call, facts);
  return result.kind === "passed" ? undefined : result;
}

/** Returns the state that a verdict demands of a call. `dueAt`: due time of a call that keeps its place. */
export function toDecided(verdict: Verdict, dueAt: number): Decided {
  const { reason } = verdict;
  if (verdict.kind === "later") return { state: "WAITING", reason, dueAt: verdict.at };
  if (verdict.kind === "hold") return { state: "WAITING", reason, dueAt };
  const { kind: _, ...end } = verdict;
  return end;
}
