import type { Call } from "../../../shared/calls/call-request.ts";
import { applyDecision } from "../../../shared/calls/transitions.ts";
import { readOwnReceivers } from "../../../shared/events/outbox-ledger.ts";
import { expiryOf } from "../../../shared/dial-plan/dial-plan.ts";
import { errorForLog } from "../../../shared/lib/log.ts";
import { rowStep } from "../../../shared/policy/usage.ts";
import type { Delivered } from "../../../shared/ports/queue.ts";
import { toCalls, type Message, messageSchema } from "../../../shared/ports/call-messages.ts";
import { mayHaveBeenLost, readWithSuspension } from "../decide/decide-delivered.ts";
import { oldestAccepted } from "../dial/dial-calls.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { withPortLimits } from "../runtime/time-limits.ts";
import { ownDepsOf } from "../events/own-receivers.ts";
import { openMessage } from "./open-message.ts";
import { settleOutcome } from "../record/settle.ts";
import { countSteps, logEventOf, toNewCall } from "../record/write-decisions.ts";

/** Maximum rows per write. */
const rowsPerWrite = 500;
/** Result of handling a dead letter. `failed`: it may be handled later. */
export type Handled = "done" | "unreadable" | "failed";

/**
 * Handles a message that failed a hundred times. Dials nothing: a late outcome is settled, a hint is dropped, and a call
 * without a row is written NEEDS_REVIEW, or EXPIRED where its time is over. Never throws.
 */
export async function handleDeadLetter(delivered: Delivered, deps: DialerDeps): Promise<Handled> {
  const { log } = deps;
  const { attempt } = delivered;
  const message = await openMessage(delivered, messageSchema, deps);
  if (message === undefined) return "unreadable";
  log("alarm", "message.dead_lettered", { message_kind: message.kind, attempt });
  try {
    await settleDeadLetter(message, withPortLimits(deps));
    return "done";
  } catch (error) {
    log("alarm", "ledger.unreachable", { error: errorForLog(error) });
    return "failed";
  }
}

async function settleDeadLetter(message: Message, deps: DialerDeps): Promise<void> {
  if (message.kind === "outcome") return settleOutcome(message.settlement, deps);
  if (message.kind === "dispatch") return; // a hint: its rows are dispatched again
  const calls = toCalls(message);
  for (let start = 0; start < calls.length; start += rowsPerWrite) {
    await writeDead(calls.slice(start, start + rowsPerWrite), deps);
  }
}

async function writeDead(calls: readonly Call[], deps: DialerDeps): Promise<void> {
  const { ledger, clock, random, settings, log } = deps;
  const at = clock.now();
  const request_id = calls[0]?.requestId ?? "";
  const recent = calls.filter(({ acceptedAt }) => acceptedAt >= oldestAccepted(at, deps));
  if (recent.length < calls.length) {
    // The row may have been purged, and must not be created again.
    log("alarm", "call.too_old", { request_id, count: calls.length - recent.length });
  }
  const controls = await readWithSuspension([], deps);
  const clients = recent.map(({ client }) => client);
  await readOwnReceivers(clients, ownDepsOf(deps)); // rows keep what these repeat of the context
  // A restore may have lost a call's row, and with it that the call was dialed or ended.
  const isLost = (call: Call) => controls.isSuspended || mayHaveBeenLost(call, undefined, controls);
  const reason = recent.some(isLost) ? "restored" : "dead_letter"; // they were accepted together
  const changes = recent.flatMap((call) => {
    const isOver = reason === "dead_letter" && at >= expiryOf(call, settings.plan);
    const to = { state: isOver ? "EXPIRED" : "NEEDS_REVIEW", reason } as const;
    const next = applyDecision(
      undefined,
      { newCall: toNewCall(call, deps), decision: to },
      {
        version: random.version(),
        at,
      },
    );
    // An existing row is left to the sweeps.
    return next === undefined ? [] : { next, seen: null };
  });
  const written = await ledger.write(changes);
  const made = changes.flatMap(({ next }, index) => (written[index] === true ? next : []));
  const states = made.map(({ state }) => state);
  // One log event per message, not per call, as platforms limit the log of an invocation.
  for (const state of new Set(states)) {
    const count = states.filter((one) => one === state).length;
    // EXPIRED is an alarm here, as the call's message was never handled.
    log("alarm", logEventOf(state), { request_id, reason, count });
  }
  await countSteps(
    made.map((row) => rowStep(row, at)),
    deps,
  );
}
