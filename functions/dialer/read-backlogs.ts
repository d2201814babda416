import type { DuePlace } from "../../shared/ledger/call-ledger.ts";
import type { ReadyDeps } from "./dialer.ts";
import { type Backlog, type Horizon, isLive, isPending } from "./marks.ts";

/** How far ahead a sweep calls up: the next one is a minute away, and messages take a while. */
export const aheadMs = 75_000;
/** Most rows that are read in one go. */
export const pageRows = 5_000;

/** A backlog and the rows of it that a sweep has read. */
export interface Read {
  document: Backlog;
  /** Rows that are to be called up, in their order. */
  fresh: DuePlace[];
  /** Rows that were called up and whose hints may be on their way. */
  pending: number;
  /** Whether rows that were called up were not even read, so that some of them may still stand. */
  skipped: boolean;
  /** The last row that was read; rows after it have been seen to be absent where `isWhole`. */
  last: DuePlace | undefined;
  /** Whether all rows that are due were read. */
  isWhole: boolean;
}

/**
 * Reads rows of an account's backlogs until `needed` are to be called up, the same number of each in turn. Rows up to
 * a live mark were called up and may yet come; those before a mark that is no longer live go first.
 */
export async function readRows(
  all: readonly { document: Backlog }[],
  needed: number,
  horizon: Horizon,
  { ledger }: ReadyDeps,
): Promise<Read[]> {
  const until = horizon.now + aheadMs;
  const reads = all.map(({ document }): Read => {
    const { marks } = document.value;
    // Without a pace the rows that were called up are counted, so they are read.
    const skips =
      horizon.isPaced && marks.length > 0 && marks.every((mark) => isLive(mark, horizon));
    const last = skips ? marks.at(-1) : undefined;
    return { document, fresh: [], pending: 0, skipped: skips, last, isWhole: false };
  });
  for (;;) {
    const open = reads.filter(({ isWhole }) => !isWhole);
    const found = reads.reduce((sum, { fresh, pending }) => sum + fresh.length + pending, 0);
    if (open.length === 0 || found >= needed) return reads;
    const each = Math.max(
      1,
      Math.min(Math.ceil((needed - found) / open.length), Math.floor(pageRows / open.length)),
    );
    const backlogs = open.map(({ document, last }) => ({ key: document.key, after: last }));
    const pages = await ledger.due({ backlogs, until, each });
    for (const [index, read] of open.entries()) {
      const page = pages[index] ?? [];
      const fresh = page.filter((place) => !isPending(place, read.document.value.marks, horizon));
      read.fresh.push(...fresh);
      read.pending += page.length - fresh.length;
      read.last = page.at(-1) ?? read.last;
      read.isWhole = page.length < each;
    }
  }
}
