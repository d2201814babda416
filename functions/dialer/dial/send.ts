import { recordSlow } from "../record/answer-times.ts";
import type { Ready } from "./check.ts";
import { slowMs } from "#shared/lib/timing.ts";
import { findReceiver } from "#shared/dial-plan/receivers.ts";
import { findKeyReadByAll } from "#shared/policy/key-read-by-all.ts";
import type { DocumentsRead } from "#shared/ports/document-kinds.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";
import { callbackAddressAlong } from "#shared/settings/callback-url.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { type Claim, type Refusal } from "./dial-batch.ts";
import { errorForLog } from "#shared/lib/log.ts";
import { Withheld } from "#shared/lib/http-client.ts";

/** Ports that a request needs, and those that record its time. */
type SendDeps = Pick<DialerDeps, "settings" | "clock" | "log"> & Parameters<typeof recordSlow>[2];

/** A sent request: its outcome, and the documents that allowed it. */
export interface Sent {
  outcome: DialOutcome;
  sentAt: number;
  answerMs: number;
  read: DocumentsRead;
}

/** Sends the request of a claimed call, through a last look that may withhold it. */
export async function sendRequest(
  claim: Claim,
  { read, lastLook }: Ready,
  deps: SendDeps,
): Promise<Refusal | Sent> {
  const { settings, clock, log } = deps;
  const { dial, row } = claim;
  const { route, account } = dial.target;
  const { timeoutSeconds, maxCallMinutes } = account;
  const attempt = row.attempt - (row.claims.length - 1);
  const sentAt = clock.now();
  let isUnderWay = true;
  void clock.sleep(slowMs).then(() => {
    if (isUnderWay) return recordSlow(dial, { of: "request", read }, deps);
    return undefined;
  });
  const outcome = await settings
    .providerOf(route)
    .dial(
      {
        call: dial.call,
        attempt,
        timeoutSeconds,
        maxCallMinutes,
        guarded: lastLook.guarded,
        callbackUrl: toCallbackUrl(claim, read, deps),
        reportsAnswer: findReceiver(row, settings.plan)?.types.includes("call.answered"),
      },
      route,
    )
    .catch((error: unknown): DialOutcome | undefined => {
      if (error instanceof Withheld) return undefined;
      // The phone may ring.
      log("alarm", "provider.threw", { call_id: row.id, error: errorForLog(error) });
      return { kind: "unknown", code: "provider_threw" };
    });
  isUnderWay = false;
  if (outcome === undefined) return { refused: lastLook.refused() };
  return { outcome, sentAt, answerMs: clock.now() - sentAt, read };
}

/** Returns the URL to which the provider is to report the call's end. A resend repeats the first request's URL. */
function toCallbackUrl(
  { dial, row, version }: Claim,
  read: DocumentsRead,
  deps: SendDeps,
): string | undefined {
  const { plan, publicUrl, hashKeys } = deps.settings;
  if (publicUrl === undefined || plan.results === undefined) return undefined;
  const { id, numberHash } = row;
  const call = { id, claim: row.claims[0] ?? version, numberHash };
  return callbackAddressAlong(dial.target.route, call, {
    publicUrl,
    // A process of the API without the key would answer 404, and the callee's opt-out in the callback would be lost.
    hashKey: findKeyReadByAll(read, hashKeys, deps.clock.now()),
  });
}
