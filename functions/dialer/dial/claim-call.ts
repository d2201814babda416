import type { CallRow } from "../../../shared/calls/call-row.ts";
import { applyClaim, claimAgeMsMax, type Decided } from "../../../shared/calls/transitions.ts";
import { errorForLog } from "../../../shared/lib/log.ts";
import { mayProbe, listOpenBreakers } from "../../../shared/policy/breakers.ts";
import { decideByHours, findExpiryReason, decideOverCap } from "../../../shared/rules/decide.ts";
import type { Dial } from "../decide/decide-delivered.ts";
import { enterDay } from "../record/account-days.ts";
import { sendOutcome } from "../record/settle.ts";
import { toNewCall } from "../record/write-decisions.ts";
import {
  type Claim,
  type Delivery,
  type NotDialed,
  type Result,
  type Refusal,
  toWaiting,
  type Permit,
} from "./delivery.ts";
import { states } from "../../../shared/calls/states.ts";
import { hasMadeWay } from "../../../shared/calls/chain.ts";
import {
  type ControlDocuments,
  findCancellation,
  findErasure,
  isPaused,
  isOnDoNotCallList,
} from "../../../shared/policy/controls.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** Time reserved after a request for the settlement, its retries, and the acknowledgement of the message. */
const afterRequestMs = 20_000;
/**
 * Delay of the `outcome` after a claim whose write may or may not have succeeded. By then it has surely done one or
 * the other.
 */
const givenUpSeconds = 60;

/** Returns why a call may not be dialed after all, which saves a useless claim. */
export async function findObstacle(dial: Dial, delivery: Delivery): Promise<NotDialed | undefined> {
  return checkTime(dial, delivery) ?? (await checkBreakers(dial, delivery));
}

/** Checks the call's expiry, the end of the invocation and the callee's hours. */
function checkTime(
  { call, target, row, permission, expiresAt }: Dial,
  { deps: { clock, settings }, deadline }: Delivery,
): NotDialed | undefined {
  const now = clock.now();
  if (now >= expiresAt) return { state: "EXPIRED", reason: findExpiryReason(row) };
  // Its checks are asked again with its next dispatch.
  if (permission !== undefined && now > permission.validUntil)
    return { state: "WAITING", reason: "turn", dueAt: row?.dueAt ?? now };
  const { timeoutSeconds } = target.account;
  if (now + claimAgeMsMax + timeoutSeconds * 1000 + afterRequestMs > deadline) {
    return { state: "WAITING", reason: "no_capacity", dueAt: row?.dueAt ?? now };
  }
  return decideByHours(
    settings.schedule.opening(call.request, target.route, { from: now, until: expiresAt }),
    now,
  );
}

async function checkBreakers(
  { of, target, row, backlog, dialAt }: Dial,
  { deps, documents, stopped }: Delivery,
): Promise<NotDialed | undefined> {
  const dueAt = row?.dueAt ?? dialAt;
  if (stopped.has(backlog)) return { state: "WAITING", reason: "turn", dueAt };
  const read = await documents(deps.clock.now()).catch(() => undefined); // controls are read again under the claim
  const open = read === undefined ? [] : listOpenBreakers(target.breakers, read);
  if (open.every((breaker) => mayProbe(breaker, of, dialAt))) return undefined;
  return { state: "WAITING", reason: "breaker_open", dueAt };
}

/** Claims a call. If the write's answer is lost, the row is read, as the claim may have been written. */
export async function claimCall(dial: Dial, delivery: Delivery): Promise<Claim | Result> {
  const { deps, writes } = delivery;
  const { ledger, clock, random, log } = deps;
  const { call, row, target } = dial;
  const { route, account } = target;
  const { timeoutSeconds } = account;
  const version = random.version();
  const at = Math.max(clock.now(), dial.dialAt); // a timer may fire a millisecond early
  const { checks } = dial.permission ?? {};
  const of = { newCall: toNewCall(call, deps), route, timeoutSeconds, checks };
  const next = applyClaim(row, of, { version, at });
  if (next === undefined) return { kind: "done" }; // the row is authoritative
  const toClaim = (): Claim => ({ dial, row: next, version, startedAt: clock.now() });
  try {
    const isClaimed = await writes.write({ next, seen: row?.version ?? null });
    return isClaimed ? toClaim() : { kind: "done" };
  } catch (error) {
    log("alarm", "ledger.unreachable", { call_id: call.id, error: errorForLog(error) });
  }
  try {
    const current = (await ledger.read([call.id])).rows.get(call.id);
    if (current?.version === version) return toClaim();
    if (current !== undefined && current.version !== row?.version) return { kind: "done" };
  } catch (error) {
    log("alarm", "ledger.unreachable", { call_id: call.id, error: errorForLog(error) });
    delivery.ledger.isDown = true;
  }
  // The claim is given up, but its write may still succeed. The `outcome` then settles it as not sent.
  const settlement = { id: call.id, claim: version, at: clock.now(), dueAt: clock.now() };
  const notSent = { ...settlement, state: "WAITING", reason: "claim_too_old" } as const;
  await sendOutcome(notSent, givenUpSeconds, deps);
  return { kind: "retry" };
}

