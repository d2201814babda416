import type { StoredDocument } from "../../../shared/ports/document-kinds.ts";
import type { DuePosition } from "../../../shared/ports/ledger.ts";

/** Time since its last use within which a backlog's head is read at each look: its rows may be on their way. */
const usedMs = 30_000;

type Backlog = StoredDocument<"backlog">;

/** The rows of a backlog as they were seen last. */
interface Head {
  /** Version of the backlog's document then. */
  version: string;
  /** The first row that was not dispatched. Null: there is none. Undefined: it has to be read. */
  next: DuePosition | null | undefined;
}

/** The heads of all backlogs, as far as one dispatcher has read them. */
export interface BacklogHeads {
  /** True if the head of a backlog has to be read before it is known whether one of its rows is due. */
  isUnknown(backlog: Backlog, now: number): boolean;
  /** True if a row of the backlog that was not dispatched is due by then, or may be. */
  mayBeDue(backlog: Backlog, by: number): boolean;
  /** Notes the first row that is left. Undefined: it has to be read. */
  see(backlog: Backlog, next: DuePosition | null | undefined): void;
  /** Has these heads read again. */
  forget(keys: Iterable<string>): void;
  /** Forgets those for which `isKept` does not hold. */
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
