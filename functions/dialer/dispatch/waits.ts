import type { ValueOf } from "#shared/ports/document-kinds.ts";

/** Backlogs that the document names at most: those that wait longest. */
const namedMax = 20;

/** The backlogs of which no row has left. */
interface Undispatched {
  /** Backlogs with due rows, which were dispatched, or might have been by the allowances. */
  left: readonly string[];
  /** True for those that stay noted: the tick did not see whether a row is due, or no row of any backlog has left. */
  isUnknown(backlog: string): boolean;
}

/**
 * Backlogs that wait without a reason: rows of them are due and allowed, and none leaves. That is a fault, such as
 * a queue that takes no messages, or delivers none. The record outlives a dispatcher, because each lives for only a minute.
 */
export interface Waits {
  note(undispatched: Undispatched, now: number): void;
  /** The time since when each has waited. */
  toDocument(): Record<string, number>;
}

export function createWaits(former: ValueOf<"dispatcher">["waits"] = {}): Waits {
  let since = new Map(Object.entries(former));
  return {
    note({ left, isUnknown }, now) {
      const kept = [...since.keys()].filter((key) => isUnknown(key));
      since = new Map([...kept, ...left].map((key) => [key, since.get(key) ?? now]));
    },
    toDocument: () =>
      Object.fromEntries(
        [...since].toSorted(([, one], [, other]) => one - other).slice(0, namedMax),
      ),
  };
}
