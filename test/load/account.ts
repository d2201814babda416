import { type CallState, callStates } from "../../shared/calls/call-row.ts";
import { callIdOf } from "../../shared/calls/ids.ts";
import type { LedgerReader, RowView } from "./ledger.ts";
import type { Receipts } from "./provider.ts";
import type { AcceptedRequest } from "./stream.ts";

const openStates: ReadonlySet<CallState> = new Set<CallState>(["WAITING", "DIALING", "UNKNOWN"]);

/** Ids of the stream's calls that were accepted. */
function idsOf(accepted: readonly AcceptedRequest[]): string[] {
  return accepted.flatMap(({ requestId, count }) =>
    Array.from({ length: count }, (_, index) => callIdOf(requestId, index)),
  );
}

/** How far the calls that were accepted have come. */
export interface Progress {
  /** Each has been dialed, or has a row: nothing of it is on the queue alone. */
  isAllRecorded: boolean;
  /** Rows that have not ended. */
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

/** What became of every call that was accepted. */
export interface Account {
  accepted: number;
  /** Calls that the receiver was sent. */
  dialed: number;
  /** Calls that it answered 429 at first. */
  putOff: number;
  /** Rows by state at the end. */
  states: Partial<Record<CallState, number>>;
  /** Rows in NEEDS_REVIEW; `putOff`: those of the undialed that were answered 429 once. */
  needReview: { dialed: number; undialed: number; putOff: number };
  /** Ended undialed in another way, with the whole call kept. */
  endedOtherwise: number;
  /** Waiting still when the time for waiting was over. */
  open: number;
  /** Ids of calls that the receiver was sent more than once. */
  twice: string[];
  /** Accepted, never sent, and in no row that keeps them. */
  lost: string[];
  /** Ids that the receiver was sent and that the ledger does not know. */
  unrecorded: string[];
}

/** Compares what was accepted, what was received and what the ledger has. */
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
    putOff: receipts.putOff.size,
    states,
    needReview: {
      dialed: (states["NEEDS_REVIEW"] ?? 0) - undialed.length,
      undialed: undialed.length,
      putOff: undialed.filter(({ id }) => receipts.putOff.has(id)).length,
    },
    endedOtherwise:
      unsent.filter((row) => !isOpen(row) && row.can_be_revealed).length - undialed.length,
    open: [...rows.values()].filter(isOpen).length,
    twice: [
      ...[...receipts.times].flatMap(([id, times]) => (times > 1 ? [id] : [])),
      ...[...receipts.underTwoIds].map((label) => receipts.ids.get(label) ?? label),
    ],
    // A row that is said to be placed, while the receiver was not sent it, keeps no call.
    lost: ids.filter((id) => !receipts.times.has(id) && rows.get(id)?.can_be_revealed !== true),
    unrecorded: [...receipts.times.keys()].filter((id) => !rows.has(id)),
  };
}

function isOpen({ state }: RowView): boolean {
  return openStates.has(state);
}
