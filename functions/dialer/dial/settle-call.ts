import type { Settlement } from "../../../shared/calls/transitions.ts";
import type { LogFields } from "../../../shared/lib/log.ts";
import { countryOf } from "../../../shared/telephony/phone-number.ts";
import { isRefusedProbe } from "../breakers/refused-probe.ts";
import { recordOutcome } from "../breakers/record-outcome.ts";
import { leaveDay } from "../record/account-days.ts";
import { leaveLive } from "../record/live-calls.ts";
import { settleSurely, type Settling } from "../record/settle.ts";
import { toSettlement, unknownDueAt } from "../record/to-settlement.ts";
import { wakeForRows } from "../record/wake-dispatcher.ts";
import { logDecision } from "../record/write-decisions.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { Claim, Delivery, Refusal, Result } from "./delivery.ts";
import type { Sent } from "./send-request.ts";
import { failAfterRequest } from "./stage-errors.ts";

/** Settles a claim under which nothing was sent. */
export async function settleUnsent(
  claim: Claim,
  { refused, counted }: Refusal,
  delivery: Delivery,
): Promise<Result> {
  const { deps, writes, caps } = delivery;
  const { row, version, dial } = claim;
  await Promise.all([
    counted ? caps.release(claim, dial.target.route) : undefined,
    leaveUnplaced(claim, deps),
  ]);
  const at = deps.clock.now();
  const settlement: Settlement = { id: row.id, claim: version, at, ...refused };
  // A resend stays UNKNOWN, without delaying its next look-up or review.
  if (row.resent) {
    settlement.state = "UNKNOWN";
    const fraction = deps.random.fraction();
    settlement.dueAt = unknownDueAt(row, { now: at, fraction }, deps);
  }
  const settling = await settleSurely(settlement, { row, write: writes.write }, deps);
  return report(settlement, { claim, settling, fields: {} }, delivery);
}

/** Writes the provider's answer, then applies it to the number's cap, the live calls and the breakers. */
export async function settleSent(claim: Claim, sent: Sent, delivery: Delivery): Promise<Result> {
  const { deps, writes } = delivery;
  const { dial, row, version, startedAt } = claim;
  // A refused probe says nothing of its call, which goes behind the others.
  const isPutBack = isRefusedProbe(sent.outcome, row, sent.read);
  const known = { call: dial.call, row, claim: version, isPutBack };
  const settlement = toSettlement(sent.outcome, known, deps);
  const settling = await settleSurely(settlement, { row, write: writes.write }, deps);
  await count(claim, sent, delivery).catch((error: unknown) =>
    failAfterRequest(error, claim, deps),
  );
  const ms = settlement.at - startedAt;
  const fields = { provider: dial.target.route.provider, attempt: row.attempt, ms };
  return report(settlement, { claim, settling, fields }, delivery);
}

async function count(claim: Claim, sent: Sent, { deps, caps }: Delivery): Promise<void> {
  const { outcome, sentAt, read } = sent;
  const { row, dial } = claim;
  const { client, agentId, numberHash } = row;
  const mayRing = outcome.kind === "placed" || outcome.kind === "unknown";
  // The answer to a resend may concern the first request, so breakers count only a success.
  const isCounted = !row.resent || outcome.kind === "placed";
  const country = countryOf(dial.call.request.phone_number);
  const call = { client, agentId, numberHash, country, route: dial.target.route, sentAt };
  await Promise.all([
    mayRing ? undefined : caps.release(claim, dial.target.route),
    mayRing ? undefined : leaveUnplaced(claim, deps),
    isCounted ? recordOutcome(outcome, { call, read }, deps) : undefined,
  ]);
}

/**
 * Removes a call that was not placed from the live calls and from its account's day. A resend stays, as its first request
 * may have placed it.
 */
async function leaveUnplaced(claim: Claim, deps: DialerDeps): Promise<void> {
  const { row, version, dial } = claim;
  const { target } = dial;
  if (row.resent) return;
  if (claim.isInDay === true) await leaveDay({ row, target }, deps);
  await leaveLive([{ id: row.id, claim: version, route: target.route, isMeasured: false }], deps);
}

/** Logs a settlement, and wakes a dispatcher if the row waits again. */
async function report(
  { state, reason, dueAt }: Settlement,
  {
    claim,
    settling,
    fields,
  }: { claim: Claim; settling: Settling; fields: Omit<LogFields, "state"> },
  { deps }: Delivery,
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
