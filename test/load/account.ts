import { type CallState, callStates, statesWhere } from "#shared/calls/states.ts";
import { toCallId } from "#shared/calls/ids.ts";
import type { LedgerReader, RowView } from "./ledger.ts";
import type { Receipts } from "./provider.ts";
import type { AcceptedRequest } from "./stream.ts";

const openStates = statesWhere(({ open }) => open);

/** Returns the ids of the accepted calls of the stream. */
function idsOf(accepted: readonly AcceptedRequest[]): string[] {
  return accepted.flatMap(({ requestId, count }) =>
    Array.from({ length: count }, (_, index) => toCallId(requestId, index)),
  );
}

/** Progress of the accepted calls. */
export interface Progress {
  /** True if each call has been dialed or has a row, so that none is on the queue alone. */
  isAllRecorded: boolean;
  /** Number of rows that have not ended. */
  open: number;
}

export async function progressOf(
  accepted: readonly AcceptedRequest[],
  receipts: Receipts,
  ledger: LedgerReader,
): Promise<Progress> {
  const rows = await ledger.list();
  return {
    isAllRecorded: idsOf(accepted).every((id) => receipts.times.has(id) || rows.has(id)),
    open: [...rows.values()].filter(isOpen).length,
  };
}

/** Fates of all accepted calls. */
export interface Account {
  accepted: number;
  /** Number of calls that the receiver got. */
  dialed: number;
  /** Number of calls that it first answered 429. */
  deferred: number;
  /** Number of rows by state at the end. */
  states: Partial<Record<CallState, number>>;
  /** Rows in NEEDS_REVIEW. `deferred`: undialed ones that were once answered 429. */
  needReview: { dialed: number; undialed: number; deferred: number };
  /** Calls that ended undialed in another state, with the whole call kept. */
  endedOtherwise: number;
  /** Calls that still waited at the end of the waiting time. */
  open: number;
  /** Ids of calls that the receiver got more than once. */
  twice: string[];
  /** Ids of accepted calls that were never sent, and that no row keeps. */
  lost: string[];
  /** Ids that the receiver got and that the ledger does not know. */
  unrecorded: string[];
}

/** Compares the accepted calls, the received ones and the ledger. */
export async function settleAccount(
  accepted: readonly AcceptedRequest[],
  receipts: Receipts,
  ledger: LedgerReader,
): Promise<Account> {
  const rows = await ledger.list();
  const states: Account["states"] = {};
  for (const state of callStates) {
    const count = [...rows.values()].filter((row) => row.state === state).length;
    if (count > 0) states[state] = count;
  }
  const unsent = [...rows.values()].filter(({ id }) => !receipts.times.has(id));
  const undialed = unsent.filter(({ state }) => state === "NEEDS_REVIEW");
  const ids = idsOf(accepted);
  return {
    accepted: ids.length,
    dialed: receipts.ids.size,
    deferred: receipts.deferred.size,
    states,
    needReview: {
      dialed: (states["NEEDS_REVIEW"] ?? 0) - undialed.length,
      undialed: undialed.length,
      deferred: undialed.filter(({ id }) => receipts.deferred.has(id)).length,
    },
    endedOtherwise:
      unsent.filter((row) => !isOpen(row) && row.can_be_revealed).length - undialed.length,
    open: [...rows.values()].filter(isOpen).length,
    twice: [
      ...[...receipts.times].flatMap(([id, times]) => (times > 1 ? [id] : [])),
      ...[...receipts.underTwoIds].map((label) => receipts.ids.get(label) ?? label),
    ],
    // A row that claims to be placed, though the receiver never got the call, keeps no call.
    lost: ids.filter((id) => !receipts.times.has(id) && rows.get(id)?.can_be_revealed !== true),
    unrecorded: [...receipts.times.keys()].filter((id) => !rows.has(id)),
  };
}

function isOpen({ state }: RowView): boolean {
  return openStates.includes(state);
}
