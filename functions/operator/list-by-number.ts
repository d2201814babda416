import type { CallLedger, Page } from "#shared/ports/ledger.ts";

/**
 * Lists rows under any hash of a number, newest first, as the ledger lists those under one. A page may be twice as long as
 * its limit.
 */
export async function listByNumber(
  ledger: Pick<CallLedger, "list">,
  numberHashes: readonly string[],
  page: { before?: string | undefined; limit: number },
): Promise<Page> {
  const pages = await Promise.all(
    numberHashes.map((numberHash) => ledger.list({ numberHash, ...page })),
  );
  // Below the end of the shortest list, rows of the others would come before rows that this list has yet to return.
  const next = pages
    .flatMap((one) => one.next ?? [])
    .toSorted()
    .at(-1);
  const rows = pages
    .flatMap((one) => one.rows)
    .filter(({ id }) => next === undefined || id >= next)
    .toSorted((one, other) => (one.id < other.id ? 1 : -1));
  return { rows, unreadable: pages.reduce((sum, one) => sum + one.unreadable, 0), next };
}
