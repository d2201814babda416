/** Keeps messages that could not be read or written, whole, for 28 days. */
export interface DeadLetters {
  store(name: string, body: string): Promise<void>;
}

/**
 * Dead letters that were stored before anybody has read them, as their queue has another consumer than the dialer: one
 * that works though the dialer dies.
 */
export interface UnreadLetters {
  /** Stores a dead letter of a queue under a new name. */
  keep(of: "calls" | "events", id: string, body: string): Promise<void>;
  /** Lists some of them. */
  list(limit: number): Promise<UnreadLetter[]>;
  /** Removes one that was handled. */
  remove(letter: UnreadLetter): Promise<void>;
}

export interface UnreadLetter {
  of: "calls" | "events";
  id: string;
  open(): Promise<string>;
}
