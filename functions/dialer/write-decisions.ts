import type { Call } from "../../shared/call.ts";
import type { CallRow, Settlement, UnclaimedWrite } from "../../shared/ledger/call-ledger.ts";
import type { LogFields, LogLevel } from "../../shared/log.ts";
import { traceOfNumber } from "../../shared/phone-number.ts";
import { delaySecondsMax } from "../../shared/queue/call-queue.ts";
import { type Decision, slotReason, type Written } from "./decide.ts";
import type { ReadyDeps } from "./dialer.ts";

/** A decision to be written over the row as it was read. */
export interface Unclaimed {
  call: Call;
  row: CallRow | undefined;
  decision: Written;
}
export type Park = { call: Call; decision: Extract<Decision, { kind: "park" }> };

/** Writes what was decided without a claim. Where a row has moved on since it was read, it stays as it is. */
export async function writeUnclaimed(writes: Unclaimed[], deps: ReadyDeps): Promise<void> {
  if (writes.length === 0) return;
  const at = deps.clock.now();
  const written = await deps.ledger.defer(
    writes.map(({ call, row, decision }): UnclaimedWrite => {
      const { kind: _, ...decided } = decision;
      const quiet = isRecorded(row, decision) ? {} : { unrecorded: true };
      return { ...entryOf(call, deps), ...decided, ...quiet, at, seenDueAt: row?.dueAt ?? null };
    }),
  );
  const made = writes.filter((_, index) => written[index] === true);
  for (const { call, decision } of made) {
    logDecision(deps, call, decision.state, { reason: decision.reason });
  }
  await remind(
    made.flatMap(({ call, decision }) =>
      decision.state === "DEFERRED" && decision.line === undefined
        ? { id: call.id, ...decision }
        : [],
    ),
    deps,
  );
}

/** So many attempts, and so many steps, a history tells whole; after them only how a call ends. */
const recordedAttemptsMax = 20;
const recordedStepsMax = 100;

/** Whether a claim, and what becomes of it, is worth telling in the call's history. */
export function isEarly(attempt: number): boolean {
  return attempt <= recordedAttemptsMax;
}

/** A wait for the same reason as before is not told again; a slot is how the wait for a pace ends. */
function isRecorded(row: CallRow | undefined, { state, reason }: Written): boolean {
  if (state !== "DEFERRED" || row === undefined) return true;
  const before = row.reason === slotReason ? "pace" : row.reason;
  return reason !== before && reason !== slotReason && row.history.length < recordedStepsMax;
}

/**
 * So long before its slot a call's message is to come: a row counts as due 5 s ahead, and a delivery may take a
 * moment.
 */
const slotLeadSeconds = 4;

/** Hints for rows due before the next sweep is sure to have seen them. Lost, the sweep finds the rows. */
export async function remind(
  rows: { id: string; reason: string; dueAt: number }[],
  { queue, clock }: Pick<ReadyDeps, "queue" | "clock">,
): Promise<void> {
  const now = clock.now();
  const soon = rows.filter(({ dueAt }) => dueAt - now < delaySecondsMax * 1000);
  if (soon.length === 0) return;
  await queue.sendMany(
    soon.map(({ id, reason, dueAt }) => {
      const lead = reason === slotReason ? slotLeadSeconds : 0;
      const delaySeconds = Math.max(0, Math.ceil((dueAt - now) / 1000) - lead);
      return { message: { kind: "due", id }, delaySeconds };
    }),
  );
}

export async function writeParks(parks: Park[], deps: ReadyDeps): Promise<void> {
  if (parks.length === 0) return;
  const at = deps.clock.now();
  const reason = "outcome_unknown";
  const parked = await deps.ledger.settle(
    parks.map(({ call, decision }) => ({
      id: call.id,
      token: decision.token,
      state: "PARKED",
      reason,
      at,
    })),
  );
  for (const [index, { call }] of parks.entries()) {
    if (parked[index] === true) logDecision(deps, call, "PARKED", { reason });
  }
}

export function entryOf(call: Call, { settings }: ReadyDeps) {
  return { call, ...traceOfNumber(call.request.phone_number, settings.hashKey) };
}

const events: Record<string, [LogLevel, string]> = {
  PLACED: ["info", "call.dialed"],
  DEFERRED: ["info", "call.deferred"],
  REJECTED: ["info", "call.rejected"],
  EXPIRED: ["warning", "call.expired"],
  CANCELLED: ["info", "call.cancelled"],
  UNKNOWN: ["warning", "call.unknown"],
  PARKED: ["alarm", "call.parked"],
};

/** One wide event a decision. */
export function logDecision(
  { log }: Pick<ReadyDeps, "log">,
  call: Call,
  state: Settlement["state"] | UnclaimedWrite["state"],
  fields: LogFields,
): void {
  const [level, event] = events[state] ?? ["warning", "call.decided"];
  log(level, event, {
    call_id: call.id,
    request_id: call.requestId,
    client: call.client,
    agent_id: call.request.agent_id,
    state,
    ...fields,
  });
}