/**
 * Runs independent checks under the claim, side by side: the number's cap, the account's live calls and its day, the
 * calls that this redial replaces, and the permit. Controls are checked at the permit's time, before the request.
 */
export async function checkClaim(
  claim: Claim,
  { deps, caps, live, permits }: Delivery,
): Promise<Refusal | { permit: Permit }> {
  const { dial, row } = claim;
  const { target } = dial;
  const asked = permits.take(target.account);
  const [count, isLive, byAncestors, isInDay, permit] = await Promise.all([
    caps.count(claim, target.route, asked),
    live.enter({ ...claim, target }),
    checkAncestors(row, deps),
    enterAccountDay(claim, deps),
    asked,
  ]);
  const refused =
    byAncestors ??
    (permit === undefined ? toWaiting("pace", claim) : undefined) ??
    (count.isCounted ? undefined : checkCap(claim, count.freeAt, deps)) ??
    (isInDay ? undefined : toWaiting("calls_per_day", claim)) ??
    (isLive ? undefined : toWaiting("live_calls", claim));
  if (permit !== undefined && refused === undefined) return { permit };
  return { refused: refused ?? toWaiting("pace", claim), counted: count.isCounted };
}

/** Counts the call towards its account's day, if the plan limits that. Returns false if the day is full. */
async function enterAccountDay(claim: Claim, deps: DialerDeps): Promise<boolean> {
  const { row, dial } = claim;
  const { callsPerDay } = dial.target.account;
  if (callsPerDay === undefined || row.resent) return true;
  claim.isInDay = await enterDay({ row, target: dial.target }, callsPerDay, deps);
  return claim.isInDay;
}

export function checkControls(
  claim: Claim,
  read: ControlDocuments,
  deps: DialerDeps,
): Decided | undefined {
  const { call, target, hashes } = claim.dial;
  if (read.isSuspended) return toWaiting("restored", claim);
  // The row's own hash may be of a HASH_KEY from before a rotation.
  const erasedAt = hashes && findErasure(call, hashes.own, read);
  if (erasedAt !== undefined) return { state: "CANCELLED", reason: "erased", erasedAt };
  const cancelled = findCancellation(call, read);
  if (cancelled !== undefined) return { state: "CANCELLED", reason: cancelled };
  const { hashKeys } = deps.settings;
  if (
    hashes !== undefined &&
    isOnDoNotCallList({ hashes: hashes.asked, client: call.client }, read, hashKeys)
  ) {
    return { state: "REJECTED", reason: "do_not_call" };
  }
  return isPaused(target.pauses, read) ? toWaiting("paused", claim) : undefined;
}

function checkCap(claim: Claim, freeAt: number | undefined, { clock }: DialerDeps): Decided {
  const { row, expiresAt } = claim.dial;
  if (freeAt === undefined) return toWaiting("max_calls", claim);
  return decideOverCap(freeAt, { now: clock.now(), expiresAt, reason: row?.reason });
}

/** Refuses a redial if a call that it replaces has been placed since, or may have been. Purged calls are ignored. */
async function checkAncestors(
  { id, ancestors }: CallRow,
  { ledger, log }: DialerDeps,
): Promise<Decided | undefined> {
  if (ancestors.length === 0) return undefined;
  const { rows, unreadable } = await ledger.read(ancestors);
  // A try follows calls that have ended so that their agent's `retry` has another one made.
  const inTheWay = [...rows.values()].filter((row) => row.next === undefined || !hasMadeWay(row));
  const ancestorFacts = inTheWay.map(({ state }) => states[state]);
  if (ancestorFacts.some(({ placed }) => placed === "yes")) {
    log("alarm", "call.placed_before", { call_id: id });
    return { state: "CANCELLED", reason: "placed_before" };
  }
  const isUnderWay = ancestorFacts.some(({ open, placed }) => open && placed !== "no");
  if (unreadable.size > 0 || isUnderWay) {
    return { state: "NEEDS_REVIEW", reason: "ancestor_unknown" };
  }
  return undefined;
}
