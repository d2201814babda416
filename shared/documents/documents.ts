import type { Pace } from "../schedule/pacing.ts";
import type { Kind, ValueOf } from "./kinds.ts";

/** Names a document: its kind, and within the kind its key. */
export interface DocumentKey<K extends Kind = Kind> {
  kind: K;
  key: string;
}

export interface StoredDocument<K extends Kind = Kind> extends DocumentKey<K> {
  /** Random, and fresh with every write. */
  version: string;
  value: ValueOf<K>;
  /** Milliseconds since the epoch; from then on it reads as absent. Null: never. */
  expiresAt: number | null;
}

export interface DocumentChange<K extends Kind = Kind> {
  next: StoredDocument<K>;
  /** The version that was read; null: there was none, or it had expired. */
  seen: string | null;
}

/** Documents as they were read, by kind and key. */
export interface DocumentsRead {
  get<K extends Kind>(kind: K, key: string): StoredDocument<K> | undefined;
}

/**
 * Everything small that is not a call: keys, breakers, pauses, caps, paces, marks. A document is written only where it
 * still has the version that was read. None is changed by two methods, except that counts are also reset by `write`;
 * every method renews the version.
 */
export interface Documents {
  read(keys: readonly DocumentKey[]): Promise<DocumentsRead>;
  /** In the order of the changes; true: the document stands so, by this write or an earlier one of the same version. */
  write(changes: readonly DocumentChange[]): Promise<boolean[]>;
  /** Adds to the counters of a document, which is made where there is none; answers with the counters thereafter. */
  add<K extends "failures" | "counts">(
    document: DocumentKey<K>,
    counters: Record<string, number>,
    expiresAt: number,
  ): Promise<Record<string, number>>;
  /** Documents of a kind that is listed, in the order of their keys, those after `after`. */
  list<K extends Kind>(
    kind: K,
    query: { after?: string | undefined; limit: number; descending?: boolean },
  ): Promise<StoredDocument<K>[]>;
  remove(keys: readonly DocumentKey[]): Promise<void>;
  /**
   * Takes up to `count` moments of a pace, none before `notBefore` and none after `notAfter`, in milliseconds since the
   * epoch, earliest first. Each moment is given to one caller.
   */
  takePermits(
    document: DocumentKey<"pace" | "called-up">,
    pace: Pace,
    count: number,
    window: { notBefore: number; notAfter: number },
  ): Promise<number[]>;
  /** Deletes some of the documents that have expired; does nothing where the engine does it by itself. */
  purge(): Promise<void>;
}
