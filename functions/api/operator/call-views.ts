import type * as z from "zod";
import type { CallRow } from "../../../shared/calls/call-row.ts";
import { firstCallIdAt, requestIdOf, timeOfId } from "../../../shared/calls/ids.ts";
import type { CallLedger, ListOf } from "../../../shared/ledger/call-ledger.ts";
import { keyLifetimeMs } from "../calls/idempotency.ts";
import type { listQuerySchema } from "./schemas.ts";

/** Rows that the filters of one answer look at. */
const scanRowsMax = 1000;
const scanPageRows = 50;
/** What a page counts as that is short though more may follow: the ledger has passed over thousands of rows for it. */
const shortPageRows = 250;

/** A page of the rows that filters leave, newest first. */
export async function pageOf(
  ledger: CallLedger,
  of: ListOf,
  filters: z.infer<typeof listQuerySchema>,
) {
  const { state, request_id, agent_id, provider, reason, cursor, limit } = filters;
  const { from = 0, until = Infinity } = filters;
  const fits = (row: CallRow) =>
    row.acceptedAt >= from &&
    row.acceptedAt < until &&
    (state === undefined || row.state === state) &&
    (request_id === undefined || requestIdOf(row.id) === request_id) &&
    (agent_id === undefined || row.agentId === agent_id) &&
    (provider === undefined || row.route?.provider === provider) &&
    (reason === undefined || row.reason === reason);
  const before = cursor ?? (until === Infinity ? undefined : firstCallIdAt(until));
  const { rows, next, unreadable } = await scan(ledger, of, { before, from, fits, limit });
  return {
    calls: rows.map(viewOf),
    ...(next === undefined ? {} : { cursor: next }),
    ...(unreadable === 0 ? {} : { unreadable }),
  };
}

/**
 * Rows that fit, and where to go on where there may be more: below `next`. Those that only a later version of this code
 * can read are counted.
 *
 * @param from in milliseconds since the epoch: of calls accepted before then none fits
 */
async function scan(
  ledger: CallLedger,
  of: ListOf,
  {
    before,
    from,
    fits,
    limit,
  }: {
    before: string | undefined;
    from: number;
    fits: (row: CallRow) => boolean;
    limit: number;
  },
): Promise<{ rows: CallRow[]; unreadable: number; next?: string | undefined }> {
  const rows: CallRow[] = [];
  let unreadable = 0;
  let next = before;
  for (let looked = 0; looked < scanRowsMax;) {
    const page = await ledger.list({ ...of, before: next, limit: scanPageRows });
    unreadable += page.unreadable;
    for (const row of page.rows) {
      // A call may be accepted later than its id says, by a repeat under the same Idempotency-Key.
      if (timeOfId(row.id) + keyLifetimeMs < from) return { rows, unreadable };
      if (fits(row)) rows.push(row);
      if (rows.length === limit) return { rows, unreadable, next: row.id };
    }
    if (page.next === undefined) return { rows, unreadable };
    next = page.next;
    looked += page.rows.length < scanPageRows ? shortPageRows : scanPageRows;
  }
  return { rows, unreadable, next };
}

/** A time after all that stand in rows, in milliseconds since the epoch. */
export const endOfTime = 9_999_999_999_999;

/** A time as answers have it: ISO 8601. */
export function timeOf(time: number): string;
export function timeOf(time: number | null): string | null;
export function timeOf(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/** A row as it is shown: of the number its last two digits, of the context nothing. */
export function viewOf(row: CallRow) {
  return {
    id: row.id,
    state: row.state,
    reason: row.reason,
    agent_id: row.agentId,
    provider: row.route?.provider ?? null,
    request_id: requestIdOf(row.id),
    client: row.client,
    number_tail: row.numberTail,
    attempt: row.attempt,
    due_at: timeOf(row.dueAt),
    accepted_at: timeOf(row.acceptedAt),
    updated_at: timeOf(row.updatedAt),
    provider_call_id: row.providerCallId,
    redial_of: row.ancestors.at(-1) ?? null,
    redialed_as: row.redialedAs,
    can_be_revealed: row.request !== null,
  };
}

/** The call's story from its acceptance on. */
export function storyOf({ acceptedAt, history }: CallRow) {
  const steps = history.map(({ at, state, reason, dueAt = null, by = null }) => ({
    at: timeOf(at),
    state,
    reason,
    due_at: timeOf(dueAt),
    by,
  }));
  const accepted = { at: timeOf(acceptedAt), state: "ACCEPTED", reason: "accepted" };
  return [{ ...accepted, due_at: null, by: null }, ...steps];
}
