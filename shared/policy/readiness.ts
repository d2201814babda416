import { minuteMs } from "../lib/units.ts";
import type { DocumentsRead } from "../ports/document-kinds.ts";
import { restoreKey, sweepKey } from "./ledger-epoch.ts";
import { dispatcherKey } from "./dispatcher.ts";

/** The documents that show whether the dialer works. */
export const readinessKeys = [sweepKey, dispatcherKey, restoreKey] as const;

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
  const restore = documents.get(restoreKey.kind, restoreKey.key)?.value;
  // Sweeps only go through the restored calls then, and dispatchers dispatch nothing.
  if (restore?.state === "suspended") {
    return ["the ledger was restored from a backup, and nothing is dialed until that is confirmed"];
  }
  if (restore?.state === "confirmed") {
    const { rows = 0, backlogs = 0 } = restore.pass ?? {};
    return [
      `the ledger was restored from a backup, and its calls are being checked: ${rows} calls in ${backlogs} backlogs so far`,
    ];
  }
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
    problems.push("calls have been due and allowed for ten minutes, and none was dispatched");
  }
  return problems;
}
