import type { CallRow } from "../../../shared/calls/call-row.ts";
import { applyClaim, type Decided } from "../../../shared/calls/transitions.ts";
import { errorForLog } from "../../../shared/lib/log.ts";
import { judgeFull } from "../../../shared/rules/cap.ts";
import {
  beforeClaim,
  beforeClaimByDocuments,
  beforeClaimInDelivery,
  type permitTime,
} from "../../../shared/rules/gates.ts";
import { type Facts, findVerdict, type Judge, type Verdict } from "../../../shared/rules/rule.ts";
import type { Dial } from "../decide/decide-delivered.ts";
import { enterDay } from "../record/account-days.ts";
import { sendOutcome } from "../record/settle.ts";
import { toNewCall } from "../record/write-decisions.ts";
import {
  type Claim,
  type Delivery,
  type Result,
  type Refusal,
  settleBy,
  toWaiting,
  type Permit,
} from "./delivery.ts";
import { states } from "../../../shared/calls/states.ts";
import { hasMadeWay } from "../../../shared/calls/chain.ts";
import type { ControlDocuments } from "../../../shared/policy/controls.ts";
import type { DialerDeps } from "../runtime/context.ts";

/**
 * Delay of the `outcome` after a claim whose write may or may not have succeeded. By then it has surely done one or
 * the other.
 */
const givenUpSeconds = 60;

/** Returns why a call may not be dialed after all, which saves a useless claim. */
export async function findObstacle(dial: Dial, delivery: Delivery): Promise<Verdict | undefined> {
  const { deps, stopped, deadline, documents } = delivery;
  const { clock, settings } = deps;
  const { schedule } = settings;
  const now = clock.now();
  const { permission } = dial;
  const byClock = { now, at: now, schedule, permission, stopped, deadline };
  const late = judgeUnclaimed(beforeClaim, dial, byClock);
  if (late !== undefined) return late;
  const { dialAt: at } = dial;
  const stop = judgeUnclaimed(beforeClaimInDelivery, dial, { ...byClock, at });
  if (stop !== undefined) return stop;
  const read = await documents(clock.now()).catch(() => undefined); // controls are read again under the claim
  return read && judgeUnclaimed(beforeClaimByDocuments, dial, { at, documents: read });
}

/** Asks judges about a call before its claim. A fresh call that keeps its place is due at the time that was judged. */
function judgeUnclaimed<Asked extends Pick<Facts, "at">>(
  judges: readonly Judge<Asked>[],
  dial: Dial,
  facts: Asked,
): Verdict | undefined {
  const verdict = findVerdict(judges, dial, facts);
  return verdict?.kind === "hold" ? { firstDueAt: facts.at, ...verdict } : verdict;
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

/** Asks judges whether a claimed call may go by these documents. */
export function judgeOrders(
  claim: Claim,
  { read, judges }: { read: ControlDocuments; judges: typeof permitTime },
  { deps: { clock, settings }, stopped }: Pick<Delivery, "deps" | "stopped">,
): Decided | undefined {
  const { isSuspended } = read;
  const { hashKeys } = settings;
  const facts = { at: clock.now(), documents: read, isSuspended, hashKeys, stopped };
  const verdict = findVerdict(judges, claim.dial, facts);
  return verdict && settleBy(verdict, claim);
}

function checkCap(claim: Claim, freeAt: number | undefined, { clock }: DialerDeps): Decided {
  if (freeAt === undefined) return toWaiting("max_calls", claim);
  return settleBy(judgeFull(claim.dial, { freeAt, now: clock.now() }), claim);
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
