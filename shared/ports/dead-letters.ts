/** Stores whole messages that could not be read, or whose calls could not be written, for 28 days. */
export interface DeadLetters {
  store(name: string, body: string): Promise<void>;
}

/**
 * Dead letters that another consumer than the dialer has stored unread, so that they are kept even if the dialer
 * dies.
 */
export interface UnreadLetters {
  /** Stores a dead letter of a queue. */
  keep(of: "calls" | "events", id: string, body: string): Promise<void>;
  /** Lists at most `limit` letters. */
  list(limit: number): Promise<UnreadLetter[]>;
  /** Removes a handled letter. */
  remove(letter: UnreadLetter): Promise<void>;
}

export interface UnreadLetter {
  of: "calls" | "events";
  id: string;
  open(): Promise<string>;
}
