import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf, useDesk } from "./desk.tsx";
import { useRenewal } from "../data/renewal.ts";
import {
  hasGap,
  type ListPage,
  type ListRead,
  mergePage,
  type Placed,
} from "../data/merge-page.ts";

/** Pauses between the pages of one search: the first ones, and all others. */
const pauseMs = 400;
const longPauseMs = 1_500;
const quickPages = 10;
/** Interval of reading the shown pages again; longer for a first page that looks through many calls to find few. */
const refreshMs = 10_000;
/** Maximum pages that are read again after an action. */
const refreshedMax = 10;
const rareRefreshMs = 60_000;

/** A list that is read page by page, and renews what is shown. */
export interface List<Item> {
  /** Undefined before the first answer. */
  items: readonly Item[] | undefined;
  /** Acceptance of the oldest item that was looked at; null: there is nothing older. */
  lookedUntil: string | null | undefined;
  /** True if more may follow. */
  hasMore: boolean;
  /** True while pages are read one after another until something is found. */
  isLooking: boolean;
  /** True if so much came in that the newest items are not shown. */
  hasNewer: boolean;
  problem: string | undefined;
  /** Time of the last answer, in ISO 8601. */
  readAt: string | undefined;
  note: string | undefined;
  more(): void;
  stop(): void;
  /** Reads the list from the newest item on. */
  restart(): void;
  /** Reads again what could not be read. */
  retry(): void;
}

interface ListSource<Item> {
  load(cursor: string | undefined): Promise<ListPage<Item>>;
  idOf(item: Item): string;
  /** Returns the position of each item. Default: its id. */
  place?: ((items: readonly Item[]) => Placed<Item>[]) | undefined;
  /** Maximum items of a page. */
  pageItems: number;
}

interface Read<Item> extends ListRead<Item> {
  isRead: boolean;
  lookedUntil?: string | null;
  isLooking: boolean;
  hasNewer: boolean;
  problem?: string | undefined;
  readAt?: string;
  note?: string | undefined;
}

const nothing = { placed: [], cursor: undefined, isRead: false, isLooking: false, hasNewer: false };

/** State that the reads of a list share. */
interface Held<Item> {
  source: ListSource<Item>;
  read: Read<Item>;
  /** Number of the search that may still change the list. */
  run: number;
  /** Number of pages that were added. */
  pages: number;
  put(next: Partial<Read<Item>>): void;
}

/**
 * Reads a list: the first page, and more on demand. After a page without items the next page follows, with pauses,
 * until items are found, the list ends, or somebody stops the search. No page is read while this page is hidden.
 * Another list needs another `key` of its component.
 */
export function useList<Item>(source: ListSource<Item>): List<Item> {
  const [read, setRead] = useState<Read<Item>>(nothing);
  const { current: held } = useRef<Held<Item>>({ source, read, run: 0, pages: 0, put: () => {} });
  held.source = source;
  held.put = (next) => {
    held.read = { ...held.read, ...next };
    setRead(held.read);
  };
  useEffect(() => {
    void look(held, undefined, 1);
    return () => {
      held.run += 1;
    };
  }, []);
  useRefresh(held);
  return {
    items: read.isRead ? read.placed.map(({ item }) => item) : undefined,
    lookedUntil: read.lookedUntil,
    hasMore: read.cursor !== undefined,
    isLooking: read.isLooking,
    hasNewer: read.hasNewer,
    problem: read.problem,
    readAt: read.readAt,
    note: read.note,
    more: () => void look(held, read.cursor, source.pageItems),
    stop() {
      held.run += 1;
      held.put({ isLooking: false });
    },
    restart: () => restart(held),
    retry: () => (read.isRead ? void refresh(held, undefined, refreshedMax) : restart(held)),
  };
}

function restart<Item>(held: Held<Item>): void {
  held.pages = 0;
  held.put(nothing);
  void look(held, undefined, 1);
}

/** Reads pages from a cursor on until `wanted` items are found or the list ends. */
async function look<Item>(
  held: Held<Item>,
  from: string | undefined,
  wanted: number,
): Promise<void> {
  const own = ++held.run;
  held.put({ isLooking: true, problem: undefined });
  let start = from;
  let found = 0;
  try {
    for (let pages = 1; ; pages++) {
      const page = await held.source.load(start);
      if (held.run !== own) return;
      held.pages += 1;
      putPage(held, page, start);
      found += page.items.length;
      start = page.cursor;
      if (start === undefined || found >= wanted) break;
      await pause(pages < quickPages ? pauseMs : longPauseMs);
      if (held.run !== own) return;
    }
    held.put({ isLooking: false });
  } catch (error) {
    if (held.run === own) held.put({ isLooking: false, problem: messageOf(error) });
  }
}

