import { hourMs } from "./units.ts";

// The chain of times from a call's turn to its settlement. Each bounds the next one: test/unit/lib/timing.test.ts has the
// inequalities. Times end in their unit.

/** Interval between looks of the dispatcher, and its maximum when queries must be saved. */
export const tickEveryMs = 2_000;
export const tickEveryMsMax = 5_000;
/** Time from the delivery of a dispatch to its first request, besides the round trips. */
export const deliveryMs = 1_000;
/** Round trips from a delivery to its request: row, documents, claim, permit, and the permit's lead. */
export const roundTripsToRequest = 5;
/** Round trips from a claim until its permit shows in the pace. */
export const roundTripsToPermit = 2;
/** Time ahead for which the dispatcher plans permits of a pace: some looks, and the delivery of a dispatch. */
export const paceAheadMs = 7_600;
/** Time after which a dispatched row that still waits is dispatched again, as the dispatch is lost or the queue lags. */
export const dispatchAgeMsMax = 10_000;
/** Time for which dispatched calls wait for the pace of their checks. */
export const checkAheadSeconds = 5;

/** Maximum age of a message whose calls may go before waiting ones. */
export const freshAgeMsMax = 5_000;
/** Maximum time from the delivery of a fresh call to its permit. */
export const freshPermitMsMax = 2_000;
/** Maximum time from a claim to the expected permit. A call whose permit is later waits in the ledger. */
export const claimAheadMsMax = 5_000;

/** Maximum time of all checks of a call together, with their waits. */
export const checksMsMax = 10_000;
/** Time that is left for a check's answer at least, if the check's `timeoutSeconds` are longer. */
export const checkAnswerMsMin = 5_000;

/** Time without a slot released by its account after which a call stops waiting. */
export const slotWaitMsMax = 5_000;
/** Maximum age of documents by which claimed calls are judged. */
export const documentsAgeMsMax = 5_000;
/** Minimum lead of a permit until ten round trips are known, and the maximum lead. */
export const firstLeadMs = 300;
export const leadMsMax = 2_000;
/**
 * Maximum wait of a claimed call for its permit. Longer than `claimAheadMsMax`, as other calls may have taken permits
 * since the claim.
 */
export const permitWaitMsMax = 7_000;
/** Time before its permit at which a request takes one of the connections. */
export const connectedMs = 100;
/**
 * Maximum delay of a request after its permit's time: `slow` for a pace of less than 20 a second, `fast` for others.
 * Late requests leave with those of the next permits, so any second has at most 1.1 times the rate, plus the burst.
 */
export const permitAgeMsMax = { slow: 50, fast: 100 } as const;
/**
 * Maximum delay after a permit's time of a fast pace that is more than the machines do (permit-use.ts): a process that keeps its
 * machine busy is later than `permitAgeMsMax`.
 */
export const latePermitMsMax = 500;
/** The same for a process that knows that it alone takes permits of the pace. */
export const lonePermitMsMax = 2_000;
export const fastIntervalUsMax = 50_000;

/** Maximum time from a claim to its request. A call under an older claim is not dialed. */
export const claimAgeMsMax = 10_000;
/** Maximum tolerated backward step of the clock. After a larger one, a claim's age is unknown. */
export const clockStepMs = 1_000;
/** Margin after an opening, so that a clock that is ahead by as much phones nobody too early. */
export const openingMarginMs = 2_000;
/** Margin before closing, added to the provider's time limit, so that no call rings after closing. */
export const closingMarginMs = 5_000;
/** Maximum difference between a process's clock and the store's at which the process's clock is trusted. */
export const clockErrorMsMax = 10_000;
/** Tolerated difference between the clocks of two processes, such as of an API and of the sweep that suspended dialing. */
export const clocksMarginMs = 60_000;

/** Maximum of an account's `timeoutSeconds`. After them the dialer's function still has time to record the outcome. */
export const timeoutSecondsMax = 90;
/** An account or a backlog whose answers take this long on average counts as slow. */
export const slowMs = 2_000;
/** Time after the provider's time limit in which the holder can settle before its claim lapses. */
const settleMs = 15_000;
/** Waits before each try of a settlement's write. */
export const settleWaitsMs = [0, 250, 1000] as const;
/** Time reserved after a request for the settlement, its retries, and the acknowledgement of the message. */
export const afterRequestMs = 20_000;
/** Time limits of one call to the ledger: of a read or of a short write, and of any write. */
export const ledgerSecondsMax = 5;
export const ledgerWriteSecondsMax = 15;
/**
 * Delay of the `outcome` after a claim whose write may or may not have succeeded. By then the write has certainly
 * succeeded or failed.
 */
export const givenUpSeconds = 60;
/**
 * Wait for a full cap that is not free before the call expires: longer than any dialing that may still be removed
 * from the cap.
 */
export const overCapMs = 180_000;

/** Maximum duration of a sweep's phases. The next sweep continues. */
export const sweepMsMax = 45_000;
/** Time reserved before the end of an invocation for which a sweep or a dispatcher ends. */
export const endMarginMs = 10_000;
/** Lease of a sweep. No other sweep runs meanwhile; if a sweep dies, the sweep of the next minute can run. */
export const sweepLeaseMs = 55_000;

/** Time after a call's end was read at which its record is read for the last time for its analysis. */
export const analysisMsMax = 2_700_000;
/**
 * Maximum delay of such a reading. A later one is left out. So the last reading is done within an hour, and a client
 * with many such calls delays another's by at most this time.
 */
export const analysisLateMsMax = 900_000;

/** Time after which every process of the API has read a new HASH_KEY: the settings it keeps are an hour old at most. */
export const keyReadMs = hourMs;

/** Returns the latest time at which the request of a claim has ended, by the time that it may take. */
export function requestEndsBy(claimedAt: number, requestMs: number): number {
  return claimedAt + claimAgeMsMax + requestMs;
}

/** Returns the time from a claim to its lapse, by the account's `timeoutSeconds`. */
export function claimLifeMs(timeoutSeconds: number): number {
  return claimAgeMsMax + timeoutSeconds * 1000 + settleMs;
}
