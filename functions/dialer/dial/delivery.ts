import type { CallRow } from "../../../shared/calls/call-row.ts";
import type { CallState } from "../../../shared/calls/states.ts";
import type { Decided } from "../../../shared/calls/transitions.ts";
import type { ControlDocuments } from "../../../shared/policy/restore.ts";
import type { Caps } from "../record/number-caps.ts";
import type { Dial } from "../decide/decide-delivered.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { LiveEntries } from "../record/live-calls.ts";
import type { Permits } from "./permits.ts";
import type { BatchWriter } from "../record/batch-writer.ts";
import type { Semaphore, Slot } from "../runtime/fair-semaphore.ts";

/** Result of handling a call. */
export type Result =
  /** The call is settled with this state, or another write came first. */
  | { kind: "done"; state?: CallState }
  /** The call's message must be delivered again. */
  | { kind: "retry" }
  /** The call was not dialed, and that decision is not yet written. */
  | { kind: "not_dialed"; decided: NotDialed };
export type NotDialed =
  | Extract<Decided, { state: "WAITING" }>
  | { state: "EXPIRED"; reason: string };

/** State that the calls of one delivery share. */
export interface Delivery {
  deps: DialerDeps;
  /** End of the invocation, in milliseconds since the epoch. */
  deadline: number;
  /** Slots for claimed calls. */
  slots: Semaphore;
  /** Slots for requests under way. */
  connections: Semaphore;
  permits: Permits;
  caps: Caps;
  live: LiveEntries;
  /** Returns the documents that bear on the calls, at most 5 s old at time `at`: now, or the time of a request. */
  documents(at: number): Promise<ControlDocuments>;
  writes: BatchWriter;
  /** Backlogs of which this delivery sends no more, as their requests stay unanswered or are refused. */
  stopped: Set<string>;
  /** Set by the first claim that can neither be made nor read back: the other calls are handed back untouched. */
  ledger: { isDown: boolean };
}

/** A claim that this process holds: the row as written, and the dial decision that led to it. */
export interface Claim {
  dial: Dial;
  row: CallRow;
  version: string;
  /** Time at which the work under the claim began, in milliseconds since the epoch. */
  startedAt: number;
}

/** The slots of a delivery that a call holds: its own, and a connection while it has one. */
export interface CallSlots extends Slot {
  connection: Slot | undefined;
}

/** A decision to settle under the claim without a request. `counted`: the call has an entry in its number's cap. */
export interface Refusal {
  refused: Decided;
  counted: boolean;
}

/** Lets the call wait on with its former `dueAt`, so that it keeps its position. */
export function toWaiting(reason: string, { dial, row }: Claim): Decided {
  return { state: "WAITING", reason, dueAt: dial.row?.dueAt ?? row.claimedAt ?? dial.dialAt };
}
