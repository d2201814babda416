import { errorForLog } from "#shared/lib/log.ts";
import type { RowDeps } from "../runtime/context.ts";
import { type OpenRow, postpone } from "./write-results.ts";

/** Maximum rows of one message that fail: each costs some queries, and an invocation has a thousand of D1. */
const failuresMax = 40;

/** Handles the failures of rows, each of which concerns its own row alone. */
export interface OwnFailures {
  /**
   * Works on rows together. If that fails, it works on each half separately, until a failure concerns a single row.
   *
   * @throws if a row cannot be postponed, as the ledger is down, or if too many rows fail
   */
  apart(rows: readonly OpenRow[], work: (some: readonly OpenRow[]) => Promise<void>): Promise<void>;
  /** Postpones a row that cannot be handled: it is polled later, and an alarm names it. @throws as `apart` does */
  putBack(row: OpenRow, error: unknown): Promise<void>;
}

/**
 * Creates the handler of the failures of one message. A row whose record cannot be handled, because the journal is
 * down or its hash belongs to another HASH_KEY, must not delay the results of its account.
 *
 * @param isPostponed false if the rows' next polls stay as they are
 */
export function createOwnFailures(isPostponed: boolean, deps: RowDeps): OwnFailures {
  let failures = 0;
  const putBack = async (row: OpenRow, error: unknown) => {
    failures += 1;
    if (failures > failuresMax) throw error;
    const fields = { call_id: row.id, account: row.route.account, error: errorForLog(error) };
    deps.log("alarm", "result.not_handled", fields);
    if (isPostponed) await postpone([row], { isKept: true }, deps);
  };
  const apart: OwnFailures["apart"] = async (rows, work) => {
    const [first] = rows;
    if (first === undefined) return;
    try {
      await work(rows);
    } catch (error) {
      if (rows.length === 1) return putBack(first, error);
      const half = Math.ceil(rows.length / 2);
      await apart(rows.slice(0, half), work);
      await apart(rows.slice(half), work);
    }
  };
  return { apart, putBack };
}
