import { claimAgeMsMax, type Decided } from "../../../shared/calls/transitions.ts";
import { expiryOf } from "../../../shared/dial-plan/dial-plan.ts";
import { accountOf } from "../../../shared/dial-plan/routes.ts";
import type { ControlDocuments } from "../../../shared/policy/restore.ts";
import { errorForLog } from "../../../shared/lib/log.ts";
import { type Send, Withheld } from "../../../shared/lib/http-client.ts";
import { decideByHours } from "../../../shared/policy/decide.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { checkControls } from "./check-claim.ts";
import { type Delivery, type Claim, toWaiting } from "./delivery.ts";

/** Largest clock step back that is tolerated; after a larger one a claim's age is unknown. */
const clockStepMs = 1_000;

const ended: Decided = { state: "EXPIRED", reason: "expired" };

/** The last look at a claimed call, right before the request by which the phone rings. */
export interface LastLook {
  /** Returns a `Send` that looks, and throws Withheld where the call may not go: see `DialRequest`. */
  ring(send: Send, secondsMax?: number): Send;
  /** Returns why the request was withheld. */
  refused(): Decided;
}

/** @param read the documents by which orders were looked at before */
export function createLastLook(
  claim: Claim,
  read: ControlDocuments,
  { deps, documents }: Delivery,
): LastLook {
  const { timeoutSeconds } = accountOf(claim.row.route ?? claim.dial.route, deps.settings.plan);
  let refused: Decided | undefined;

  async function look(laterMs: number): Promise<Decided | undefined> {
    try {
      const now = await documents(deps.clock.now());
      if (now !== read) refused = checkControls(claim, now, deps);
    } catch (error) {
      deps.log("alarm", "ledger.unreachable", { call_id: claim.row.id, error: errorForLog(error) });
      refused = toWaiting("not_checked", claim);
    }
    return refused ?? checkClock(claim, { laterMs }, deps);
  }

  return {
    ring: (send, secondsMax = timeoutSeconds) => {
      const laterMs = (timeoutSeconds - secondsMax) * 1000;
      return async (url, request) => {
        refused = await look(laterMs);
        if (refused !== undefined) throw new Withheld(refused.reason);
        const mayLeave = () => {
          refused = checkClock(claim, { laterMs }, deps);
          return refused === undefined;
        };
        return send(url, { ...request, mayLeave });
      };
    },
    refused: () => refused ?? toWaiting("claim_too_old", claim),
  };
}

/**
 * Looks at the claim's age, the call's expiry and the callee's hours.
 *
 * @param laterMs time that other requests of the same adapter may have taken before
 */
export function checkClock(
  claim: Claim,
  { laterMs = 0 }: { laterMs?: number },
  { clock, settings }: DialerDeps,
): Decided | undefined {
  const { call, route } = claim.dial;
  const now = clock.now();
  const claimedAt = Math.min(claim.startedAt, claim.row.claimedAt ?? claim.startedAt);
  // The process was frozen or the ledger slow: a sweep may be about to turn this claim UNKNOWN.
  const age = now - claimedAt;
  if (age > claimAgeMsMax + laterMs || age < -clockStepMs) return toWaiting("claim_too_old", claim);
  const expiresAt = expiryOf(call, settings.plan);
  if (now >= expiresAt) return ended;
  if (settings.schedule.closedBy(call.request, route, now) === undefined) return undefined;
  const opening = settings.schedule.opening(call.request, route, { from: now, until: expiresAt });
  return decideByHours(opening, now) ?? toWaiting("claim_too_old", claim);
}
