import type { CallRow, CallState } from "../../../shared/calls/call-row.ts";
import type { Decided } from "../../../shared/calls/state-machine.ts";
import type { DocumentsRead } from "../../../shared/documents/documents.ts";
import type { WaitingRow } from "../waiting/call-up-soon.ts";
import type { Caps } from "./caps.ts";
import type { Dial } from "../decide.ts";
import type { ReadyDeps } from "../dialer.ts";
import type { Permits } from "./permits.ts";
import type { RequestGate } from "./request-gate.ts";
import type { SharedWrites } from "./shared-writes.ts";
import type { Places } from "./places.ts";

/** What became of a call. */
export type Result =
  /** Done with; it was settled so, or another's write came before. */
  | { kind: "done"; state?: CallState }
  /** Its message must come again. */
  | { kind: "again" }
  /** Nothing has been written of it yet. */
  | { kind: "not_dialed"; decided: NotDialed };
export type NotDialed =
  | Extract<Decided, { state: "WAITING" }>
  | { state: "EXPIRED"; reason: string };

/** What the calls of one delivery share. */
export interface Delivery {
  deps: ReadyDeps;
  /** When the invocation ends, in milliseconds since the epoch. */
  deadline: number;
  places: Places;
  gate: RequestGate;
  permits: Permits;
  caps: Caps;
  /** The documents that bear on its calls, at most 5 s old at a moment: now, or that of a request. */
  documents(at: number): Promise<DocumentsRead>;
  writes: SharedWrites;
  /** Calls up a row that a call of the delivery has left waiting, together with those of about the same moment. */
  callUp(row: WaitingRow): Promise<void>;
  /** Set by the first claim that can neither be made nor read back: the other calls are handed back untouched. */
  ledger: { isDown: boolean };
}

/** A claim that this process holds: the row as it wrote it, and the dial that led to it. */
export interface Held {
  dial: Dial;
  row: CallRow;
  claim: string;
}

/** What a call holds of its delivery's room. */
export interface Place {
  /** Among those that are claimed. */
  isHeld: boolean;
  /** Among those whose request is under way. */
  isInGate: boolean;
}

/** Gives back what a call holds, once. */
export function leave(place: Place, account: string, delivery: Delivery): void {
  leaveGate(place, account, delivery);
  if (place.isHeld) delivery.places.release(account);
  place.isHeld = false;
}

/** Lets another call's request through. */
export function leaveGate(place: Place, account: string, { gate }: Delivery): void {
  if (place.isInGate) gate.leave(account);
  place.isInGate = false;
}

/** A decision that is settled under the claim, as nothing was sent; `counted`: it has an entry in its number's cap. */
export interface Refusal {
  refused: Decided;
  counted: boolean;
}

/** The call waits on, in the place that it has. */
export function waiting(reason: string, { dial, row }: Held): Decided {
  return { state: "WAITING", reason, dueAt: dial.row?.dueAt ?? row.claimedAt ?? dial.dialAt };
}
