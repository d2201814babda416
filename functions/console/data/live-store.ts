import { type Ask, messageOf } from "./client.ts";

/** Interval of reads where a view names no other. */
export const refreshMs = 15_000;
/** Longest interval of reads. */
const everyMsMax = 10 * 60_000;
/** Longest interval of a failing read that is below its own. */
const failingMsMax = 30_000;
/** Intervals of the reads that check whether the service answers again. */
const probeMs = 2_000;
const probeMsMax = 10_000;
/** Data that are older than this number of intervals are shown with their time. */
const oldIntervals = 3;

/** A path that is read, or one to which a search is posted. */
export type Asked = string | { path: string; body: object };

/** The last answer of a path. */
export interface Reading {
  data?: unknown;
  /** Error of the last read. `data` may hold older data. */
  problem?: string;
  /** Time at which the data were asked for, in milliseconds since the epoch. */
  readAt?: number;
  /** True if the data are older than they should be. */
  isOld: boolean;
}

interface Watcher {
  everyMs: number;
  changed(reading: Reading): void;
}

interface Entry {
  key: string;
  asked: Asked;
  reading: Reading;
  watchers: Set<Watcher>;
  isReading: boolean;
  /** True if it must be read again once the read that is under way has ended. */
  isStale: boolean;
  failures: number;
  /** Time of the first of these failures. */
  failedAt: number;
  readTimer?: ReturnType<typeof setTimeout>;
  ageTimer?: ReturnType<typeof setTimeout>;
}

/** Data of the API that somebody looks at. Each path is read once for all who watch it, and never twice at a time. */
export interface LiveStore {
  /** Reads a path now and at intervals, until the returned function is called. */
  watch(asked: Asked, watcher: Watcher): () => void;
  reload(asked: Asked): void;
  /** Reads all that is watched now. */
  renew(): void;
}

export function keyOf(asked: Asked | undefined): string | undefined {
  return typeof asked === "object" ? `${asked.path} ${JSON.stringify(asked.body)}` : asked;
}

/** The paths that are read, and how. */
interface Shelf {
  entries: Map<string, Entry>;
  ask: Ask;
}

export function createLiveStore(ask: Ask): LiveStore {
  const shelf: Shelf = { entries: new Map(), ask };
  const { entries } = shelf;
  return {
    watch(asked, watcher) {
      const key = keyOf(asked) ?? "";
      const entry = entries.get(key) ?? createEntry(key, asked);
      entries.set(key, entry);
      entry.watchers.add(watcher);
      if (entry.reading.readAt !== undefined) watcher.changed(entry.reading);
      if (entry.reading.readAt === undefined) void read(entry, shelf);
      else schedule(entry, shelf);
      return () => {
        entry.watchers.delete(watcher);
        // The same view may continue to watch at another interval.
        setTimeout(() => forgetUnwatched(entry, shelf));
      };
    },
    reload(asked) {
      const entry = entries.get(keyOf(asked) ?? "");
      if (entry !== undefined) readAgain(entry, shelf);
    },
    renew() {
      for (const entry of entries.values()) readAgain(entry, shelf);
    },
  };
}

function createEntry(key: string, asked: Asked): Entry {
  const reading = { isOld: false };
  return {
    key,
    asked,
    reading,
    watchers: new Set(),
    isReading: false,
    isStale: false,
    failures: 0,
    failedAt: 0,
  };
}

function readAgain(entry: Entry, shelf: Shelf): void {
  if (entry.isReading) entry.isStale = true;
  else void read(entry, shelf);
}

async function read(entry: Entry, shelf: Shelf): Promise<void> {
  if (entry.isReading) return;
  clearTimeout(entry.readTimer);
  entry.isReading = true;
  entry.isStale = false;
  const readAt = Date.now();
  const { path, body } = typeof entry.asked === "string" ? { path: entry.asked } : entry.asked;
  try {
    const data = await shelf.ask(path, body);
    const isBack = entry.failures > 0;
    entry.failures = 0;
    if (isBack) recover(shelf);
    show(entry, { data, readAt, isOld: false });
    clearTimeout(entry.ageTimer);
    const ageMs = oldIntervals * everyMsOf(entry);
    entry.ageTimer = setTimeout(() => show(entry, { ...entry.reading, isOld: true }), ageMs);
  } catch (error) {
    if (entry.failures === 0) entry.failedAt = Date.now();
    entry.failures += 1;
    show(entry, { ...entry.reading, problem: messageOf(error) });
  }
  entry.isReading = false;
  if (forgetUnwatched(entry, shelf)) return;
  if (entry.isStale) void read(entry, shelf);
  else schedule(entry, shelf);
}

/** Reads failed paths at once, because the service answers again. */
function recover(shelf: Shelf): void {
  for (const entry of shelf.entries.values()) if (entry.failures > 0) readAgain(entry, shelf);
}

/** True for the first failing path while none is answered: the others are read as soon as this path is answered. */
function isProbe(entry: Entry, { entries }: Shelf): boolean {
  const all = [...entries.values()];
  const isAnswered = all.some(
    ({ failures, reading: { readAt = 0 } }) => failures === 0 && readAt > entry.failedAt,
  );
  return entry.failures > 0 && !isAnswered && all.find(({ failures }) => failures > 0) === entry;
}

/** Reads later; the more reads have failed, the later. Nothing is read while the page is hidden. */
function schedule(entry: Entry, shelf: Shelf): void {
  if (entry.isReading) return;
  clearTimeout(entry.readTimer);
  const everyMs = everyMsOf(entry);
  const slowMs = Math.min(everyMs * 2 ** entry.failures, Math.max(everyMs, failingMsMax));
  const delayMs = isProbe(entry, shelf)
    ? Math.min(probeMs * 2 ** (entry.failures - 1), probeMsMax)
    : slowMs;
  entry.readTimer = setTimeout(() => {
    if (document.visibilityState === "visible") void read(entry, shelf);
  }, delayMs);
}

function everyMsOf({ watchers }: Entry): number {
  return Math.min(...[...watchers].map(({ everyMs }) => everyMs), everyMsMax);
}

/** Ends the reads of a path that nobody watches any more, and returns true if it was such a path. */
function forgetUnwatched(entry: Entry, { entries }: Shelf): boolean {
  if (entry.watchers.size > 0 || entry.isReading) return false;
  clearTimeout(entry.readTimer);
  clearTimeout(entry.ageTimer);
  if (entries.get(entry.key) === entry) entries.delete(entry.key);
  return true;
}

function show(entry: Entry, reading: Reading): void {
  entry.reading = reading;
  for (const { changed } of entry.watchers) changed(reading);
}
