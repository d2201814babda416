import { claimAheadMsMax, freshPermitMsMax, paceAheadMs } from "../lib/timing.ts";
import type { ResolvedAccount } from "../dial-plan/route-table.ts";
import type { Facts, KeyedAccount, Taking, Verdict, Texts, ReadFacts } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";
import type { DocumentKey, DocumentsRead } from "../ports/document-kinds.ts";
import { grantPermits, listPermitTimes, type Pace, toPermitTime } from "../telephony/rate.ts";

/** Maximum permits that one look plans. */
const plannedMax = 10_000;

export function paceKeyOf(account: string): DocumentKey<"pace"> {
  return { kind: "pace", key: account };
}

/**
 * Returns the earliest time at which a request of the account may leave after `others` that leave from now on, by the
 * pace as read; in milliseconds since the epoch.
 */
function findNextPermitAt(
  account: string,
  { pace, others = 0 }: { pace: Pace; others?: number | undefined },
  { documents, now }: { documents: DocumentsRead; now: number },
): number {
  const arrivalUs = Math.max(now * 1000, documents.get("pace", account)?.value.arrivalUs ?? 0);
  return (arrivalUs + (others + 1 - pace.burst) * pace.intervalUs) / 1000;
}

export function keys({ target }: KeyedAccount): DocumentKey[] {
  const { name = "", pace } = target?.account ?? {};
  return pace === undefined ? [] : [paceKeyOf(name)];
}

/** The account's pace has no permit for the call soon. A call that would wait for one longer waits in the ledger. */
export function admit(
  { row, target }: ResolvedCall,
  { documents, now, ahead }: Pick<Facts, "documents" | "now" | "ahead">,
): Verdict | undefined {
  const { name = "", pace } = target?.account ?? {};
  if (pace === undefined) return undefined;
  const others = ahead.get(name);
  const permitAt = findNextPermitAt(name, { pace, others }, { documents, now });
  const waitMsMax = row === undefined ? freshPermitMsMax : claimAheadMsMax;
  return permitAt > now + waitMsMax ? { kind: "hold", reason: "pace" } : undefined;
}

/** True if the plan bounds the rate of the account's calls, so that nothing is learned of how many it takes at once. */
export function isPaced({ pace }: Pick<ResolvedAccount, "pace">): boolean {
  return pace !== undefined;
}

/** Returns the time up to which the account's pace is given out, in milliseconds since the epoch; 0 without a pace. */
export function takenUntil(
  { name, pace }: Pick<ResolvedAccount, "name" | "pace">,
  { documents }: Pick<ReadFacts, "documents">,
): number {
  if (pace === undefined) return 0;
  const arrivalUs = documents.get("pace", name)?.value.arrivalUs ?? 0;
  return Math.round((arrivalUs - (pace.burst - 1) * pace.intervalUs) / 1000);
}

/** Returns the times of the next permits, which a look of the dispatcher plans. Undefined: the account has no pace. */
export function permits(
  { name, pace }: Pick<ResolvedAccount, "name" | "pace">,
  { documents, now }: ReadFacts,
): { times: number[]; why: "pace" } | undefined {
  if (pace === undefined) return undefined;
  const arrivalUs = documents.get("pace", name)?.value.arrivalUs ?? 0;
  const window = { notBefore: Math.ceil(now), notAfter: now + paceAheadMs };
  const { granted, baseUs } = grantPermits(arrivalUs, pace, { ...window, count: plannedMax });
  const times = listPermitTimes(baseUs, pace, { granted, notBefore: window.notBefore });
  return { times, why: "pace" };
}

/** The permits of an account in a forecast, which continues from what was read. */
export interface SimulatedPermits {
  limit: string;
  /** Returns the time of the next permit from `notBefore` on. */
  at(notBefore: number): number;
  /** Takes it. */
  take(notBefore: number): void;
  /** Gives the last one back. */
  release(): void;
}

/** @param seen the pace at which the account was seen to take calls. It counts where it is slower than the plan's */
export function simulate(
  { name, pace: planned }: Pick<ResolvedAccount, "name" | "pace">,
  { documents, seen }: Pick<ReadFacts, "documents"> & { seen: Pace | undefined },
): SimulatedPermits {
  const isSlow = seen !== undefined && seen.intervalUs > (planned?.intervalUs ?? 0);
  const pace = isSlow ? seen : (planned ?? unpaced);
  let arrivalUs = documents.get("pace", name)?.value.arrivalUs ?? 0;
  let before = arrivalUs;
  const baseUs = (notBefore: number) => Math.max(arrivalUs, notBefore * 1000);
  return {
    limit: isSlow ? "slow" : "pace",
    at: (notBefore) => toPermitTime(baseUs(notBefore), pace, { index: 0, notBefore }),
    take(notBefore) {
      before = arrivalUs;
      arrivalUs = baseUs(notBefore) + pace.intervalUs;
    },
    release: () => void (arrivalUs = before),
  };
}

const unpaced: Pace = { intervalUs: 0, burst: 1 };

/** Takes a permit of the account's pace. An unused permit is not given back, because its time passes. */
export function take(
  _claim: unknown,
  { permit }: { permit: Promise<{ permitAt: number } | undefined> },
): Taking {
  let isLate = false;
  const settled = permit.then((taken) => {
    isLate = taken === undefined;
    return taken;
  });
  const verdict = (): Verdict | undefined =>
    isLate ? { kind: "hold", reason: "pace" } : undefined;
  return { settled, verdict, give: async () => undefined };
}

export const texts: Texts = {
  pace: {
    means: "The account's callsPerSecond allows no request yet.",
    holds: (name) => `Waiting for the pace of account ${name}.`,
    isTurn: true,
    isOfAccount: true,
  },
};
