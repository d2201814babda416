import type { CallRow } from "../../../shared/calls/call-row.ts";
import { states } from "../../../shared/calls/states.ts";
import type { Decided } from "../../../shared/calls/transitions.ts";
import { expiryOf } from "../../../shared/dial-plan/dial-plan.ts";
import type { ControlDocuments } from "../../../shared/policy/restore.ts";
import { findCancellation, isOnDoNotCallList, isPaused } from "../../../shared/policy/controls.ts";
import { hashNumber } from "../../../shared/telephony/phone-number.ts";
import { type Delivery, type Claim, type Refusal, toWaiting } from "./delivery.ts";
import { decideOverCap } from "../../../shared/policy/decide.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { Permit } from "./permits.ts";

/**
 * Runs the checks that do not depend on each other side by side under the claim: the number's cap, the account's live
 * calls, orders and the do-not-call list, the redialed calls that this one replaces, and the permit.
 */
export async function checkClaim(
  claim: Claim,
  { deps, caps, live, documents, permits }: Delivery,
): Promise<Refusal | { permit: Permit }> {
  const { dial, row } = claim;
  const asked = permits.take(dial.route);
  const [count, isLive, read, byAncestors, permit] = await Promise.all([
    caps.count(claim, dial.route, asked),
    live.enter({ ...claim, route: row.route ?? dial.route }),
    documents(deps.clock.now()),
    checkAncestors(row, deps),
    asked,
  ]);
  const refused =
    byAncestors ??
    checkControls(claim, read, deps) ??
    (permit === undefined ? toWaiting("pace", claim) : undefined) ??
    (count.isCounted ? undefined : checkCap(claim, count.freeAt, deps)) ??
    (isLive ? undefined : toWaiting("live_calls", claim));
  if (permit !== undefined && refused === undefined) return { permit };
  return { refused: refused ?? toWaiting("pace", claim), counted: count.isCounted };
}

export function checkControls(
  claim: Claim,
  read: ControlDocuments,
  deps: DialerDeps,
): Decided | undefined {
  const { call, route } = claim.dial;
  if (read.isSuspended) return toWaiting("restored", claim);
  const cancelled = findCancellation(call, read);
  if (cancelled !== undefined) return { state: "CANCELLED", reason: cancelled };
  // The row's own hash may be of a HASH_KEY from before a rotation.
  const { hashKey } = deps.settings;
  const { numberHash } = hashNumber(call.request.phone_number, hashKey);
  if (isOnDoNotCallList(numberHash, read, hashKey)) {
    return { state: "REJECTED", reason: "do_not_call" };
  }
  return isPaused(call.request.agent_id, route, read) ? toWaiting("paused", claim) : undefined;
}

function checkCap(
  claim: Claim,
  freeAt: number | undefined,
  { clock, settings }: DialerDeps,
): Decided {
  const { call, row } = claim.dial;
  if (freeAt === undefined) return toWaiting("max_calls", claim);
  const expiresAt = expiryOf(call, settings.plan);
  return decideOverCap(freeAt, { now: clock.now(), expiresAt, reason: row?.reason });
}

/**
 * Refuses a redial if a call that it replaces has since been placed or may have been. Purged calls count for
 * nothing.
 */
async function checkAncestors(
  { id, ancestors }: CallRow,
  { ledger, log }: DialerDeps,
): Promise<Decided | undefined> {
  if (ancestors.length === 0) return undefined;
  const { rows, unreadable } = await ledger.read(ancestors);
  const ancestorFacts = [...rows.values()].map(({ state }) => states[state]);
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
