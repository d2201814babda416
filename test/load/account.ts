import { callStates } from "../../shared/ledger/call-ledger.ts";
import type { LedgerReader, RowView } from "./ledger.ts";
import type { Receipts } from "./provider.ts";
import type { AcceptedRequest } from "./stream.ts";

const openStates = ["DEFERRED", "DIALING", "UNKNOWN"] as const;
/** With the whole call kept. */
const endedUndialed = ["PARKED", "REJECTED", "EXPIRED", "CANCELLED", "REDIALED"] as const;

/** The stream's calls that were accepted and that the receiver has not been sent, by label. */
function undialed(accepted: readonly AcceptedRequest[], { ids }: Receipts): Map<string, string> {
  const labels = new Map<string, string>();
  for (const { number, count, requestId } of accepted) {
    for (let index = 0; index < count; index++) {
      const label = `${number}-${index}`;
      if (!ids.has(label)) labels.set(label, `${requestId} call ${index}`);
    }
  }
  return labels;
}

/**
 * Whether each call that was accepted has been dialed, or has a row: then nothing of it is on the queue alone. Told
 * by counting, as a row shows its label to nobody: no more rows than such calls can be without a receipt.
 */
export async function isAllRecorded(
  accepted: readonly AcceptedRequest[],
  receipts: Receipts,
  ledger: LedgerReader,
): Promise<boolean> {
  const rows = await ledger.list([...openStates, ...endedUndialed]);
  const waiting = [...rows.keys()].filter((id) => !receipts.times.has(id));
  return waiting.length >= undialed(accepted, receipts).size;
}

/** How many rows have not ended. */
export async function openRows(ledger: LedgerReader): Promise<number> {
  return (await ledger.list(openStates)).size;
}

/** What became of every call that was accepted. */
export interface Account {
  accepted: number;
  /** Calls that the receiver was sent. */
  dialed: number;
  /** Calls that it answered 429 at first. */
  putOff: number;
  /** Rows by state at the end. */
  states: Record<string, number>;
  /** `putOff`: those of the undialed that were answered 429 once. */
  parked: { dialed: number; undialed: number; putOff: number };
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
  const rows = await ledger.list(callStates);
  const states: Record<string, number> = {};
  for (const { state } of rows.values()) states[state] = (states[state] ?? 0) + 1;
  const lost = undialed(accepted, receipts);
  const isUnsent = ({ id }: RowView) => !receipts.times.has(id);
  const unsent = [...rows.values()].filter(isUnsent);
  for (const { id, can_be_revealed } of unsent) {
    if (can_be_revealed) lost.delete(await ledger.labelOf(id));
  }
  const parked = unsent.filter(({ state }) => state === "PARKED");
  const isOpen = ({ state }: RowView) => openStates.some((one) => one === state);
  const endedUnsent = unsent.filter(({ state }) => endedUndialed.some((one) => one === state));
  return {
    accepted: accepted.reduce((sum, { count }) => sum + count, 0),
    dialed: receipts.ids.size,
    putOff: receipts.putOff.size,
    states,
    parked: {
      dialed: (states["PARKED"] ?? 0) - parked.length,
      undialed: parked.length,
      putOff: parked.filter(({ id }) => receipts.putOff.has(id)).length,
    },
    endedOtherwise: endedUnsent.length - parked.length,
    open: [...rows.values()].filter(isOpen).length,
    twice: [
      ...[...receipts.times].flatMap(([id, times]) => (times > 1 ? [id] : [])),
      ...[...receipts.underTwoIds].map((label) => receipts.ids.get(label) ?? label),
    ],
    lost: [
      ...lost.values(),
      // Said to be placed, while the receiver was not sent it.
      ...unsent.flatMap(({ id, state }) => (state === "PLACED" ? [id] : [])),
    ],
    unrecorded: [...receipts.times.keys()].filter((id) => !rows.has(id)),
  };
}
