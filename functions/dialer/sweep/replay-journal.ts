import { applyEntry } from "../../../shared/policy/journal-entries.ts";
import type { ValueOf } from "../../../shared/ports/document-kinds.ts";
import { nameOfEntry, timeOfEntry } from "../../../shared/ports/journal.ts";
import { dayMs, minuteMs } from "../../../shared/lib/units.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { SweepTime } from "./sweep-time.ts";

/** Time before the backup from which entries are applied: the clocks of processes differ, and a write may be on its way. */
const marginMs = 10 * minuteMs;
/** Maximum weight of the entries that one sweep applies: a weight of 1 takes up to ten of D1's thousand queries of an invocation. */
const weightMax = 100;
/** Bytes of an entry with a weight of 1. It has 1,300 hashes of numbers, of which each 500 take up to three queries. */
const bytesOfWeight = 100_000;
/** Maximum entries that one sweep removes. */
const pageEntries = 200;
/** Time for which entries are kept: longer than any backup that the platforms keep. */
const keptMs = 45 * dayMs;

type Restore = ValueOf<"restore">;

/**
 * Applies the journal's entries since the backup to a restored ledger, in the order of their times: opt-outs, changes of the
 * do-not-call list, erasures and cancellations that the backup lacks. Nobody is dialed until all are applied.
 *
 * @throws if an entry cannot be read or applied. The next sweep begins where this one did
 */
export async function replayJournal(
  { at, journalAfter, isJournalDone }: Restore,
  time: SweepTime,
  deps: DialerDeps,
): Promise<Pick<Restore, "journalAfter" | "isJournalDone">> {
  const { journal, log } = deps;
  if (isJournalDone === true) return { isJournalDone };
  let after = journalAfter ?? nameOfEntry(Math.max(0, (at ?? 0) - marginMs), "");
  let count = 0;
  let weight = 0;
  while (!time.isOver() && weight < weightMax) {
    const names = await journal.list({ after, limit: weightMax - weight });
    for (const name of names) {
      if (time.isOver()) return { journalAfter: after, isJournalDone: false };
      const body = await journal.read(name);
      weight += Math.max(1, Math.ceil((body?.length ?? 0) / bytesOfWeight));
      // The first entry is applied whatever its weight, so that a replay never stops.
      if (count > 0 && weight > weightMax) return { journalAfter: after, isJournalDone: false };
      if (body !== undefined) await applyEntry(body, deps);
      count += 1;
      after = name;
    }
    // A store may answer fewer names than there are, and entries may have come meanwhile: only an empty page is the last.
    if (names.length > 0) continue;
    log("info", "journal.applied", { count });
    return { journalAfter: after, isJournalDone: true };
  }
  return { journalAfter: after, isJournalDone: false };
}

/** Minutes between two removals of old entries: often enough for an entry every three seconds. */
const purgeEveryMinutes = 10;

/** Removes entries that no restore can need any more. */
export async function purgeJournal(time: SweepTime, { journal, clock }: DialerDeps): Promise<void> {
  const now = clock.now();
  if (new Date(now).getUTCMinutes() % purgeEveryMinutes !== 0) return;
  const names = await journal.list({ limit: pageEntries });
  for (const name of names) {
    if (timeOfEntry(name) > now - keptMs || time.isOver()) return;
    await journal.remove(name);
  }
}
