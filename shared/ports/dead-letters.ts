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

/** Letters of a list, by their names. */
export interface LetterPage {
  letters: StoredLetter[];
  /** Name after which the next page begins; absent on the last page. */
  next?: string | undefined;
}

/**
 * Dead letters that could not be handled yet, or that nobody has read yet, whole. They stay until they are removed, or until
 * the bucket's lifecycle rule deletes them after 30 days.
 */
export interface DeadLetters {
  /** Stores a message. Storing it once more replaces it. */
  store(name: string, body: string): Promise<void>;
  /**
   * Lists letters in the order of their names, at most `limit` and 1,000, starting behind `after`. A page may be shorter
   * though more follow: only `next` shows it.
   */
  list(query: { after?: string | undefined; limit: number }): Promise<LetterPage>;
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

/** Maximum pages without a letter that one list reads. */
const emptyPagesMax = 10;

/**
 * Reads pages of a store until one has a letter, as objects that are no letters may stand between them.
 *
 * @param readPage reads the page after a store's token; absent: the first one
 */
export async function listLetters(
  readPage: (token?: string) => Promise<{ letters: StoredLetter[]; token?: string | undefined }>,
): Promise<LetterPage> {
  let page = await readPage();
  for (let read = 1; page.letters.length === 0 && page.token !== undefined; read++) {
    if (read === emptyPagesMax) throw new Error("too many objects are no dead letters");
    page = await readPage(page.token);
  }
  const { letters, token } = page;
  return { letters, ...(token === undefined ? {} : { next: letters.at(-1)?.name }) };
}
