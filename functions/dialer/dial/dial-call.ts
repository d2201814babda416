import {
  claimAgeMsMax,
  applyClaim,
  type Decided,
  type Settlement,
} from "../../../shared/calls/transitions.ts";
import { expiryOf } from "../../../shared/dial-plan/dial-plan.ts";
import { accountOf } from "../../../shared/dial-plan/routes.ts";
import { errorForLog, type LogFields } from "../../../shared/lib/log.ts";
import type { DialOutcome } from "../../../shared/providers/provider.ts";
import { accountNameOf } from "../../../shared/calls/route.ts";
import { backlogOf } from "../../../shared/calls/call-row.ts";
import { mayProbe, listOpenBreakers } from "../../../shared/policy/breakers.ts";
import { recordOutcome } from "../breakers/record-outcome.ts";
import { recordAnswerTime } from "./answer-times.ts";
import { checkClaimed } from "./check-claim.ts";
import { wakeForRows } from "../record/wake-dispatcher.ts";
import { decideByHours, findExpiryReason } from "../../../shared/policy/decide.ts";
import type { Dial } from "../decide/decide-delivered.ts";
import {
  type Delivery,
  type Claim,
  type NotDialed,
  type Slot,
  type Refusal,
  type Result,
  waiting,
} from "./delivery.ts";
import { type Sent, sendInTime } from "./send-at-permit.ts";
import { pollAtOf } from "../record/poll-times.ts";
import {
  type OutcomeOf,
  sendOutcome,
  settlementOf,
  settleSurely,
  type Settling,
  unknownDueAt,
} from "../record/settle.ts";
import { logDecision, newCallOf } from "../record/write-decisions.ts";

/** Time reserved after a request for the settlement, its repetitions and the acknowledgement of the message. */
const afterRequestMs = 20_000;
/** Delay of the `outcome` after a claim of unknown fate, so that the claim's write has surely landed or failed. */
const givenUpSeconds = 60;

/**
 * Dials one call: takes a place, claims the call, checks it under the claim, sends one request and settles. A
 * call whose outcome is unknown is never sent again, except to a provider that deduplicates requests.
 */
export async function dialCall(dial: Dial, delivery: Delivery): Promise<Result> {
  const { deps, slots } = delivery;
  const { clock, settings } = deps;
  const account = accountNameOf(dial.route);
  // A row counts as due a few seconds ahead, and waits for its time without holding a place.
  await clock.sleep(dial.dialAt - clock.now());
  const now = clock.now();
  const expiresAt = expiryOf(dial.call, settings.plan);
  const release = await slots.acquire(account);
  if (release === undefined) {
    const dueAt = dial.row?.dueAt ?? now;
    return { kind: "not_dialed", decided: { state: "WAITING", reason: "no_capacity", dueAt } };
  }
  const slot: Slot = {
    disconnect: undefined,
    release() {
      slot.disconnect?.();
      release();
    },
  };
  delivery.writes.begin();
  try {
    if (delivery.ledger.isDown) return { kind: "retry" };
    const obstacle = obstacleTo(dial, expiresAt, delivery) ?? (await troubleBefore(dial, delivery));
    if (obstacle !== undefined) return { kind: "not_dialed", decided: obstacle };
    const claim = await claimCall(dial, delivery);
    if ("kind" in claim) return claim;
    return await underClaim(claim, slot, delivery);
  } finally {
    delivery.writes.end();
    slot.release();
  }
}

/** Returns why a call may not be claimed after all: it may have waited minutes for its place since the decision. */
function obstacleTo(
  { call, route, row }: Dial,
  expiresAt: number,
  { deps, deadline }: Delivery,
): NotDialed | undefined {
  const { clock, settings } = deps;
  const now = clock.now();
  if (now >= expiresAt) return { state: "EXPIRED", reason: findExpiryReason(row) };
  const { timeoutSeconds } = accountOf(route, settings.plan);
  if (now + claimAgeMsMax + timeoutSeconds * 1000 + afterRequestMs > deadline) {
    return { state: "WAITING", reason: "no_capacity", dueAt: row?.dueAt ?? now };
  }
  const closed = decideByHours(
    settings.schedule.opening(call.request, route, { from: now, until: expiresAt }),
    now,
  );
  return closed;
}

