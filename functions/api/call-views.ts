import type * as z from "zod";
import type { CallLedger, CallRow } from "../../shared/ledger/call-ledger.ts";
import type { listQuerySchema } from "./operator-schemas.ts";

/** Rows that one answer's filters look at, whole calls, and in one go. */
export const scanRowsMax = 1000;
const scanPageRows = 50;

/** A place in a list, newest first. */
type Cursor = { time: number; id: string } | undefined;

/** A page of the rows that filters leave. */
export async function pageOf(
  ledger: CallLedger,
  of: Parameters<typeof scan>[1],
  filters: z.infer<typeof listQuerySchema>,
) {
  const { state, request_id, agent_id, provider, reason, from, until, cursor, limit } = filters;
  const fits = (row: CallRow) =>
    (state === undefined || row.state === state) &&
    (request_id === undefined || row.requestId === request_id) &&
    (agent_id === undefined || row.agentId === agent_id) &&
    (provider === undefined || row.route?.provider === provider) &&
    (reason === undefined || row.reason === reason);
  const start = cursor ?? (until === undefined ? undefined : { time: until, id: "" });
  const found = await scan(ledger, of, { start, from, fits, limit });
  return { calls: found.rows.map(viewOf), ...cursorOf(found.next) };
}

/** Rows that fit, newest acceptance first, and the place to go on from where there may be more. */
export async function scan(
  ledger: CallLedger,
  of: { state: CallRow["state"] } | { requestId: string } | { numberHash: string },
  {
    start,
    from = 0,
    fits,
    limit,
  }: { start: Cursor; from?: number | undefined; fits: (row: CallRow) => boolean; limit: number },
): Promise<{ rows: CallRow[]; next: Cursor }> {
  const rows: CallRow[] = [];
  let before = start;
  for (let looked = 0; looked < scanRowsMax; looked += scanPageRows) {
    const found = await ledger.list({
      ...of,
      before: before && { acceptedAt: before.time, id: before.id },
      limit: scanPageRows,
    });
    if (found.length === 0) return { rows, next: undefined };
    for (const row of found) {
      if (row.acceptedAt < from) return { rows, next: undefined };
      before = { time: row.acceptedAt, id: row.id };
      if (fits(row)) rows.push(row);
      if (rows.length === limit) return { rows, next: before };
    }
  }
  return { rows, next: before };
}

export function cursorOf(next: Cursor): { cursor?: string } {
  return next === undefined ? {} : { cursor: `${next.time}~${next.id}` };
}

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
    request_id: row.requestId,
    client: row.client,
    number_tail: row.numberTail,
    attempt: row.attempt,
    // In a line it has a place, and no time.
    due_at: row.line === null ? timeOf(row.dueAt) : null,
    accepted_at: timeOf(row.acceptedAt),
    updated_at: timeOf(row.updatedAt),
    provider_call_id: row.providerCallId,
    redial_of: row.call?.redialOf ?? null,
    redialed_as: row.redialedAs,
    can_be_revealed: row.call !== null,
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
