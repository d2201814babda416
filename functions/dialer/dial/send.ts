import { recordSlow } from "../record/answer-times.ts";
import type { Ready, LastLook } from "./check.ts";
import { keyReadMs, slowMs } from "#shared/lib/timing.ts";
import type { Route } from "#shared/calls/call-request.ts";
import { findReceiver } from "#shared/dial-plan/receivers.ts";
import { findCurrentSince } from "#shared/policy/number-entries.ts";
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
  const sentAt = deps.clock.now();
  let isUnderWay = true;
  void deps.clock.sleep(slowMs).then(() => {
    if (isUnderWay) return recordSlow(claim.dial, read, deps);
    return undefined;
  });
  const outcome = await request(claim, { guarded: lastLook.guarded, read }, deps);
  isUnderWay = false;
  if (outcome === undefined) return { refused: lastLook.refused() };
  return { outcome, sentAt, answerMs: deps.clock.now() - sentAt, read };
}

/** Sends the request. Undefined: the last look withheld it. */
async function request(
  claim: Claim,
  { guarded, read }: Pick<LastLook, "guarded"> & { read: DocumentsRead },
  deps: SendDeps,
): Promise<DialOutcome | undefined> {
  const { settings, log } = deps;
  const { dial, row } = claim;
  const { route, account } = dial.target;
  const { timeoutSeconds, maxCallMinutes } = account;
  const attempt = row.attempt - (row.claims.length - 1);
  return settings
    .providerOf(route)
    .dial(
      {
        call: dial.call,
        attempt,
        timeoutSeconds,
        maxCallMinutes,
        guarded,
        callbackUrl: toCallbackUrl(claim, { route, hashKey: urlKeyOf(read, deps) }, settings),
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
}

/** Returns the URL to which the provider is to report the call's end. A resend repeats the first request's URL. */
function toCallbackUrl(
  { row, version }: Claim,
  { route, hashKey }: { route: Route; hashKey: string },
  { plan, publicUrl }: SendDeps["settings"],
): string | undefined {
  if (publicUrl === undefined || plan.results === undefined) return undefined;
  const { id, numberHash } = row;
  const call = { id, claim: row.claims[0] ?? version, numberHash };
  return callbackAddressAlong(route, call, { publicUrl, hashKey });
}

/**
 * Returns the key of the codes of callback URLs. While HASH_KEY is rotated this is the former key, as long as a
 * process of the API may lack the current one. That process would answer 404, and the callee's opt-out in the
 * callback would be lost.
 */
function urlKeyOf(
  read: DocumentsRead,
  { settings, clock }: Pick<SendDeps, "settings" | "clock">,
): string {
  const { hashKeys } = settings;
  const { current, former } = hashKeys;
  if (former === undefined) return current;
  const since = findCurrentSince(read, settings.numbers.keyNames);
  return since !== undefined && clock.now() >= since + keyReadMs ? current : former;
}
