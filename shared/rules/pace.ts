import { claimAheadMsMax, freshPermitMsMax, paceAheadMs } from "../lib/timing.ts";
import type { ResolvedAccount } from "../dial-plan/route-table.ts";
import type { Facts, KeyedAccount, Taking, Verdict, Texts } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";
import type { DocumentKey, DocumentsRead } from "../ports/document-kinds.ts";
import { grantPermits, listPermitTimes, type Pace } from "../telephony/rate.ts";

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

/** Returns the times of the next permits, which a look of the dispatcher plans. Undefined: the account has no pace. */
export function permits(
  { name, pace }: Pick<ResolvedAccount, "name" | "pace">,
  { documents, now }: Pick<Facts, "documents" | "now">,
): { times: number[]; why: "pace" } | undefined {
  if (pace === undefined) return undefined;
  const arrivalUs = documents.get("pace", name)?.value.arrivalUs ?? 0;
  const window = { notBefore: Math.ceil(now), notAfter: now + paceAheadMs };
  const { granted, baseUs } = grantPermits(arrivalUs, pace, { ...window, count: plannedMax });
  const times = listPermitTimes(baseUs, pace, { granted, notBefore: window.notBefore });
  return { times, why: "pace" };
}

/** Takes a permit of the account's pace. An unused permit is not given back: its moment passes. */
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
    means: "The account's callsPerSecond leave no permit yet.",
    holds: (name) => `In turn for the pace of account ${name}.`,
    isTurn: true,
    isOfAccount: true,
  },
};
