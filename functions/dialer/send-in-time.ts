import { claimAgeMsMax, type Decided } from "../../shared/calls/state-machine.ts";
import { accountOf, expiryOf } from "../../shared/dial-plan.ts";
import type { DocumentsRead } from "../../shared/documents/documents.ts";
import { errorForLog } from "../../shared/log.ts";
import type { DialOutcome } from "../../shared/providers/dialing-provider.ts";
import { accountNameOf } from "../../shared/providers/index.ts";
import { refusedByOrders } from "./check-claimed.ts";
import { openBreakers, type Probe, takeProbe } from "./circuit-breaker.ts";
import { closedUntil } from "./decide.ts";
import { type Delivery, type Held, leave, type Place, type Refusal, waiting } from "./delivery.ts";
import type { ReadyDeps } from "./dialer.ts";
import type { Permit } from "./pacing.ts";

/** A permit's moment so far ahead is waited for without holding a place. */
const placeHeldMs = 250;

/** Waits for the permit, takes the probes of open breakers, looks at the clock for the last time, and sends. */
export async function sendInTime(
  held: Held,
  { permit: first, read: firstRead }: { permit: Permit; read: DocumentsRead },
  place: Place,
  delivery: Delivery,
  startedAt: number,
): Promise<Refusal | { outcome: DialOutcome; isProbe: boolean; read: DocumentsRead }> {
  const { deps, permits } = delivery;
  const { route, call } = held.dial;
  let permit: Permit | undefined = first;
  let read = firstRead;
  let probe: Probe | undefined;
  const giveBack = async (refused: Decided): Promise<Refusal> => {
    await probe?.giveBack().catch(() => undefined); // it then comes a while later
    return { refused, counted: true };
  };
  for (let tries = 1; ; tries++) {
    if (!(await waitUntil(permit.moment, place, held, delivery))) {
      return giveBack(waiting("no_capacity", held));
    }
    // It may have waited for seconds: an operator's order of that time holds.
    read = await delivery.documents();
    const ordered = refusedByOrders(held, read, deps);
    if (ordered !== undefined) return giveBack(ordered);
    const open = openBreakers(call.request.agent_id, route, read);
    if (open.length > 0 && probe === undefined) {
      probe = await takeProbe(open, deps);
      if (probe === undefined) return giveBack(waiting("breaker_open", held));
    }
    const late = refusedByClock(held, startedAt, deps);
    if (late !== undefined) return giveBack(late);
    if (permits.isValid(route, permit)) break;
    permit = tries < permits.triesMax ? await permits.take(route, tries) : undefined;
    if (permit === undefined) return giveBack(waiting("permit_void", held));
  }
  const outcome = await request(held, deps);
  return { outcome, isProbe: probe !== undefined, read };
}

/** Sleeps until a permit's moment; far ahead, without the place. False: no room was left then. */
async function waitUntil(
  moment: number,
  place: Place,
  { dial }: Held,
  delivery: Delivery,
): Promise<boolean> {
  const { deps, places, gate } = delivery;
  const { clock } = deps;
  const account = accountNameOf(dial.route);
  if (moment - clock.now() > placeHeldMs) {
    leave(place, account, delivery);
    await clock.sleep(moment - placeHeldMs / 2 - clock.now());
    if (!(await places.acquire(account))) return false;
    place.isHeld = true;
  }
  if (!place.isInGate && !(await gate.enter())) return false;
  place.isInGate = true;
  await clock.sleep(moment - clock.now());
  return true;
}

/** A clock that was set back by more than this tells no age. */
const clockStepMs = 1_000;

/** The last look before the request: the claim's age and the callee's hours. */
function refusedByClock(held: Held, startedAt: number, deps: ReadyDeps): Decided | undefined {
  const { clock, settings } = deps;
  const { call, route } = held.dial;
  const now = clock.now();
  const claimedAt = Math.min(startedAt, held.row.claimedAt ?? startedAt);
  // Frozen, or the ledger was slow: a sweep may be about to call this claim's outcome unknown.
  const age = now - claimedAt;
  if (age > claimAgeMsMax || age < -clockStepMs) return waiting("claim_too_old", held);
  if (settings.schedule.closedBy(call.request, route, now) === undefined) return undefined;
  const expiresAt = expiryOf(call, settings.plan);
  const opening = settings.schedule.opening(call.request, route, now, expiresAt);
  return closedUntil(opening, now) ?? waiting("claim_too_old", held);
}

async function request({ dial, row }: Held, { settings, log }: ReadyDeps): Promise<DialOutcome> {
  // A resend repeats the first request, to the route that it had.
  const route = row.route ?? dial.route;
  const { timeoutSeconds } = accountOf(route, settings.plan);
  const attempt = row.attempt - (row.claims.length - 1);
  return settings
    .providerOf(route)
    .dial({ call: dial.call, attempt, timeoutSeconds }, route)
    .catch((error: unknown) => {
      log("alarm", "provider.threw", { call_id: dial.call.id, error: errorForLog(error) });
      return { kind: "unknown", code: "provider_threw" } as const;
    });
}
