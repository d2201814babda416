import { errorForLog } from "../../../shared/lib/log.ts";
import { Withheld } from "../../../shared/lib/http-client.ts";
import type { DialOutcome } from "../../../shared/providers/provider.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { type Claim, type Refusal, toWaiting } from "./delivery.ts";

// Meaning of an error for a claimed call, in each of the three stages of dialing.

/** Before the request: nothing was sent, so the call goes on waiting. */
export function failBeforeRequest(error: unknown, claim: Claim, { log }: DialerDeps): Refusal {
  log("alarm", "ledger.unreachable", { call_id: claim.row.id, error: errorForLog(error) });
  return { refused: toWaiting("not_checked", claim) };
}

/** The request: the phone may ring, so the outcome is unknown. Undefined: the last look withheld it. */
export function failRequest(
  error: unknown,
  claim: Claim,
  { log }: DialerDeps,
): DialOutcome | undefined {
  if (error instanceof Withheld) return undefined;
  log("alarm", "provider.threw", { call_id: claim.row.id, error: errorForLog(error) });
  return { kind: "unknown", code: "provider_threw" };
}

/** After the request: the outcome is written or queued, and only counts of it are lost. */
export function failAfterRequest(error: unknown, claim: Claim, { log }: DialerDeps): void {
  log("warning", "breaker.update_failed", { call_id: claim.row.id, error: errorForLog(error) });
}
