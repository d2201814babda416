import type { DocumentKey, DocumentsRead } from "../ports/document-kinds.ts";
import type { Pace } from "../telephony/rate.ts";

export function paceKeyOf(account: string): DocumentKey<"pace"> {
  return { kind: "pace", key: account };
}

/**
 * Returns the earliest time at which a request of the account may leave after `others` that leave from now on, by the
 * pace as read; in milliseconds since the epoch.
 */
export function findNextPermitAt(
  account: string,
  { pace, others = 0 }: { pace: Pace; others?: number | undefined },
  { documents, now }: { documents: DocumentsRead; now: number },
): number {
  const arrivalUs = Math.max(now * 1000, documents.get("pace", account)?.value.arrivalUs ?? 0);
  return (arrivalUs + (others + 1 - pace.burst) * pace.intervalUs) / 1000;
}
