/** The queues that have dead letters. */
export type LetterQueue = "calls" | "events";

/** A dead letter in the object store. */
export interface StoredLetter {
  /** Its queue and its message's id: `calls-…` or `events-…`. */
  name: string;
  /** Milliseconds since the epoch. */
  storedAt: number;
  bytes: number;
}

/**
 * Dead letters that could not be handled yet, or that nobody has read yet, whole. They stay until they are removed, or until
 * the bucket's lifecycle rule deletes them after 30 days.
 */
export interface DeadLetters {
  /** Stores a message. Storing it once more replaces it. */
  keep(name: string, body: string): Promise<void>;
  /** Lists letters in the order of their names, at most 1,000, starting behind `after`. */
  list(query: { after?: string | undefined; limit: number }): Promise<StoredLetter[]>;
  /** Resolves to undefined if there is none of this name. */
  read(name: string): Promise<(StoredLetter & { body: string }) | undefined>;
  remove(name: string): Promise<void>;
}

/** Folder of the letters in the bucket. */
export const letterPrefix = "dead-letters/";

/** Names of letters. The ids of messages are hexadecimal, with hyphens on AWS. */
export const letterNamePattern = /^(calls|events)-[\w-]{1,100}$/;

export function toLetterName(queue: LetterQueue, messageId: string): string {
  return `${queue}-${messageId}`;
}

export function queueOf(letterName: string): LetterQueue {
  return letterName.startsWith("events-") ? "events" : "calls";
}

/** Returns the letter's name in an object's key, or nothing if the object is no letter. */
export function letterNameIn(objectKey: string): string[] {
  const name = objectKey.slice(letterPrefix.length);
  return letterNamePattern.test(name) ? [name] : [];
}
