import type { CallLedger } from "#shared/ports/ledger.ts";

/** Maximum rows of a page, whatever its limit. */
const rowsMax = 2;

/**
 * Returns a ledger whose pages are short though more rows follow, as those of an engine that examines a bounded number of
 * rows, or of several databases that are read together. Every other page of a list by time is empty.
 */
export function withShortPages(ledger: CallLedger): CallLedger {
  const few = <Query extends { limit: number }>(query: Query): Query => ({
    ...query,
    limit: Math.min(query.limit, rowsMax),
  });
  return {
    ...ledger,
    async list(query) {
      const page = await ledger.list(few(query));
      const [first] = page.rows;
      const isByTime = "all" in query || "state" in query;
      if (!isByTime || first === undefined || isBetween(query.before)) return page;
      return { rows: [], unreadable: 0, next: `${first.id}!` };
    },
    async listOldest(query) {
      const page = await ledger.listOldest(few(query));
      const [first] = page.rows;
      if (first === undefined || isBetween(query.after)) return page;
      return { rows: [], unreadable: 0, next: `${query.after ?? ""}!` };
    },
    async ended(query) {
      const page = await ledger.ended(few(query));
      const [first] = page.rows;
      if (first === undefined || isBetween(query.after)) return page;
      return { rows: [], next: `${query.after ?? ""}!` };
    },
  };
}

/** True for the cursor of an empty page, which lies between two ids. */
function isBetween(cursor: string | undefined): boolean {
  return cursor !== undefined && !/_\d{5}$/.test(cursor);
}
