import type { Labels } from "./labels.ts";
import type { CallEvent } from "./call-event.ts";
import {
  type Call,
  type CallOrigin,
  type CallRequest,
  type First,
  type Route,
} from "./call-request.ts";
import type { CallResult } from "./call-result.ts";
import { type Mode, requestIdOf } from "./ids.ts";
import type { CallState } from "./states.ts";
import type { CallBack, NextTry, Tries } from "./tries.ts";

/** A check's permission to dial a call. */
export interface PassedCheck {
  /** The check's name in the dial plan. */
  check: string;
  /** Time at which the check was asked, in milliseconds since the epoch. */
  at: number;
  /** The check's own proof, such as the id of a consent. */
  evidence?: string | undefined;
}

/** The permission of all checks of a call. */
export interface Permission {
  checks: PassedCheck[];
  /** Time until which the call may be dialed, in milliseconds since the epoch. */
  validUntil: number;
  /** Time that the checks took. */
  ms: number;
}

/** One step of a call's history. It holds no number, name or context; a check's evidence is the check's own text. */
export interface HistoryEntry {
  at: number;
  state: CallState;
  reason: string;
  /** End of the wait, for states that wait. */
  dueAt?: number | undefined;
  /** Token id of the operator who took the step; of the client, if its reason is `client`. */
  by?: string | undefined;
  /** Checks that permitted the call, in the step of its claim. */
  checks?: PassedCheck[] | undefined;
}

/**
 * The ledger's row of one call. Times are milliseconds since the epoch. A row written by another version of this code
 * may have further fields. Every change spreads the row, so that they are not lost.
 */
export interface CallRow {
  id: string;
  /** Random, fresh with every write. A writer names the version that it has read. */
  version: string;
  state: CallState;
  /** Reason for the state: a code of reasons.ts, or the provider's own. */
  reason: string;
  /**
   * Name of its lane (lane.ts). WAITING: that of its client, agent and level. DIALING: of its account, client and agent.
   * UNKNOWN: `watch`. PLACED: one of its account's while its result, then its analysis, is asked for. Others: null.
   */
  lane: string | null;
  /**
   * WAITING: the earliest time at which the call itself may go. DIALING: the time at which the claim lapses
   * into UNKNOWN. UNKNOWN: the next look-up or the review, whichever comes first. PLACED: the next time at which
   * its provider is asked for its result.
   */
  dueAt: number | null;
  /**
   * Versions of the row's claims, oldest first, since it was last certain that no claim had placed the call. Each of
   * them may be settled PLACED.
   */
  claims: string[];
  /** Last claims whose own answers said that they placed nothing. Only a callback may prove otherwise. Absent: there are none. */
  released?: string[] | undefined;
  /** Number of claims so far. Backoff grows with it. */
  attempt: number;
  /** True if the request was repeated to an idempotent provider. An answer may then concern only the second request. */
  resent: boolean;
  /** Time of the last claim. Its request, if any, was sent within seconds. */
  claimedAt: number | null;
  /**
   * Latest time at which the call may have been dialed, if a restore of the ledger lost claims after `claimedAt`.
   * Null: none was lost.
   */
  lostUntil: number | null;
  /** Time at which the outcome first became unknown. */
  unknownSince: number | null;
  /** Number of look-ups that did not find the call. */
  misses: number;
  /**
   * The call as the client posted it, so that an operator can redial it. Null once it is placed; of an agent with
   * `retry` or `callBacks`, once no call follows or the next one has a row.
   */
  request: CallRequest | null;
  /** Number of calls of the call's request. It shows whether all of them have rows. */
  batchCalls: number;
  /** Time before which the client does not want the call dialed. Null: it named none. */
  notBefore: number | null;
  /** True if the client wants the call to go before its others. */
  isUrgent: boolean;
  /** Present if its request has any. */
  labels?: Labels | undefined;
  /** The split that has chosen the call's agent, and its round. */
  split?: string | undefined;
  /** W3C `traceparent` of its request. All calls of its chain have it. Absent: the request has no trace. */
  traceparent?: string | undefined;
  /** Written with the first row of a call, and never changed. */
  first?: First | undefined;
  /** Ids of the calls that this redial or this try follows, the first one first. */
  ancestors: string[];
  /** Place of the call among the tries of an agent with `retry`. */
  tries?: Tries | undefined;
  /** The try that follows this one, as its result has named it. */
  next?: NextTry | undefined;
  /** Outcome of the callee's first wish to be called back. */
  callBack?: CallBack | undefined;
  /** Route of the last claim. */
  route: Route | null;
  providerCallId: string | null;
  /** Result of the placed call. Null: not known yet, or not polled. */
  result: CallResult | null;
  /** True if a signed callback reported that the callee asked not to be called again. */
  optedOut: boolean;
  /**
   * Time of an erasure of the call's number. A finished row then has nothing of the person but the number's keyed
   * hash. A row whose call is in progress loses the rest when it settles.
   */
  erasedAt?: number | undefined;
  /** The part of the context that the call's events repeat. Null: nothing. */
  echo: Record<string, string> | null;
  /** Entries of the context that only the client's own receivers repeat. Absent: there are none. */
  clientReceiverEcho?: Record<string, string> | undefined;
  /** Events of the call for which there was a receiver, oldest first. */
  events: CallEvent[];
  /** Key of the row in the index of events, by receiver (outbox-rows.ts). Null: no event is pending or exhausted. */
  deliverTo: string | null;
  /** Time of the next try to deliver an event; of rows with only exhausted events, time of the last one. */
  deliverAt: number | null;
  /** Key of the row in the index of own receivers' events (client-receiver-events.ts). Absent: no event is pending for them. */
  clientReceiverTo?: string | undefined;
  /** Time of the next try to deliver an event to an own receiver. */
  clientReceiverAt?: number | undefined;
  /** Id of the redial that replaces this call. */
  redialedAs: string | null;
  client: string;
  mode: Mode;
  agentId: string;
  /** Keyed hash and last two digits of the number. A placed call's row has nothing else of the number. */
  numberHash: string;
  numberTail: string;
  acceptedAt: number;
  updatedAt: number;
  /** Steps of the call without repetitions, oldest first. */
  history: HistoryEntry[];
}

