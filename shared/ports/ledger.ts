import type { CallRow } from "../calls/call-row.ts";
import type { DialingOf } from "../calls/lane.ts";
import type { CallState } from "../calls/states.ts";
import type { RowsRead } from "./unreadable.ts";

/**
 * One write of a row: `next` is written only if the row's version is still `seen`, or if there is no row and `seen`
 * is null.
 */
export interface Change {
  next: CallRow;
  seen: string | null;
}

/** A position in the order in which rows of a lane are dispatched. */
export interface DuePosition {
  dueAt: number;
  id: string;
}

/** Compares two rows of a lane by the order of their turns. */
export function comparePositions(one: DuePosition, other: DuePosition): number {
  return one.dueAt - other.dueAt || (one.id < other.id ? -1 : one.id > other.id ? 1 : 0);
}

/** A call under way, with the account, client and agent for which it counts. `dueAt`: time at which its claim lapses. */
export interface DialingCall extends DuePosition, DialingOf {}

/** A row that was read without its call's context. It has no version, as writing it would lose the context. */
type RowWithoutContext = Omit<CallRow, "version">;

/**
 * Returns the lists of requests that a row stands in, if it stands in any. They never change, so an adapter writes them
 * with the first row of a call alone.
 */
export function requestListsOf({
  first,
  client,
  labels: { campaign } = {},
  agentId,
}: Pick<CallRow, "first" | "client" | "labels" | "agentId">): {
  client?: string;
  campaign?: string;
  agentId?: string;
} {
  if (first === undefined) return {};
  if (first === "agent") return { agentId };
  return { client, agentId, ...(campaign === undefined ? {} : { campaign }) };
}

/** Rows of a list, in its order. */
export interface Page {
  rows: CallRow[];
  /** Number of rows skipped because this version cannot read them. */
  unreadable: number;
  /** Cursor of the next page, to be passed as `before` or `after`; absent on the last page. */
  next?: string | undefined;
}

export type ListOf =
  | { state: CallState }
  | { requestId: string }
  | { numberHash: string }
  /** One call of each request: its first. */
  | { client: string; campaign?: string | undefined }
  | { campaign: string }
  /** One call of each request that has calls of the agent: the first of these. */
  | { agentId: string }
  /** Every call. */
  | { all: true };

/**
 * The store of every call that waits or was tried. A row is written only if it still has the version that was read,
 * so only transitions.ts knows the conditions, and no adapter. A repeated write has the same version. After an error,
 * any part of a method's work may or may not have taken effect.
 */
export interface CallLedger {
  /** Reads the rows of those ids that have one. */
  read(ids: readonly string[]): Promise<RowsRead<CallRow>>;
  /** Like `read`, but without the calls' contexts, which are most of a row. */
  readWithoutContext(ids: readonly string[]): Promise<RowsRead<RowWithoutContext>>;
  /** Reads at most `limit` calls under way (DIALING), in any order. */
  dialing(limit: number): Promise<DialingCall[]>;
  /**
   * Writes rows. The results follow the order of the changes. True: the row stands as `next`, by this write
   * or by an earlier one of the same version. False: another write came first, or this write did not take
   * effect. Two changes of one id are two writes.
   */
  write(changes: readonly Change[]): Promise<boolean[]>;
  /**
   * Reads, for each lane, the first `each` rows after `after` with `dueAt` ≤ `until`, ordered by `dueAt`, then id.
   * `each` is at most 20,000, as an adapter may have to return a lane's rows in one value.
   *
   * @param query with `of: "events"`, lanes are the rows' `deliverTo`, and due times their `deliverAt`; with
   * `of: "client-receiver-events"`, `clientReceiverTo` and `clientReceiverAt`
   */
  due(query: {
    of?: "calls" | "events" | "client-receiver-events";
    lanes: readonly { key: string; after?: DuePosition | undefined }[];
    until: number;
    each: number;
  }): Promise<DuePosition[][]>;
  /**
   * Lists calls by id, newest first, below `before`. Returns at most `limit` rows, and may return fewer though more follow:
   * only a page without `next` is the last one. A page of a state's or of all calls may even be empty, if many had to be
   * skipped.
   */
  list(query: ListOf & { before?: string | undefined; limit: number }): Promise<Page>;
  /** Like `list`, but oldest first, above `after`: calls in a state that operators look after (`attention`). */
  listOldest(query: { state: CallState; after?: string | undefined; limit: number }): Promise<Page>;
  /**
   * Lists rows of calls accepted before `before` that are no longer WAITING or DIALING, oldest first, after `after`;
   * rows with pending events or an awaited result only if they were accepted `pendingKeptMs` earlier. An adapter whose engine deletes rows
   * itself lists only unresolved ones, which must be logged.
   */
  ended(query: {
    before: number;
    after?: string | undefined;
    limit: number;
  }): Promise<{ rows: { id: string; state: CallState }[]; next?: string | undefined }>;
  /** Deletes the rows of those ids. */
  purge(ids: readonly string[]): Promise<void>;
}
