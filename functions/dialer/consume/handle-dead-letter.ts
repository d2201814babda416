import type { Call } from "#shared/calls/call-request.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { states } from "#shared/calls/states.ts";
import { applyDecision } from "#shared/calls/transitions.ts";
import { readClientReceivers } from "#shared/events/outbox-ledger.ts";
import { errorForLog } from "#shared/lib/log.ts";
import { judgeFirstRow } from "#shared/rules/first-row.ts";
import { ends, halts, trusted } from "#shared/rules/gates.ts";
import { findVerdict, toDecided } from "#shared/rules/rule.ts";
import { rowStep } from "#shared/policy/usage.ts";
import type { Delivered } from "#shared/ports/queue.ts";
import { toCalls, type Message, messageSchema } from "#shared/ports/call-messages.ts";
import { toDecisionFacts } from "../decide/decide-delivered.ts";
import { readControlDocuments } from "../decide/control-documents.ts";
import { oldestAccepted } from "../dial/dial-calls.ts";
import type { DecisionDeps, DialerDeps, RowDeps } from "../runtime/context.ts";
import { clientReceiverDepsOf } from "../events/client-receivers.ts";
import { chooseArms } from "./choose-arms.ts";
import { openMessage } from "./open-message.ts";
import { settleOutcome } from "../record/settle.ts";
import { countSteps, logEventOf, toNewCall } from "../record/write-decisions.ts";

/** Maximum rows per write. */
const rowsPerWrite = 500;
/** Result of handling a dead letter. `failed`: it may be handled later. */
export type Handled = "done" | "unreadable" | "failed";

/**
 * Handles a message that failed a hundred times. Dials nothing: a late outcome is settled, a hint is dropped, and a call
 * without a row is written NEEDS_REVIEW, unless its controls end it: it was cancelled, its number was erased or must not be
 * called, or its time is over. Never throws.
 */
export async function handleDeadLetter(
  delivered: Delivered,
  deps: RowDeps & DecisionDeps,
): Promise<Handled> {
  const { log } = deps;
  const { attempt } = delivered;
  const message = await openMessage(delivered, messageSchema, deps);
  if (message === undefined) return "unreadable";
  log("alarm", "message.dead_lettered", { message_kind: message.kind, attempt });
  try {
    return await settleDeadLetter(message, deps);
  } catch (error) {
    log("alarm", "ledger.unreachable", { error: errorForLog(error) });
    return "failed";
  }
}

async function settleDeadLetter(message: Message, deps: RowDeps & DecisionDeps): Promise<Handled> {
  if (message.kind === "dispatch") return "done"; // a hint: its rows are dispatched again
  if (message.kind === "outcome") {
    await settleOutcome(message.settlement, deps);
    return "done";
  }
  const calls = toCalls(await chooseArms(message, deps));
  for (let start = 0; start < calls.length; start += rowsPerWrite) {
    const handled = await writeDead(calls.slice(start, start + rowsPerWrite), deps);
    if (handled !== "done") return handled;
  }
  return "done";
}

/** Writes the rows of calls that have none. Until a restore is done, cancellations may be missing: then nothing is written. */
async function writeDead(calls: readonly Call[], deps: RowDeps & DecisionDeps): Promise<Handled> {
  const { ledger, clock, random, log } = deps;
  const at = clock.now();
  const request_id = calls[0]?.requestId ?? "";
  const recent = calls.filter(({ acceptedAt }) => acceptedAt >= oldestAccepted(at, deps));
  if (recent.length < calls.length) {
    // The row may have been purged, and must not be created again.
    log("alarm", "call.too_old", { request_id, count: calls.length - recent.length });
  }
  const documents = await readControlDocuments(recent, { numbers: true }, deps);
  if (halts.some((stop) => stop(documents))) return "failed";
  await readClientReceivers(recent, clientReceiverDepsOf(deps)); // rows keep what these repeat of the context
  const known = toDecisionFacts(documents, deps);
  const changes = recent.flatMap((call) => {
    const resolved = known.resolver.resolve(call, undefined);
    const facts = { ...known, at };
    const verdict = findVerdict(trusted, resolved, facts) ?? judgeFirstRow(resolved, ends, facts);
    const decision = toDecided(verdict, at);
    const write = { version: random.version(), at };
    const next = applyDecision(undefined, { newCall: toNewCall(call, deps), decision }, write);
    // An existing row is left to the sweeps.
    return next === undefined ? [] : [{ next, seen: null }];
  });
  const written = await ledger.write(changes);
  const made = changes.flatMap(({ next }, index) => (written[index] === true ? next : []));
  logMade(made, request_id, deps);
  await countSteps(
    made.map((row) => rowStep(row, at)),
    deps,
  );
  return "done";
}

/** Logs one event for each end, not for each call, as platforms limit the log of an invocation. */
function logMade(
  made: readonly CallRow[],
  request_id: string,
  { log }: Pick<DialerDeps, "log">,
): void {
  const byEnd = Map.groupBy(made, ({ state, reason }) => `${state} ${reason}`);
  for (const ended of byEnd.values()) {
    const [first] = ended;
    if (first === undefined) continue;
    const { state, reason } = first;
    // A warning is an alarm here, as the call's message was never handled.
    const { logLevel } = states[state];
    log(logLevel === "warning" ? "alarm" : logLevel, logEventOf(state), {
      request_id,
      reason,
      count: ended.length,
    });
  }
}