/** Checks for trouble that has come since the decision, to spare a useless claim. */
async function troubleBefore(
  { call, route, row, dialAt }: Dial,
  { deps, documents, stopped }: Delivery,
): Promise<NotDialed | undefined> {
  const of = { client: call.client, agentId: call.request.agent_id };
  const dueAt = row?.dueAt ?? dialAt;
  if (stopped.has(backlogOf(of))) return { state: "WAITING", reason: "turn", dueAt };
  const read = await documents(deps.clock.now()).catch(() => undefined); // unreadable documents are read again under the claim
  const open = read === undefined ? [] : listOpenBreakers(of, route, read);
  if (open.every((breaker) => mayProbe(breaker, of, dialAt))) return undefined;
  return { state: "WAITING", reason: "breaker_open", dueAt };
}

/** Claims a call. A claim whose answer was lost is read back: it may have been written. */
async function claimCall(dial: Dial, delivery: Delivery): Promise<Claim | Result> {
  const { deps, writes } = delivery;
  const { ledger, clock, random, settings, log } = deps;
  const { call, row, route } = dial;
  const { timeoutSeconds } = accountOf(route, settings.plan);
  const version = random.version();
  const at = Math.max(clock.now(), dial.dialAt); // a timer may fire a millisecond early
  const next = applyClaim(
    row,
    { route, timeoutSeconds, newCall: newCallOf(call, deps) },
    { version, at },
  );
  if (next === undefined) return { kind: "done" }; // the row is authoritative
  const claim: Claim = { dial, row: next, version };
  try {
    return (await writes.write({ next, seen: row?.version ?? null })) ? claim : { kind: "done" };
  } catch (error) {
    log("alarm", "ledger.unreachable", { call_id: call.id, error: errorForLog(error) });
  }
  try {
    const current = (await ledger.read([call.id])).rows.get(call.id);
    if (current?.version === version) return claim;
    if (current !== undefined && current.version !== row?.version) return { kind: "done" };
  } catch (error) {
    log("alarm", "ledger.unreachable", { call_id: call.id, error: errorForLog(error) });
    delivery.ledger.isDown = true;
  }
  // The claim is given up but may still land: the outcome then says that nothing was sent under it.
  const settlement = { id: call.id, claim: version, at: clock.now(), dueAt: clock.now() };
  const notSent = { ...settlement, state: "WAITING", reason: "claim_too_old" } as const;
  await sendOutcome(notSent, givenUpSeconds, deps);
  return { kind: "retry" };
}

/** Runs everything from the claim to the settlement. */
async function underClaim(claim: Claim, slot: Slot, delivery: Delivery): Promise<Result> {
  const { deps, caps } = delivery;
  const startedAt = deps.clock.now();
  const sent = await sendChecked(claim, slot, delivery, startedAt).catch((error: unknown) => {
    // The error came before the request: errors of the request itself are outcomes.
    deps.log("alarm", "ledger.unreachable", { call_id: claim.row.id, error: errorForLog(error) });
    return { refused: waiting("not_checked", claim), counted: true };
  });
  if ("refused" in sent) {
    slot.release();
    if (sent.counted) await caps.release(claim, claim.dial.route);
    return refuse(claim, sent.refused, delivery);
  }
  const isAnswered = wasAnswered(sent.outcome);
  // A delivery that meets silence or a refusal sends no more of that backlog.
  if (!isAnswered) delivery.stopped.add(backlogOf(claim.row));
  // The next call may be claimed while this one is settled, in the same round trip. After trouble the place is kept
  // until that is counted, as the breaker may open.
  else slot.release();
  const [result] = await Promise.all([
    settle(claim, sent, delivery, startedAt),
    isAnswered ? recordAnswerTime(claim, sent.answerMs, sent.read, deps) : undefined,
  ]);
  return result;
}

