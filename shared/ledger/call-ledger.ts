import type { CallRow, CallState } from "../calls/call-row.ts";

/** One write of a row: `next`, where the row's version is still `seen`; null: where there is no row. */
export interface Change {
  next: CallRow;
  seen: string | null;
}

/** A place in the order in which rows of a backlog are called up. */
export interface DuePlace {
  dueAt: number;
  id: string;
}

/** The order in which rows of a backlog go. */
export function comparePlaces(one: DuePlace, other: DuePlace): number {
  return one.dueAt - other.dueAt || (one.id < other.id ? -1 : one.id > other.id ? 1 : 0);
}

/** Rows of a list, newest first, and where the next page begins; absent where there is none. */
export interface Page {
  rows: CallRow[];
  /** Rows that were passed over, as only a later version of this code can read them. */
  unreadable: number;
  /** Pass as `before`. */
  next?: string | undefined;
}

export type ListOf =
  | { state: CallState }
  | { requestId: string }
  | { numberHash: string }
  /** Every call. */
  | { all: true };

/**
 * The home of every call that waits or was tried. A row is written only where it still has the version that was read,
 * so the conditions of state-machine.ts are decided in one place and no adapter knows them. A write that is repeated
 * carries the same version. A thrown error means that any part may or may not have taken effect.
 */
export interface CallLedger {
  /** The rows of those ids that have one; `unreadable` are those that only a later version of this code can read. */
  read(ids: readonly string[]): Promise<{ rows: Map<string, CallRow>; unreadable: Set<string> }>;
  /**
   * In the order of the changes. True: the row stands as `next` has it, by this write or by an earlier one of the same
   * version. False: another write came before, or the write did not come about. Two changes of one id are two writes.
   */
  write(changes: readonly Change[]): Promise<boolean[]>;
  /**
   * For each backlog its first `each` rows with `dueAt` ≤ `until`, those after `after` only, in the order of `dueAt`,
   * then id.
   */
  due(query: {
    backlogs: readonly { key: string; after?: DuePlace | undefined }[];
    until: number;
    each: number;
  }): Promise<DuePlace[][]>;
  /**
   * Calls by id, newest first, below `before`. At most `limit`, and fewer where many had to be passed over: then `next`
   * still tells where to go on.
   */
  list(query: ListOf & { before?: string | undefined; limit: number }): Promise<Page>;
  /**
   * Rows of calls accepted before `before` that are no longer WAITING or DIALING, oldest first, after `after`. An
   * adapter whose engine deletes rows by itself answers only with those that somebody should hear of.
   */
  ended(query: {
    before: number;
    after?: string | undefined;
    limit: number;
  }): Promise<{ rows: { id: string; state: CallState }[]; next?: string | undefined }>;
  /** Deletes the rows of those ids. */
  purge(ids: readonly string[]): Promise<void>;
}
