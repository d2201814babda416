import type { StoredDocument } from "#shared/ports/document-kinds.ts";
import type { DuePosition } from "#shared/ports/ledger.ts";

/** Time after a backlog's last use in which each tick reads its head, as rows may be about to be written. */
const usedMs = 30_000;

type Backlog = StoredDocument<"backlog">;

/** The head of a backlog as last read. */
interface Head {
  /** Version of the backlog's document at that time. */
  version: string;
  /** The first undispatched row. Null: there is none. Undefined: it must be read. */
  next: DuePosition | null | undefined;
}

/** The heads of backlogs that one dispatcher has read. */
export interface BacklogHeads {
  /** True if the head of a backlog must be read to know if one of its rows is due. */
  isUnknown(backlog: Backlog, now: number): boolean;
  /** True if an undispatched row of the backlog is due by then, or may be. */
  mayBeDue(backlog: Backlog, by: number): boolean;
  /** Records the first undispatched row. Undefined: it must be read. */
  see(backlog: Backlog, next: DuePosition | null | undefined): void;
  /** Makes later ticks read these heads again. */
  forget(keys: Iterable<string>): void;
  /** Forgets backlogs for which `isKept` returns false. */
  keep(isKept: (key: string) => boolean): void;
}

export function createBacklogHeads(): BacklogHeads {
  const heads = new Map<string, Head>();
  return {
    isUnknown({ key, version, value }, now) {
      const head = heads.get(key);
      if (head?.version !== version || head.next === undefined) return true;
      return now - value.usedAt < usedMs && (head.next === null || head.next.dueAt > now);
    },
    mayBeDue({ key, version }, by) {
      const head = heads.get(key);
      if (head?.version !== version || head.next === undefined) return true;
      return head.next !== null && head.next.dueAt <= by;
    },
    see({ key, version }, next) {
      heads.set(key, { version, next });
    },
    forget(keys) {
      for (const key of keys) heads.delete(key);
    },
    keep(isKept) {
      for (const key of heads.keys()) if (!isKept(key)) heads.delete(key);
    },
  };
}
