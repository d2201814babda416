import type { Route } from "../../../shared/calls/route.ts";
import { findReceiver } from "../../../shared/dial-plan/receivers.ts";
import { accountOf } from "../../../shared/dial-plan/routes.ts";
import type { ControlDocuments } from "../../../shared/policy/restore.ts";
import type { DocumentsRead } from "../../../shared/ports/documents.ts";
import type { DialOutcome } from "../../../shared/providers/provider.ts";
import { callbackAddressAlong } from "../../../shared/settings/callback-url.ts";
import type { DialerDeps, DialerSettings } from "../runtime/context.ts";
import { recordSlow, slowMs } from "./answer-times.ts";
import type { Claim, Delivery, Refusal } from "./delivery.ts";
import { createLastLook, type LastLook } from "./last-look.ts";
import { failRequest } from "./stage-errors.ts";

/** A request that was sent, what came of it, and the documents by which it was allowed. */
export interface Sent {
  outcome: DialOutcome;
  sentAt: number;
  answerMs: number;
  read: DocumentsRead;
}

/** Sends the request of a claimed call, through a last look that may withhold it. */
export async function sendRequest(
  claim: Claim,
  read: ControlDocuments,
  delivery: Delivery,
): Promise<Refusal | Sent> {
  const { deps } = delivery;
  const sentAt = deps.clock.now();
  let isUnderWay = true;
  void deps.clock.sleep(slowMs).then(() => {
    if (isUnderWay) return recordSlow(claim, read, deps);
    return undefined;
  });
  const lastLook = createLastLook(claim, read, delivery);
  const outcome = await request(claim, lastLook, deps);
  isUnderWay = false;
  if (outcome === undefined) return { refused: lastLook.refused(), counted: true };
  return { outcome, sentAt, answerMs: deps.clock.now() - sentAt, read };
}

/** Sends the request. Undefined: it was withheld. */
async function request(
  claim: Claim,
  { ring }: LastLook,
  deps: DialerDeps,
): Promise<DialOutcome | undefined> {
  const { settings } = deps;
  const { dial, row } = claim;
  // A resend repeats the first request to the route of the first request.
  const route = row.route ?? dial.route;
  const { timeoutSeconds, maxCallMinutes } = accountOf(route, settings.plan);
  const attempt = row.attempt - (row.claims.length - 1);
  return settings
    .providerOf(route)
    .dial(
      {
        call: dial.call,
        attempt,
        timeoutSeconds,
        maxCallMinutes,
        ring,
        callbackUrl: toCallbackUrl(claim, route, settings),
        tellsAnswer: findReceiver(row.client, settings.plan)?.types.includes("call.answered"),
      },
      route,
    )
    .catch((error: unknown) => failRequest(error, claim, deps));
}

/**
 * Returns the address at which the provider is to report the call's end. A resend carries the address of the first
 * request, which it repeats.
 */
function toCallbackUrl(
  { row, version }: Claim,
  route: Route,
  { plan, publicUrl, hashKey }: DialerSettings,
): string | undefined {
  if (publicUrl === undefined || plan.results === undefined) return undefined;
  const call = { id: row.id, claim: row.claims[0] ?? version };
  return callbackAddressAlong(route, call, { publicUrl, hashKey });
}
