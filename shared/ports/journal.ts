/**
 * Changes that a restore of the ledger must not undo, kept outside the ledger: one object each, in the order of their times.
 * They hold hashes, never numbers.
 */
export interface Journal {
  /** Stores an entry. Storing it once more replaces it. */
  append(name: string, body: string): Promise<void>;
  /** Lists names in their order, at most 1,000, starting behind `after`. */
  list(query: { after?: string | undefined; limit: number }): Promise<string[]>;
  /** Resolves to undefined if there is none of this name. */
  read(name: string): Promise<string | undefined>;
  /** Removes at most 1,000 entries by one request. Those that there are not are left out. */
  remove(names: readonly string[]): Promise<void>;
}

/** Folder of the entries in the bucket. */
export const journalPrefix = "journal/";

/** Names an entry by its time, in milliseconds since the epoch. Names are in the order of their times. */
export function nameOfEntry(at: number, id: string): string {
  return `${String(at).padStart(15, "0")}-${id}`;
}

/** Names a part that has the entries up to, and with, the last one: it follows that one. */
export function nameOfPart(last: string): string {
  return `${last}~`;
}

/** True if the name is that of a part. */
export function isPart(name: string): boolean {
  return name.endsWith("~");
}

/** A page of gathered entries, and how many it has so far. */
interface GatheredPage {
  /** The end of the page's minute, in milliseconds since the epoch. */
  until: number;
  /** Hex digits that distinguish the page from others of the minute. */
  page: string;
  /** Number of additions to the page. */
  additions: number;
}

/**
 * Names an entry that has all of a page so far. Each addition has an object of its own, as two writes under one name could come in
 * the wrong order; of a page only the one with most additions counts.
 */
export function nameOfGathered({ until, page, additions }: GatheredPage): string {
  return nameOfEntry(until, `${page}+${String(additions).padStart(6, "0")}`);
}

/** Splits names into those that count, and those of pages that one with more additions has replaced. */
export function sortOutGathered(names: readonly string[]): { kept: string[]; replaced: string[] } {
  const pageOf = (name: string) => /^.*\+(?=\d{6}$)/.exec(name)?.[0];
  const last = new Map(names.map((name) => [pageOf(name) ?? name, name]));
  const isKept = (name: string) => last.get(pageOf(name) ?? name) === name;
  return { kept: names.filter(isKept), replaced: names.filter((name) => !isKept(name)) };
}

/** Returns the time in an entry's name; of a part, that of its last entry. */
export function timeOfEntry(name: string): number {
  return Number(name.slice(0, 15));
}
