import type { Settlement } from "../../shared/ledger/call-ledger.ts";
import { isIdempotent } from "../../shared/ledger/state-machine.ts";
import type { DialOutcome } from "../../shared/providers/dialing-provider.ts";
import type { Route } from "../../shared/providers/index.ts";

export interface Attempt {
  id: string;
  token: string;
  route: Route;
  /** Counted from 1. */
  attempt: number;
  /** When the outcome was first unknown, of a call that is sent again. */
  unknownSince?: number;
  expiresAt: number;
  parkAfterSeconds: number;
}

/**
 * The row that an outcome leads to. A call that was sent twice, to an idempotent provider, only becomes
 * PLACED or stays unknown: the second answer may be about the second request alone.
 *
 * @param fraction random, 0 ≤ fraction < 1
 * @param probeAt when the account is probed, where the outcome held it
 */
export function settlementOf(
  outcome: DialOutcome,
  attempt: Attempt,
  now: number,
  fraction: number,
  probeAt: number,
): Settlement {
  const { id, token, route, unknownSince, expiresAt, parkAfterSeconds } = attempt;
  const base = { id, token, at: now };
  const waiting = (reason: string, dueAt: number): Settlement => ({
    ...base,
    state: "DEFERRED",
    reason,
    dueAt: Math.min(Math.round(dueAt), expiresAt),
  });
  if (outcome.kind === "placed") {
    const { providerCallId } = outcome;
    const found = providerCallId === undefined ? {} : { providerCallId };
    return { ...base, state: "PLACED", reason: "placed", ...found };
  }
  if (outcome.kind === "unknown" || unknownSince !== undefined) {
    const parkAt = (unknownSince ?? now) + parkAfterSeconds * 1000;
    const again = now + backoffMs(attempt.attempt, fraction);
    const dueAt = isIdempotent(route) ? Math.min(again, parkAt) : parkAt;
    return { ...base, state: "UNKNOWN", reason: outcome.code, dueAt: Math.round(dueAt) };
  }
  switch (outcome.kind) {
    case "rejected":
      return { ...base, state: "REJECTED", reason: outcome.code };
    case "forbidden":
      return { ...base, state: "PARKED", reason: outcome.code };
    case "account_refused":
      return waiting("account_held", probeAt);
    case "not_placed": {
      const { retryAfterSeconds } = outcome;
      // A little later than asked, so that what waits together does not come back together.
      if (retryAfterSeconds !== undefined) {
        return waiting(outcome.code, now + retryAfterSeconds * 1000 + fraction * 1000);
      }
      return waiting(outcome.code, now + backoffMs(attempt.attempt, fraction));
    }
  }
}

/** Exponential from 5 s to 15 min with full jitter, at least a second. */
function backoffMs(attempt: number, fraction: number): number {
  return Math.max(1000, fraction * Math.min(5_000 * 2 ** (attempt - 1), 900_000));
}
