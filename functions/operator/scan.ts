import type { CallRow } from "#shared/calls/call-row.ts";
import { timeOfId } from "#shared/calls/ids.ts";
import type { Page } from "#shared/ports/ledger.ts";
import { keyLifetimeMs } from "../api/calls/idempotency.ts";

/** Maximum rows that one answer reads to apply its filters. */
const scanRowsMax = 1000;
const scanPageRows = 50;
/** Cost of a short page that is not the last, in rows, as the ledger has skipped thousands for it. */
const shortPageRows = 250;

/** The place of a page. */
export interface Position {
  before?: string | undefined;
  limit: number;
}

/** Lists a page of the calls that are looked through, newest first. */
export type ListPage = (page: Position) => Promise<Page>;

/** The rows that a scan looks for. */
export interface Scan {
  /** The scan begins below this id. Undefined: at the newest call. */
  before: string | undefined;
  /** Milliseconds since the epoch. Calls accepted earlier do not match. */
  from: number;
  fits(row: CallRow): boolean;
  /** True if the list can continue below this row. Default: below each. */
  isCursor?: ((row: CallRow) => boolean) | undefined;
  limit: number;
}

/**
 * Reads rows until enough of them match. More may follow below `next`. `unreadable` counts rows that this version
 * cannot read.
 */
export async function scan(
  list: ListPage,
  { before, from, fits, isCursor = () => true, limit: rowsMax }: Scan,
): Promise<{ rows: CallRow[]; unreadable: number; next?: string | undefined }> {
  const rows: CallRow[] = [];
  let unreadable = 0;
  let next = before;
  for (let looked = 0; looked < scanRowsMax;) {
    const page = await list({ before: next, limit: scanPageRows });
    unreadable += page.unreadable;
    for (const row of page.rows) {
      if (isEarlier(row.id, from)) return { rows, unreadable };
      if (fits(row)) rows.push(row);
      if (rows.length >= rowsMax && isCursor(row)) return { rows, unreadable, next: row.id };
    }
    if (page.next === undefined) return { rows, unreadable };
    next = page.next;
    if (isEarlier(next, from)) return { rows, unreadable };
    looked += page.rows.length < scanPageRows ? shortPageRows : scanPageRows;
  }
  return { rows, unreadable, next };
}

/** True if calls up to this id were certainly accepted before `from`. */
function isEarlier(id: string, from: number): boolean {
  // A repeat under an Idempotency-Key is accepted later than the time in the call's id.
  return timeOfId(id) + keyLifetimeMs < from;
}
