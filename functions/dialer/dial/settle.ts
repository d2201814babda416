import { toDecided } from "#shared/rules/rule.ts";
import { recordAnswerTime } from "../record/answer-times.ts";
import { errorForLog, type LogFields } from "#shared/lib/log.ts";
import type { Held, Claim, DialBatch, Refusal, Result } from "./dial-batch.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";
import type { Settlement } from "#shared/calls/transitions.ts";
import { countryOf } from "#shared/telephony/phone-number.ts";
import { isRefusedProbe } from "../breakers/refused-probe.ts";
import { recordOutcome } from "../breakers/record-outcome.ts";
import { settleSurely, type Settling } from "../record/settle.ts";
import { toSettlement, unknownDueAt } from "../record/to-settlement.ts";
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
  // The next call can be claimed while this one is settled, in the same round trip.
  if (isAboutCall(sent.outcome)) {
    slots.release();
    const { dial } = claim;
    const { answerMs, read } = sent;
    const times = { answerMs, checkedMs: dial.permission?.ms ?? 0, read };
    const settling = settleSent(held, sent, batch);
    const [result] = await Promise.all([settling, recordAnswerTime(dial, times, batch.deps)]);
    return result;
  }
  // After an unanswered or refused request, the delivery sends no more calls of the backlog. The slots are not
  // released until the breaker has counted the request, because the breaker may open.
  batch.stopped.add(claim.dial.backlog);
  return settleSent(held, sent, batch);
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
  const { claim } = held;
  const { dial, row, version, startedAt } = claim;
  // A refused probe says nothing of its call, which goes behind the others.
  const isPutBack = isRefusedProbe(sent.outcome, row, sent.read);
  const { expiresAt } = dial;
  const known = { row, claim: version, expiresAt, isPutBack };
  const settlement = toSettlement(sent.outcome, known, deps);
  const settling = await settleSurely(settlement, { row, write: writes.write }, deps);
  await count(held, sent, batch).catch((error: unknown) => {
    // The outcome is written or queued, and only counts of it are lost.
    deps.log("warning", "breaker.update_failed", { call_id: row.id, error: errorForLog(error) });
  });
  const ms = settlement.at - startedAt;
  const fields = { account: dial.target.route.account, attempt: row.attempt, ms };
  return report(settlement, { claim, settling, fields }, batch);
}

async function count({ claim, taken }: Held, sent: Sent, { deps }: DialBatch): Promise<void> {
  const { outcome, sentAt, read } = sent;
  const { row, dial } = claim;
  const { client, agentId, numberHash } = row;
  const mayRing = outcome.kind === "placed" || outcome.kind === "unknown";
  // The answer to a resend may concern the first request, so breakers count only a success.
  const isCounted = !row.resent || outcome.kind === "placed";
  const country = countryOf(dial.call.request.phone_number);
  const { route, account } = dial.target;
  const call = { client, agentId, numberHash, country, route, account: account.name, sentAt };
  await Promise.all([
    mayRing ? undefined : taken.give(),
    isCounted ? recordOutcome(outcome, { call, read }, deps) : undefined,
  ]);
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
