import type { DuePlace } from "../../../shared/ledger/call-ledger.ts";
import type { DialerDeps } from "../context.ts";
import { isLive } from "../../../shared/schedule/called-up.ts";
import { type Backlog, type Horizon, isPending, marksNow } from "./marks.ts";

/** Time reserved for the next sweep's messages to arrive. */
const messageMsMax = 15_000;

/** Milliseconds ahead of now up to which rows are called up: until the next sweep's messages have arrived. */
export function aheadMsOf({ sweepSeconds }: Pick<DialerDeps, "sweepSeconds">): number {
  return sweepSeconds * 1000 + messageMsMax;
}
/** Maximum rows per read. */
export const pageRows = 5_000;

/** A backlog and the rows of it that a sweep has read. */
export interface Read {
  /** The document as read, with the marks that count now. */
  document: Backlog;
  /** Rows to be called up, in order. */
  fresh: DuePlace[];
  /** Number of rows that were called up and whose hints may be on their way. */
  pending: number;
  /** True if called-up rows were not read: some of them may still stand. */
  skipped: boolean;
  /** The last row read. If `isWhole`, no rows stand after it. */
  last: DuePlace | undefined;
  /** True if all rows that are due were read. */
  isWhole: boolean;
}

/**
 * Reads rows of an account's backlogs until there are `needed`, the same number of each in turn. Rows up to a
 * mark that counts are called up already and may yet arrive. Rows before a mark that no longer counts go
 * first.
 */
export async function readRows(
  all: readonly { document: Backlog }[],
  needed: number,
  horizon: Horizon,
  deps: Pick<DialerDeps, "ledger" | "sweepSeconds">,
): Promise<Read[]> {
  const until = horizon.now + aheadMsOf(deps);
  const reads = all.map(({ document }) => {
    const { marks } = document.value;
    // Without a pace, called-up rows are counted, so they must be read.
    const skipped =
      horizon.isPaced && marks.length > 0 && marks.every((mark) => isLive(mark, horizon));
    const places: DuePlace[] = [];
    const last: DuePlace | undefined = skipped ? marks.at(-1) : undefined;
    return { document, places, skipped, last, isWhole: false };
  });
  for (;;) {
    const open = reads.filter(({ isWhole }) => !isWhole);
    const found = reads.reduce((sum, { places }) => sum + places.length, 0);
    if (open.length === 0 || found >= needed) break;
    const each = Math.max(
      1,
      Math.min(Math.ceil((needed - found) / open.length), Math.floor(pageRows / open.length)),
    );
    const backlogs = open.map(({ document, last }) => ({ key: document.key, after: last }));
    const pages = await deps.ledger.due({ backlogs, until, each });
    for (const [index, read] of open.entries()) {
      const page = pages[index] ?? [];
      read.places.push(...page);
      read.last = page.at(-1) ?? read.last;
      read.isWhole = page.length < each;
    }
  }
  return reads.map(({ places, ...read }) => {
    const { value } = read.document;
    const marks = read.skipped ? value.marks : marksNow(value.marks, places, read, horizon);
    const fresh = places.filter((place) => !isPending(place, marks, horizon));
    const document = { ...read.document, value: { ...value, marks } };
    return { ...read, document, fresh, pending: places.length - fresh.length };
  });
}
