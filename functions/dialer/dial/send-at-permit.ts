import type { Decided } from "../../../shared/calls/transitions.ts";
import { findReceiver } from "../../../shared/dial-plan/receivers.ts";
import { accountOf } from "../../../shared/dial-plan/routes.ts";
import type { ControlDocuments } from "../../../shared/policy/restore.ts";
import type { DocumentsRead } from "../../../shared/ports/documents.ts";
import { errorForLog } from "../../../shared/lib/log.ts";
import { Withheld } from "../../../shared/lib/http-client.ts";
import type { DialOutcome } from "../../../shared/providers/provider.ts";
import { refusedByControls } from "./check-claim.ts";
import { backlogOf } from "../../../shared/calls/call-row.ts";
import { listOpenBreakers } from "../../../shared/policy/breakers.ts";
import { type Probe, takeProbe } from "../breakers/circuit-breaker.ts";
import { slowMs, recordSlow } from "./answer-times.ts";
import { type Delivery, type Claim, type Slot, type Refusal, waiting } from "./delivery.ts";
import { isLoopback } from "../../../shared/lib/https-url.ts";
import { callbackAddress } from "../../../shared/settings/callback-url.ts";
import { accountNameOf, type Route } from "../../../shared/calls/route.ts";
import type { DialerDeps, DialerSettings } from "../runtime/context.ts";
import { createLastLook, type LastLook, refusedByClock } from "./last-look.ts";
import { leadMs } from "../runtime/round-trips.ts";
import type { Permit } from "./permits.ts";

/** Time before its permit at which a request takes one of the connections. */
const connectedMs = 100;

/** A request that was sent, what came of it, and the documents by which it was allowed. */
export interface Sent {
  outcome: DialOutcome;
  sentAt: number;
  answerMs: number;
  read: DocumentsRead;
}

/**
 * Waits for the permit, takes the probes of open breakers, checks orders and the clock, and sends through a last look.
 */
export async function sendInTime(
  claim: Claim,
  first: Permit,
  slot: Slot,
  delivery: Delivery,
  startedAt: number,
): Promise<Refusal | Sent> {
  const { deps, permits, documents } = delivery;
  const { route } = claim.dial;
  let permit: Permit | undefined = first;
  let read: ControlDocuments;
  let probe: Probe | undefined;
  const refuse = async (refused: Decided): Promise<Refusal> => {
    await probe?.release().catch(() => undefined); // without it the next probe comes later
    return { refused, counted: true };
  };
  try {
    for (let tries = 1; ; tries++) {
      if (!(await waitUntil(permit.permitAt, claim, slot, delivery))) {
        return refuse(waiting("no_capacity", claim));
      }
      // The call may have waited for seconds, so orders given meanwhile apply.
      read = await documents(deps.clock.now());
      const ordered = refusedByControls(claim, read, deps);
      if (ordered !== undefined) return refuse(ordered);
      if (delivery.stopped.has(backlogOf(claim.row))) return refuse(waiting("turn", claim));
      const open = listOpenBreakers(claim.row, route, read);
      if (open.length > 0 && probe === undefined) {
        probe = await takeProbe(open, claim.row, deps);
        if (probe === undefined) return refuse(waiting("breaker_open", claim));
      }
      const late = refusedByClock(claim, { startedAt }, deps);
      if (late !== undefined) return refuse(late);
      if (permits.isValid(route, permit)) break;
      slot.disconnect?.();
      slot.disconnect = undefined;
      permit = tries < permits.triesMax ? await permits.take(route) : undefined;
      if (permit === undefined) return refuse(waiting("permit_void", claim));
    }
  } catch (error) {
    await probe?.release().catch(() => undefined);
    throw error;
  }
  const sentAt = deps.clock.now();
  let isUnderWay = true;
  void deps.clock.sleep(slowMs).then(() => {
    if (isUnderWay) return recordSlow(claim, read, deps);
    return undefined;
  });
  const lastLook = createLastLook(claim, { read, startedAt }, delivery);
  const outcome = await request(claim, lastLook, deps);
  isUnderWay = false;
  if (outcome === undefined) return refuse(lastLook.refused());
  return { outcome, sentAt, answerMs: deps.clock.now() - sentAt, read };
}

/**
 * Sleeps until a permit's time. Documents that would be too old by then are read two round trips earlier, so
 * that nothing is left to read at that time. Resolves to false if no connection came free.
 */
async function waitUntil(
  permitAt: number,
  { dial }: Claim,
  slot: Slot,
  delivery: Delivery,
): Promise<boolean> {
  const { deps, connections, documents } = delivery;
  const { clock, memory } = deps;
  await clock.sleep(permitAt - connectedMs - 2 * leadMs(memory) - clock.now());
  await documents(permitAt);
  await clock.sleep(permitAt - connectedMs - clock.now());
  slot.disconnect ??= await connections.acquire(accountNameOf(dial.route));
  if (slot.disconnect === undefined) return false;
  await clock.sleep(permitAt - clock.now());
  return true;
}

/** Sends the request. Undefined: it was withheld. */
async function request(
  claim: Claim,
  { ring }: LastLook,
  { settings, log }: DialerDeps,
): Promise<DialOutcome | undefined> {
  const { dial, row } = claim;
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
        ring,
        callbackUrl: callbackUrlOf(claim, route, settings),
        tellsAnswer: findReceiver(row.client, settings.plan)?.types.includes("call.answered"),
      },
      route,
    )
    .catch((error: unknown) => {
      if (error instanceof Withheld) return undefined;
      log("alarm", "provider.threw", { call_id: dial.call.id, error: errorForLog(error) });
      return { kind: "unknown", code: "provider_threw" } as const;
    });
}

/**
 * Returns the address at which the provider is to tell of the call's end. A resend carries the address of the first
 * request, which it repeats.
 */
function callbackUrlOf(
  { row, version }: Claim,
  route: Route,
  { plan, publicUrl, hashKey }: DialerSettings,
): string | undefined {
  if (publicUrl === undefined || plan.results === undefined) return undefined;
  const target = "url" in route ? route.url : "baseUrl" in route ? route.baseUrl : undefined;
  // A real provider cannot reach this machine, and may refuse a call that names it.
  if (isLoopback(publicUrl) && !isLoopback(target ?? "")) return undefined;
  const { provider: account } = route;
  const call = { id: row.id, claim: row.claims[0] ?? version };
  return callbackAddress(publicUrl, { account, call, hashKey });
}
