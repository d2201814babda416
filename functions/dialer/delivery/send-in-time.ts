import { claimAgeMsMax, type Decided } from "../../../shared/calls/state-machine.ts";
import { expiryOf } from "../../../shared/dial-plan/dial-plan.ts";
import { receiverOf } from "../../../shared/dial-plan/receivers.ts";
import { accountOf } from "../../../shared/dial-plan/routes.ts";
import type { BearingDocuments } from "../../../shared/documents/restore.ts";
import type { DocumentsRead } from "../../../shared/documents/documents.ts";
import { errorForLog } from "../../../shared/platform/log.ts";
import type { DialOutcome } from "../../../shared/providers/dialing-provider.ts";
import { refusedByOrders } from "./check-claimed.ts";
import { openBreakers } from "../../../shared/documents/breakers.ts";
import { type Probe, takeProbe } from "../breakers/probes.ts";
import { closedUntil } from "../../../shared/schedule/decide-waiting.ts";
import { type Delivery, type Held, type Place, type Refusal, waiting } from "./delivery.ts";
import { isLoopback } from "../../../shared/providers/https-url.ts";
import { callbackAddress } from "../../../shared/platform/callback-address.ts";
import { accountNameOf, type Route } from "../../../shared/providers/index.ts";
import type { DialerDeps, DialerSettings } from "../context.ts";
import { leadMs, type Permit } from "./permits.ts";

/** Time before its permit at which a request takes one of the connections. */
const connectedMs = 100;

/** A request that was sent, what came of it, and the documents by which it was allowed. */
export interface Sent {
  outcome: DialOutcome;
  answerMs: number;
  isProbe: boolean;
  read: DocumentsRead;
}

/**
 * Waits for the permit, takes the probes of open breakers, checks orders and the clock for the last time, and
 * sends.
 */
export async function sendInTime(
  held: Held,
  first: Permit,
  place: Place,
  delivery: Delivery,
  startedAt: number,
): Promise<Refusal | Sent> {
  const { deps, permits, documents } = delivery;
  const { route, call } = held.dial;
  let permit: Permit | undefined = first;
  let read: BearingDocuments;
  let probe: Probe | undefined;
  const giveBack = async (refused: Decided): Promise<Refusal> => {
    await probe?.giveBack().catch(() => undefined); // without it the next probe comes later
    return { refused, counted: true };
  };
  try {
    for (let tries = 1; ; tries++) {
      if (!(await waitUntil(permit.moment, held, place, delivery))) {
        return giveBack(waiting("no_capacity", held));
      }
      // The call may have waited for seconds, so orders given meanwhile apply.
      read = await documents(deps.clock.now());
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
      place.disconnect?.();
      place.disconnect = undefined;
      permit = tries < permits.triesMax ? await permits.take(route) : undefined;
      if (permit === undefined) return giveBack(waiting("permit_void", held));
    }
  } catch (error) {
    await probe?.giveBack().catch(() => undefined);
    throw error;
  }
  const sentAt = deps.clock.now();
  const outcome = await request(held, deps);
  return { outcome, answerMs: deps.clock.now() - sentAt, isProbe: probe !== undefined, read };
}

/**
 * Sleeps until a permit's time. Documents that would be too old by then are read two round trips earlier, so
 * that nothing is left to read at that time. Resolves to false if no connection came free.
 */
async function waitUntil(
  moment: number,
  { dial }: Held,
  place: Place,
  delivery: Delivery,
): Promise<boolean> {
  const { deps, connections, documents } = delivery;
  const { clock, memory } = deps;
  await clock.sleep(moment - connectedMs - 2 * leadMs(memory) - clock.now());
  await documents(moment);
  await clock.sleep(moment - connectedMs - clock.now());
  place.disconnect ??= await connections.acquire(accountNameOf(dial.route));
  if (place.disconnect === undefined) return false;
  await clock.sleep(moment - clock.now());
  return true;
}

/** Largest clock step back that is tolerated; after a larger one a claim's age is unknown. */
const clockStepMs = 1_000;

/** Last check before the request: the claim's age and the callee's hours. */
function refusedByClock(held: Held, startedAt: number, deps: DialerDeps): Decided | undefined {
  const { clock, settings } = deps;
  const { call, route } = held.dial;
  const now = clock.now();
  const claimedAt = Math.min(startedAt, held.row.claimedAt ?? startedAt);
  // The process was frozen or the ledger slow: a sweep may be about to turn this claim UNKNOWN.
  const age = now - claimedAt;
  if (age > claimAgeMsMax || age < -clockStepMs) return waiting("claim_too_old", held);
  if (settings.schedule.closedBy(call.request, route, now) === undefined) return undefined;
  const expiresAt = expiryOf(call, settings.plan);
  const opening = settings.schedule.opening(call.request, route, now, expiresAt);
  return closedUntil(opening, now) ?? waiting("claim_too_old", held);
}

async function request(held: Held, { settings, log }: DialerDeps): Promise<DialOutcome> {
  const { dial, row } = held;
  // A resend repeats the first request to the route of the first request.
  const route = row.route ?? dial.route;
  const { timeoutSeconds } = accountOf(route, settings.plan);
  const attempt = row.attempt - (row.claims.length - 1);
  return settings
    .providerOf(route)
    .dial(
      {
        call: dial.call,
        attempt,
        timeoutSeconds,
        callbackUrl: callbackUrlOf(held, route, settings),
        tellsAnswer: receiverOf(row.client, settings.plan)?.types.includes("call.answered"),
      },
      route,
    )
    .catch((error: unknown) => {
      log("alarm", "provider.threw", { call_id: dial.call.id, error: errorForLog(error) });
      return { kind: "unknown", code: "provider_threw" } as const;
    });
}

/**
 * Returns the address at which the provider is to tell of the call's end. A resend carries the address of the first
 * request, which it repeats.
 */
function callbackUrlOf(
  { row, claim }: Held,
  route: Route,
  { plan, publicUrl, hashKey }: DialerSettings,
): string | undefined {
  if (publicUrl === undefined || plan.results === undefined) return undefined;
  const target = "url" in route ? route.url : "baseUrl" in route ? route.baseUrl : undefined;
  // A real provider cannot reach this machine, and may refuse a call that names it.
  if (isLoopback(publicUrl) && !isLoopback(target ?? "")) return undefined;
  const { provider: account } = route;
  const call = { id: row.id, claim: row.claims[0] ?? claim };
  return callbackAddress(publicUrl, { account, call, hashKey });
}