/** Checks a claimed call, and sends it when its permit allows. */
async function sendChecked(
  claim: Claim,
  slot: Slot,
  delivery: Delivery,
  startedAt: number,
): Promise<Refusal | Sent> {
  const checked = await checkClaimed(claim, delivery);
  if ("refused" in checked) return checked;
  return sendInTime(claim, checked.permit, slot, delivery, startedAt);
}

/** Settles a claim under which nothing was sent. */
async function refuse(claim: Claim, refused: Decided, delivery: Delivery): Promise<Result> {
  const { deps, writes } = delivery;
  const { row, version, dial } = claim;
  const { settings, clock, random } = deps;
  const at = clock.now();
  const settlement: Settlement = { id: row.id, claim: version, at, ...refused };
  // A resend stays UNKNOWN, and its next look-up or review is not delayed.
  if (row.resent) {
    const canLookUp = settings.providerOf(row.route ?? dial.route).lookUp !== undefined;
    const { reviewAfterSeconds } = settings.plan;
    settlement.state = "UNKNOWN";
    settlement.dueAt = unknownDueAt(row, { canLookUp, reviewAfterSeconds }, at, random.fraction());
  }
  const settling = await settleSurely(row, settlement, writes.write, deps);
  return resultOf(settling, dial, settlement, {}, delivery);
}

/** True if the answer is about this call: nothing in it speaks against sending the backlog's next one. */
function wasAnswered(outcome: DialOutcome): boolean {
  const { kind } = outcome;
  if (kind === "not_placed") return outcome.blamesNumber === true;
  return kind === "placed" || kind === "rejected" || kind === "forbidden";
}

/** Writes the provider's answer, then counts it for the breakers. */
async function settle(
  claim: Claim,
  { outcome, sentAt, read }: Sent,
  delivery: Delivery,
  startedAt: number,
): Promise<Result> {
  const { deps, writes, caps } = delivery;
  const { clock, random, settings, log } = deps;
  const { dial, row, version } = claim;
  const { plan, providerOf } = settings;
  const now = clock.now();
  const of: OutcomeOf = {
    row,
    claim: version,
    canLookUp: providerOf(row.route ?? dial.route).lookUp !== undefined,
    expiresAt: expiryOf(dial.call, plan),
    reviewAfterSeconds: plan.reviewAfterSeconds,
    pollAt: pollAtOf(row, now, deps),
  };
  const settlement = settlementOf(outcome, of, now, random.fraction());
  const settling = await settleSurely(row, settlement, writes.write, deps);
  const { client, agentId, numberHash } = row;
  const counted = { client, agentId, numberHash, route: dial.route, sentAt };
  // The answer to a resend may be about the first request, so only a success is counted.
  const says = row.resent && outcome.kind !== "placed" ? undefined : outcome;
  await Promise.all([
    outcome.kind === "placed" || outcome.kind === "unknown"
      ? undefined
      : caps.release(claim, dial.route),
    says && recordOutcome(says, { call: counted, read }, deps),
  ]).catch((error: unknown) => {
    log("warning", "breaker.update_failed", { call_id: row.id, error: errorForLog(error) });
  });
  const told = { provider: dial.route.provider, attempt: row.attempt, ms: now - startedAt };
  return resultOf(settling, dial, settlement, told, delivery);
}

/** Logs a settlement, and wakes a dispatcher for a row that waits again. */
async function resultOf(
  settling: Settling,
  { call }: Dial,
  { state, reason, dueAt }: Settlement,
  fields: LogFields,
  { deps }: Delivery,
): Promise<Result> {
  if (settling === "refused") {
    deps.log("warning", "call.settlement_refused", { call_id: call.id, state, reason });
    return { kind: "done" };
  }
  if (settling === "lost") return { kind: "retry" }; // the claim lapses, and the sweep has it looked up or reviewed
  const due = dueAt === undefined ? {} : { due_at: new Date(dueAt).toISOString() };
  logDecision(deps, call, state, { reason, ...fields, ...due });
  if (dueAt !== undefined && state === "WAITING") await wakeForRows([dueAt], deps);
  return { kind: "done", state };
}
