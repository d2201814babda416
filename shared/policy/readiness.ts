import { minuteMs } from "../lib/units.ts";
import type { DocumentsRead } from "../ports/document-kinds.ts";
import { ledgerKeys, restoreText, sweepKey } from "./ledger-epoch.ts";
import { dispatcherKey } from "./dispatcher.ts";

/** The documents that show whether the dialer works. */
export const readinessKeys = [...ledgerKeys, dispatcherKey] as const;

/** Age of the last full sweep, or of the dispatcher's last look, from which on the dialer counts as dead. */
const silentMsMax = 5 * minuteMs;
/** Time for which a backlog may wait though its rows are due and allowed. */
const waitMsMax = 10 * minuteMs;

/**
 * Returns what is wrong with the dialer, by its documents; nothing if it works. A deployment that has never swept or
 * ticked is not ready: its crons begin within minutes; otherwise nobody is dialed. Dispatchers tick at least once a
 * minute, also on AWS, where they end while nothing is due.
 *
 * @param now milliseconds since the epoch
 */
export function listUnready(documents: DocumentsRead, now: number): string[] {
  const sweep = documents.get(sweepKey.kind, sweepKey.key)?.value;
  const dispatcher = documents.get(dispatcherKey.kind, dispatcherKey.key)?.value;
  // Sweeps only go through the restored calls then, and dispatchers dispatch nothing.
  const restored = restoreText(documents);
  if (restored !== undefined) return [restored];
  const problems: string[] = [];
  if (sweep === undefined) problems.push("no sweep has run yet");
  else if (now - sweep.fullRoundAt > silentMsMax) {
    problems.push("no sweep has completed for five minutes");
  }
  if (dispatcher?.tickedAt === undefined) problems.push("no dispatcher has looked yet");
  else if (now - dispatcher.tickedAt > silentMsMax) {
    problems.push("no dispatcher has looked for five minutes");
  }
  if (Object.values(dispatcher?.waits ?? {}).some((since) => now - since > waitMsMax)) {
    problems.push(
      "calls have been due and allowed for ten minutes, and the call queue has delivered none",
    );
  }
  return problems;
}
