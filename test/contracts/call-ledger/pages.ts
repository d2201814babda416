import { expect } from "vitest";
import { compareIds } from "#test/support/call-rows.ts";

interface Page<Row> {
  rows: Row[];
  unreadable?: number;
  next?: string | undefined;
}

/** More pages than any test needs, so that an endless list fails. */
const pagesMax = 2_000;

/**
 * Reads all pages of a list, each of which may be short or empty though more follow.
 *
 * @param order newest first (-1), or oldest first (1)
 */
export async function readPages<Row extends { id: string }>(
  read: (cursor: string | undefined, limit: number) => Promise<Page<Row>>,
  {
    limit = 100,
    from,
    order = -1,
  }: { limit?: number; from?: string | undefined; order?: 1 | -1 } = {},
): Promise<{ rows: Row[]; unreadable: number }> {
  const rows: Row[] = [];
  let unreadable = 0;
  let cursor = from;
  for (let pages = 0; pages < pagesMax; pages++) {
    const page = await read(cursor, limit);
    expect(page.rows.length).toBeLessThanOrEqual(limit);
    rows.push(...page.rows);
    unreadable += page.unreadable ?? 0;
    if (page.next === undefined) return { rows, unreadable };
    if (cursor !== undefined) expect(compareIds(page.next, cursor)).toBe(order);
    cursor = page.next;
  }
  throw new Error("the list does not end");
}