/** Returns the call of a row, or undefined once its number is erased. */
export function toCall(row: CallRow): Call | undefined {
  const { id, batchCalls, client, mode, acceptedAt, request, ancestors, tries } = row;
  if (request === null) return undefined;
  const requestId = requestIdOf(id);
  const call: Call = { id, requestId, batchCalls, client, mode, acceptedAt, request };
  Object.assign(call, headersOf(row));
  if (tries !== undefined) call.tries = tries;
  return ancestors.length === 0 ? call : { ...call, ancestors };
}

/** Returns what a row's chain has from its beginning: what the headers of its request said, its split and its trace. */
export function headersOf({
  notBefore,
  isUrgent,
  labels,
  split,
  traceparent,
}: Pick<CallRow, "notBefore" | "isUrgent" | "labels" | "split" | "traceparent">): CallOrigin {
  return {
    ...(notBefore === null ? {} : { notBefore }),
    ...(isUrgent ? { urgent: true } : {}),
    ...(labels === undefined ? {} : { labels }),
    ...(split === undefined ? {} : { split }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}

/** The client and agent of calls, which share a backlog. */
export type ClientAgent = Pick<CallRow, "client" | "agentId">;

/** Names a client and an agent: the backlog of their calls that are not urgent, and their circuit breaker. */
export function backlogOf({ client, agentId }: Pick<CallRow, "client" | "agentId">): string {
  return JSON.stringify([client, agentId]);
}

/** The client and the agent of a backlog, and what its level depends on. */
export type LevelOf = ClientAgent & {
  isUrgent?: boolean | undefined;
  tries?: Pick<Tries, "promisedAt"> | undefined;
};

/** Names the backlog in which a call waits. Calls of a client to an agent that go ahead have one of their own. */
export function waitingLaneOf(of: LevelOf): string {
  return goesAhead(of) ? JSON.stringify([of.client, of.agentId, urgentLevel]) : backlogOf(of);
}

/** True if a call goes before others of its client: an urgent one, or one that its callee was promised. */
export function goesAhead({ isUrgent = false, tries }: Omit<LevelOf, keyof ClientAgent>): boolean {
  return isUrgent || tries?.promisedAt !== undefined;
}

const urgentLevel = "urgent";

/** Parses a name that `waitingLaneOf` made. */
export function backlogOfKey(key: string): ClientAgent & { isUrgent: boolean } {
  const [client = "", agentId = "", level]: string[] = JSON.parse(key);
  return { client, agentId, isUrgent: level === urgentLevel };
}

/** The data of a call's first row. */
export interface NewCall {
  call: Call;
  numberHash: string;
  numberTail: string;
  echo?: CallRow["echo"];
  clientReceiverEcho?: CallRow["clientReceiverEcho"];
}

/** Returns the row of a call before its first change. */
export function createFirstRow({ call, echo = null, ...traces }: NewCall): CallRow {
  return {
    id: call.id,
    version: "",
    state: "WAITING",
    reason: "accepted",
    lane: null,
    dueAt: null,
    claims: [],
    attempt: 0,
    resent: false,
    claimedAt: null,
    lostUntil: null,
    unknownSince: null,
    misses: 0,
    request: call.request,
    batchCalls: call.batchCalls,
    notBefore: call.notBefore ?? null,
    isUrgent: call.urgent ?? false,
    ...(call.labels === undefined ? {} : { labels: call.labels }),
    ...(call.split === undefined ? {} : { split: call.split }),
    ...(call.traceparent === undefined ? {} : { traceparent: call.traceparent }),
    ...(call.first === undefined ? {} : { first: call.first }),
    ancestors: call.ancestors ?? [],
    ...(call.tries === undefined ? {} : { tries: call.tries }),
    route: null,
    providerCallId: null,
    result: null,
    optedOut: false,
    echo,
    ...traces,
    events: [],
    deliverTo: null,
    deliverAt: null,
    redialedAs: null,
    client: call.client,
    mode: call.mode,
    agentId: call.request.agent_id,
    acceptedAt: call.acceptedAt,
    updatedAt: call.acceptedAt,
    history: [],
  };
}

/**
 * True if the route's provider ignores a request whose id it has seen before: a webhook that promises it, and
 * Amazon Connect, whose routes are `idempotent` unless the dial plan says otherwise.
 */
export function isIdempotent(route: CallRow["route"]): boolean {
  return route !== null && "idempotent" in route && route.idempotent === true;
}
