import { toDecided } from "#shared/rules/rule.ts";
import { recordAnswerTime } from "../record/answer-times.ts";
import type { LogFields } from "#shared/lib/log.ts";
import type { Held } from "./check.ts";
import type { Claim, DialBatch, Refusal, Result } from "./dial-batch.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";
import type { Settlement } from "#shared/calls/transitions.ts";
import { applyAnswer, toSettlement } from "../record/provider-answer.ts";
import { settleSurely, type Settling } from "../record/settle.ts";
import { unknownDueAt } from "../record/due-times.ts";
import { wakeForRows } from "../record/wake-dispatcher.ts";
import { logDecision } from "../record/write-decisions.ts";
import type { Sent } from "./send.ts";

/**
 * Settles a call, by its request's outcome or by why none was sent. Releases its slots as soon as another call may
 * go.
 */
export async function settleCall(
  held: Held,
  sent: Refusal | Sent,
  batch: DialBatch,
): Promise<Result> {
  const { claim, slots } = held;
  if ("refused" in sent) {
    slots.release();
    return settleUnsent(held, sent, batch);
  }
  const { dial } = claim;
  if (!isAboutCall(sent.outcome)) {
    // After an unanswered or refused request, the delivery sends no more calls of the backlog. The slots are not
    // released until the breaker has counted the request, because the breaker may open.
    batch.stopped.add(dial.backlog);
    return settleSent(held, sent, batch);
  }
  // The next call can be claimed while this one is settled, in the same round trip.
  slots.release();
  const times = { ...sent, checkedMs: dial.permission?.ms ?? 0 };
  const settling = settleSent(held, sent, batch);
  const [result] = await Promise.all([settling, recordAnswerTime(dial, times, batch.deps)]);
  return result;
}

/** True if the answer concerns only this call, so that the backlog's next call may go. */
function isAboutCall(outcome: DialOutcome): boolean {
  const { kind } = outcome;
  if (kind === "not_placed") return outcome.blamesNumber === true;
  return kind === "placed" || kind === "rejected" || kind === "forbidden";
}

/** Settles a claim under which nothing was sent. */
async function settleUnsent(
  { claim, taken }: Held,
  { refused }: Refusal,
  batch: DialBatch,
): Promise<Result> {
  const { deps, writes } = batch;
  const { dial, row, version } = claim;
  await taken.give();
  // A call that keeps its place keeps its earlier due time.
  const decided = toDecided(refused, dial.row?.dueAt ?? row.claimedAt ?? dial.dialAt);
  const at = deps.clock.now();
  const settlement: Settlement = { id: row.id, claim: version, at, ...decided };
  // A resend stays UNKNOWN, without delaying its next look-up or review.
  if (row.resent) {
    settlement.state = "UNKNOWN";
    const fraction = deps.random.fraction();
    settlement.dueAt = unknownDueAt(row, { now: at, fraction }, deps);
  }
  const settling = await settleSurely(settlement, { row, write: writes.write }, deps);
  return report(settlement, { claim, settling, fields: {} }, batch);
}

/** Writes the provider's answer, then applies it to the number's cap, the live calls and the breakers. */
async function settleSent(held: Held, sent: Sent, batch: DialBatch): Promise<Result> {
  const { deps, writes } = batch;
  const { claim, taken } = held;
  const { dial, row, version, startedAt } = claim;
  const { call, target, expiresAt } = dial;
  const answer = { ...sent, row, call, target };
  const settlement = toSettlement(answer, { claim: version, expiresAt }, deps);
  const settling = await settleSurely(settlement, { row, write: writes.write }, deps);
  const mayRing = sent.outcome.kind === "placed" || sent.outcome.kind === "unknown";
  await Promise.all([mayRing ? undefined : taken.give(), applyAnswer(answer, deps)]);
  const ms = settlement.at - startedAt;
  const fields = { account: target.route.account, attempt: row.attempt, ms };
  return report(settlement, { claim, settling, fields }, batch);
}

/** Logs a settlement, and wakes a dispatcher if the row waits again. */
async function report(
  { state, reason, dueAt }: Settlement,
  {
    claim,
    settling,
    fields,
  }: { claim: Claim; settling: Settling; fields: Omit<LogFields, "state"> },
  { deps }: DialBatch,
): Promise<Result> {
  const { call } = claim.dial;
  if (settling === "refused") {
    deps.log("warning", "call.settlement_refused", { call_id: call.id, state, reason });
    return { kind: "done" };
  }
  if (settling === "lost") return { kind: "retry" }; // the claim lapses, and a sweep has the call looked up or reviewed
  const due = dueAt === undefined ? {} : { due_at: new Date(dueAt).toISOString() };
  logDecision(call, { state, reason, ...fields, ...due }, deps);
  if (dueAt !== undefined && state === "WAITING") await wakeForRows([dueAt], deps);
  return { kind: "done", state };
}
