import { errorForLog } from "#shared/lib/log.ts";
import { type CallsMessage, toCalls } from "#shared/ports/call-messages.ts";
import type { Call } from "#shared/calls/call-request.ts";
import { decide, type Decision, toDecisionFacts } from "../decide/decide-delivered.ts";
import { readControlDocuments } from "../decide/control-documents.ts";
import { mergeControlDocuments } from "../runtime/epoch.ts";
import { inTurn, numberNeeds } from "#shared/rules/gates.ts";
import { toDecided } from "#shared/rules/rule.ts";
import { oldestAccepted } from "../dial/dial-calls.ts";
import { secondsWithoutLane, takeSplitLane } from "./split-lanes.ts";
import type { DecisionDeps, DialerDeps, RowDeps } from "../runtime/context.ts";
import { rowsPerWrite, type ToWrite, writeDecided } from "../record/write-decisions.ts";

/**
 * Splits a request of more than 25 calls into rows. Calls that may go are WAITING and due now. Splitting twice is
 * harmless, as ids are fixed and existing rows are not overwritten. The message's next delivery continues a split
 * that ran out of time.
 *
 * @param deadline end of the invocation, in milliseconds since the epoch
 * @returns false if it failed; the time after which a message is to come again for which there is no lane
 */
export async function splitRequest(
  message: CallsMessage,
  { attempt, deadline }: { attempt: number; deadline: number },
  deps: RowDeps & DecisionDeps & Pick<DialerDeps, "rowsPerSecond" | "wakeDispatcher" | "consumers">,
): Promise<boolean | { retryAfterSeconds: number }> {
  const { log, clock, rowsPerSecond = Infinity } = deps;
  const request_id = message.requestId;
  try {
    const calls = toCalls(message);
    if (message.acceptedAt < oldestAccepted(clock.now(), deps)) {
      // The rows may have been purged, so the message may be a duplicate.
      log("alarm", "call.too_old", { request_id, count: calls.length });
      return true;
    }
    const [isDone, decideOne] = await Promise.all([
      attempt === 1 && isSplit(calls, deps),
      createDecider(calls, deps),
    ]);
    if (isDone) return true;
    const isQuick = calls.length <= rowsPerSecond;
    await using lane = isQuick ? undefined : await takeSplitLane(message.client, deps);
    if (!isQuick && lane === undefined) return { retryAfterSeconds: secondsWithoutLane(attempt) };
    const written = attempt === 1 ? new Set<string>() : await findWritten(calls, deps);
    const writes = calls.flatMap((call): ToWrite[] => {
      if (written.has(call.id)) return [];
      const decision = decideOne(call);
      const waits = toDecided(inTurn, clock.now());
      const decided = decision.kind === "write" ? decision.decided : waits;
      return [{ call, row: undefined, decided }];
    });
    await writeDecided(writes, deps, deadline);
    log("info", "request.split", { request_id, client: message.client, count: calls.length });
    return true;
  } catch (error) {
    log("alarm", "ledger.unreachable", { request_id, error: errorForLog(error) });
  }
  return false;
}

/**
 * Reads what decides about a request's calls. Their numbers' documents are read only where they may end a call at once: other
 * calls wait, and are decided again before they are dialed.
 */
async function createDecider(
  calls: readonly Call[],
  deps: DecisionDeps,
): Promise<(call: Call) => Decision> {
  let documents = await readControlDocuments(calls, { numbers: false }, deps);
  const first = documents;
  const needing = calls.filter((call) => numberNeeds.some((needs) => needs({ call }, first)));
  for (let start = 0; start < needing.length; start += idsPerRead) {
    const some = needing.slice(start, start + idsPerRead);
    const read = await readControlDocuments(some, { numbers: true }, deps);
    documents = mergeControlDocuments(documents, read);
  }
  const known = toDecisionFacts(documents, deps);
  return (call) => decide(call, undefined, known);
}

/** Maximum ids per read. */
const idsPerRead = 500;

/**
 * True if an earlier message has split the request, as a repeat under its Idempotency-Key is enqueued again. Rows are written in
 * order, so that the last ones show it.
 */
async function isSplit(calls: readonly Call[], deps: Pick<DialerDeps, "ledger">): Promise<boolean> {
  if ((await findWritten(calls.slice(-1), deps)).size === 0) return false;
  const last = calls.slice(-rowsPerWrite);
  return (await findWritten(last, deps)).size === last.length;
}

/** Returns the ids of calls that have rows from an earlier delivery. */
async function findWritten(
  calls: readonly Call[],
  { ledger }: Pick<DialerDeps, "ledger">,
): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let start = 0; start < calls.length; start += idsPerRead) {
    const some = calls.slice(start, start + idsPerRead).map(({ id }) => id);
    const read = await ledger.read(some);
    for (const id of some) if (read.get(id) !== undefined) ids.add(id);
  }
  return ids;
}
