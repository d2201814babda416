import type { Pace, PermitRequest, TakenPermits } from "../telephony/rate.ts";
import type {
  CounterKind,
  DocumentKey,
  DocumentsRead,
  FoundDocument,
  Kind,
  StoredDocument,
} from "./document-kinds.ts";

/** A document to be removed. */
interface Removal extends DocumentKey {
  /** The version that was read. */
  seen: string;
}

export interface DocumentChange<K extends Kind = Kind> {
  next: StoredDocument<K>;
  /** The version that was read. Null: the document was absent or expired. */
  seen: string | null;
}

/** Kind and key of a document, of whichever version. */
export interface PurgePosition {
  kind: string;
  key: string;
}

/** An addition to the counters of a document, which is created if absent. */
export interface Addition extends DocumentKey<CounterKind> {
  counters: Record<string, number>;
  expiresAt: number;
}

/** A change of counters: those that are removed, each with the value that was read, and additions to others. */
interface Exchange {
  /** At least one, and at most 50: DynamoDB limits the length of a condition. */
  removed: Record<string, number>;
  added: Record<string, number>;
}

/**
 * All small data other than calls: keys, breakers, pauses, caps, paces. A document is written only if its version is
 * still the one that was read. No document is changed by two methods, except that `exchange` also changes counts, and
 * `write` resets them; every method renews the version.
 */
export interface Documents {
  read(keys: readonly DocumentKey[]): Promise<DocumentsRead>;
  /**
   * Writes documents. The results follow the order of the changes. True: the document stands as requested, by
   * this write or an earlier one of the same version.
   */
  write(changes: readonly DocumentChange[]): Promise<boolean[]>;
  /** Adds to the counters of a document, which is created if absent. Resolves to the new counters. */
  add<K extends CounterKind>(
    document: DocumentKey<K>,
    counters: Record<string, number>,
    expiresAt: number,
  ): Promise<Record<string, number>>;
  /**
   * Adds to the counters of documents that differ, as `add` does: on D1 in one statement.
   *
   * @throws if any could not be added; others may have been
   */
  addAll(additions: readonly Addition[]): Promise<void>;
  /**
   * Removes counters and adds to others, all at once, if each of the former still has the value that was read. Other
   * counters may have changed, so additions by others do not hinder it.
   *
   * @returns the new counters. Undefined: nothing was changed
   */
  exchange(
    document: DocumentKey<CounterKind>,
    exchange: Exchange,
  ): Promise<Record<string, number> | undefined>;
  /**
   * Lists documents of a listed kind in the order of their keys, starting behind `after`, those among them that only a
   * later version can read.
   */
  list<K extends Kind>(
    kind: K,
    query: { after?: string | undefined; limit: number; descending?: boolean },
  ): Promise<FoundDocument<K>[]>;
  /**
   * Lists documents of a listed kind whose keys begin with one of these texts, none of which begins with another: the
   * highest keys first, below `before`, at most `limit`. Keys between the texts are not read.
   */
  listByPrefix<K extends Kind>(
    kind: K,
    query: { prefixes: readonly string[]; before?: string | undefined; limit: number },
  ): Promise<FoundDocument<K>[]>;
  /**
   * Removes documents, each only while it has the version that was read: a removal whose answer was lost may take
   * effect later, after the document was written again.
   */
  remove(removals: readonly Removal[]): Promise<void>;
  /**
   * Takes up to `count` permits of a pace. Their times are none before `notBefore` and none after `notAfter`. Each permit
   * goes to one caller.
   */
  takePermits(
    document: DocumentKey<"pace">,
    pace: Pace,
    request: PermitRequest,
  ): Promise<TakenPermits>;
  /** Resolves to the time by the store's own clock, in milliseconds since the epoch, exact to about a second. */
  storeTime(): Promise<number>;
  /**
   * Deletes the expired ones of some thousand documents, in the order of kinds and keys, starting behind `after`.
   * Does nothing if the engine deletes them by itself.
   *
   * @returns the last document that was looked at. Undefined: none follows
   */
  purge(after?: PurgePosition): Promise<PurgePosition | undefined>;
}