/** Puts a page into the list. A list of one page is replaced by it, so that it does not grow by itself. */
function putPage<Item>(
  { source, read, pages, put }: Held<Item>,
  { items, cursor, lookedUntil, note }: ListPage<Item>,
  start: string | undefined,
): void {
  const { idOf, place = placeById(idOf) } = source;
  const page = { placed: place(items), cursor };
  const isLone = pages === 1 && start === undefined;
  const merged = isLone ? page : mergePage(read, page, { start, idOf });
  put({
    placed: merged.placed,
    cursor: merged.cursor,
    isRead: true,
    readAt: new Date().toISOString(),
    problem: undefined,
    ...(note === undefined ? {} : { note }),
    ...(merged.cursor === cursor ? { lookedUntil } : {}),
  });
}

function placeById<Item>(idOf: (item: Item) => string) {
  return (items: readonly Item[]) => items.map((item) => ({ item, position: idOf(item) }));
}

/**
 * Reads the shown pages again: after an action from the first page on; at intervals the first page and one other, a
 * different one each time.
 */
function useRefresh<Item>(held: Held<Item>): void {
  const { changes } = useDesk();
  useEffect(() => {
    if (changes > 0 && !held.read.isLooking) void refresh(held, undefined, refreshedMax);
  }, [changes]);
  const round = useRef<{ next?: string | undefined; readAt: number }>({ readAt: Date.now() });
  useRenewal(async () => {
    const { read, source } = held;
    const { current } = round;
    if (read.isLooking) return true;
    const isRare = read.cursor !== undefined && read.placed.length < source.pageItems;
    const isDue = Date.now() - current.readAt >= (isRare ? rareRefreshMs : refreshMs) - 500;
    if (!isDue && read.problem === undefined) return true;
    current.readAt = Date.now();
    const second = await refresh(held, undefined, 1);
    current.next ??= second;
    if (current.next !== undefined) current.next = await refresh(held, current.next, 1);
    return held.read.problem === undefined;
  }, refreshMs);
}

/**
 * Reads pages that are shown again, from a cursor on.
 *
 * @returns where the next one begins; undefined if none is shown
 */
async function refresh<Item>(
  held: Held<Item>,
  from: string | undefined,
  pagesMax: number,
): Promise<string | undefined> {
  const { run } = held;
  let start = from;
  try {
    for (let pages = 0; pages < pagesMax; pages++) {
      if (pages > 0 && !isShown(start, held)) return undefined;
      const page = await held.source.load(start);
      // A search that began meanwhile reads the list itself.
      if (held.run !== run) return undefined;
      const { idOf, place = placeById(idOf) } = held.source;
      const { cursor } = page;
      const isCut = start === undefined && held.pages > 1;
      if (isCut && hasGap(held.read, { placed: place(page.items), cursor })) {
        held.put({ hasNewer: true, problem: undefined });
        start = aboveAll(held);
      } else {
        putPage(held, page, start);
        start = cursor;
      }
    }
  } catch (error) {
    if (held.run === run) held.put({ problem: messageOf(error) });
  }
  return isShown(start, held) ? start : undefined;
}

/** Returns the cursor of a page that begins with the first item that is shown. A digit sorts before `_`. */
function aboveAll<Item>({ read }: Held<Item>): string | undefined {
  const [first] = read.placed;
  return first && `${first.position}_`;
}

/** True if a page from this cursor on would have items that are shown. */
function isShown<Item>(start: string | undefined, { read }: Held<Item>): boolean {
  return start !== undefined && read.placed.some(({ position }) => position < start);
}

/** Waits for a time, and then until the page is visible. */
async function pause(ms: number): Promise<void> {
  await new Promise((done) => setTimeout(done, ms));
  if (document.visibilityState === "visible") return;
  await new Promise<void>((done) => {
    const check = () => {
      if (document.visibilityState !== "visible") return;
      document.removeEventListener("visibilitychange", check);
      done();
    };
    document.addEventListener("visibilitychange", check);
  });
}
