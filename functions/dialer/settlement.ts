import type { Settlement } from "../../shared/ledger/call-ledger.ts";
import { isIdempotent } from "../../shared/ledger/state-machine.ts";
import type { DialOutcome } from "../../shared/providers/dialing-provider.ts";
import { isEarly } from "./write-decisions.ts";
import { resendSecondsMax, type Route } from "../../shared/providers/index.ts";

export interface Attempt {
  id: string;
  token: string;
  route: Route;
  /** Counted from 1. */
  attempt: number;
  /** When the outcome was first unknown, of a call that is sent again. */
  unknownSince?: number;
  canLookUp: boolean;
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
  const { id, token, unknownSince, expiresAt } = attempt;
  const base = { id, token, at: now };
  const quiet = isEarly(attempt.attempt) ? {} : { unrecorded: true };
  const waiting = (reason: string, dueAt: number): Settlement => ({
    ...base,
    ...quiet,
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
    const dueAt = unknownDueAt(attempt, now, fraction);
    return { ...base, state: "UNKNOWN", reason: outcome.code, dueAt };
  }
  switch (outcome.kind) {
    case "rejected":
      return { ...base, state: "REJECTED", reason: outcome.code };
    case "forbidden":
      return { ...base, state: "PARKED", reason: outcome.code };
    case "account_refused":
      return waiting("account_held", probeAt);
    case "route_refused":
      return waiting("route_held", probeAt);
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

/** So soon a call is first looked for: a new one need not be in its provider's list at once. */
const firstLookUpMs = 60_000;
/** So soon a call is sent once more, where the provider remembers the first request for less than a minute. */
const promptResendMs = 1000;

/** When something is next to be done about a call whose outcome is unknown: sent again, looked for, or parked. */
export function unknownDueAt(
  {
    route,
    attempt,
    unknownSince,
    parkAfterSeconds,
    canLookUp,
  }: Pick<Attempt, "attempt" | "unknownSince" | "parkAfterSeconds" | "canLookUp"> & {
    route: Route | null;
  },
  now: number,
  fraction: number,
): number {
  const parkAt = (unknownSince ?? now) + parkAfterSeconds * 1000;
  if (canLookUp) return Math.min(now + firstLookUpMs, parkAt);
  if (route === null || !isIdempotent(route)) return parkAt;
  if (resendSecondsMax(route) === undefined) {
    return Math.min(Math.round(now + backoffMs(attempt, fraction)), parkAt);
  }
  return unknownSince === undefined ? Math.min(now + promptResendMs, parkAt) : parkAt;
}

/** Exponential from 5 s to 15 min with full jitter, at least a second. */
function backoffMs(attempt: number, fraction: number): number {
  return Math.max(1000, fraction * Math.min(5_000 * 2 ** (attempt - 1), 900_000));
}
