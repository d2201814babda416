import type { CallEvent } from "./call-event.ts";
import type { Call, CallRequest, Route } from "./call-request.ts";
import type { CallResult } from "./call-result.ts";
import { requestIdOf } from "./ids.ts";
import type { CallState } from "./states.ts";

/** The backlog of the calls of unknown outcome, which sweeps look after. */
export const watchBacklog = "watch";

/** Beginning of the backlogs of calls under way. */
export const dialingPrefix = "dialing:";

/** The account and the backlog that a call under way counts for. */
export interface DialingOf {
  account: string;
  client: string;
  agentId: string;
}

/** Names the backlog in which a call under way is counted, by its account, client and agent. */
export function dialingBacklogOf({ account, client, agentId }: DialingOf): string {
  return dialingPrefix + JSON.stringify([account, client, agentId]);
}

/** Returns what a backlog's name of `dialingBacklogOf` says. */
export function parseDialingBacklog(name: string): DialingOf {
  const [account = "", client = "", agentId = ""]: string[] = JSON.parse(
    name.slice(dialingPrefix.length),
  );
  return { account, client, agentId };
}

/** Names the backlog of an account's placed calls whose results are asked for. `provider`: its name in the plan. */
export function resultsBacklogOf({ provider }: Pick<Route, "provider">): string {
  return `results:${provider}`;
}

/** One step of a call's history. It holds no number, name or context. */
export interface HistoryEntry {
  at: number;
  state: CallState;
  reason: string;
  /** End of the wait, for states that wait. */
  dueAt?: number | undefined;
  /** Token id of the operator who took the step; of the client, if its reason is `client`. */
  by?: string | undefined;
}

/**
 * The ledger's row of one call. Times are milliseconds since the epoch. A row written by another version of
 * this code may have further fields: every change spreads the row, so that they are kept.
 */
export interface CallRow {
  id: string;
  /** Random, fresh with every write. A writer names the version that it has read. */
  version: string;
  state: CallState;
  /** Reason for the state: a code of reasons.ts, or the provider's own. */
  reason: string;
  /**
   * WAITING: the backlog of its client and agent. DIALING: that of `dialingBacklogOf`. UNKNOWN: `watch`. PLACED: that of
   * its account while its result is asked for. Others: null.
   */
  backlog: string | null;
  /**
   * WAITING: the earliest time at which the call itself may go. DIALING: the time at which the claim lapses
   * into UNKNOWN. UNKNOWN: the next look-up or the review, whichever comes first. PLACED: the next time at which
   * its provider is asked for its result.
   */
  dueAt: number | null;
  /**
   * Versions of the row's claims since it last surely was not placed, oldest first. Each claim may be settled
   * PLACED.
   */
  claims: string[];
  /** Number of claims so far. Backoff grows with it. */
  attempt: number;
  /**
   * True if the request was repeated to an idempotent provider: an answer may then be about the second
   * request alone.
   */
  resent: boolean;
  /** Time of the last claim: its request was sent then or some seconds later, if at all. */
  claimedAt: number | null;
  /**
   * Latest time at which the call may have been dialed, where the claims since `claimedAt` were lost when the
   * ledger was restored. Null: the claim of `claimedAt` is the last one.
   */
  lostUntil: number | null;
  /** Time at which the outcome first became unknown. */
  unknownSince: number | null;
  /** Number of look-ups that did not find the call. */
  misses: number;
  /** The call as the client posted it, so that an operator can redial it. Null once it is placed. */
  request: CallRequest | null;
  /** Number of calls of the call's request, by which it is known whether all of them have rows. */
  batchCalls: number;
  /** Ids of the calls that this redial replaces, the first one first. */
  ancestors: string[];
  /** Route of the last claim. */
  route: Route | null;
  providerCallId: string | null;
  /** Result of the placed call. Null: the provider has not told, or was not asked. */
  result: CallResult | null;
  /** True if the callee asked not to be called again, as a signed callback told. */
  optedOut: boolean;
  /** The part of its context that the call's events repeat. Null: nothing. */
  echo: Record<string, string> | null;
  /** Events of the call for which the plan had a receiver, oldest first. */
  events: CallEvent[];
  /** The list in which the row stands for its events, by the receiver: see outbox-rows.ts. Null: none of them is left to tell. */
  deliverTo: string | null;
  /** Time of the next try to tell one; of rows with tries used up, time of the last such event. */
  deliverAt: number | null;
  /** Id of the redial that replaces this call. */
  redialedAs: string | null;
  client: string;
  agentId: string;
  /** Keyed hash and last two digits of the number. Nothing else of it is kept once the call is placed. */
  numberHash: string;
  numberTail: string;
  acceptedAt: number;
  updatedAt: number;
  /** Steps of the call without repetitions, oldest first. */
  history: HistoryEntry[];
}

/** Returns the call of a row, or undefined once its number is erased. */
export function toCall(row: CallRow): Call | undefined {
  const { id, batchCalls, client, acceptedAt, request, ancestors } = row;
  if (request === null) return undefined;
  const call = { id, requestId: requestIdOf(id), batchCalls, client, acceptedAt, request };
  return ancestors.length === 0 ? call : { ...call, ancestors };
}

/** Names the backlog in which calls of a client to an agent wait. */
export function backlogOf({ client, agentId }: Pick<CallRow, "client" | "agentId">): string {
  return JSON.stringify([client, agentId]);
}

/** A call with the trace of its number, and what its events repeat of it, as needed for its first row. */
export interface NewCall {
  call: Call;
  numberHash: string;
  numberTail: string;
  echo?: CallRow["echo"];
}

/** Returns the row of a call before its first change. */
export function createFirstRow({ call, echo = null, ...traces }: NewCall): CallRow {
  return {
    id: call.id,
    version: "",
    state: "WAITING",
    reason: "accepted",
    backlog: null,
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
    ancestors: call.ancestors ?? [],
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
    agentId: call.request.agent_id,
    acceptedAt: call.acceptedAt,
    updatedAt: call.acceptedAt,
    history: [],
  };
}
