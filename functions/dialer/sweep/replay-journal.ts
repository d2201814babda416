import { applyEntries } from "#shared/policy/journal-entries.ts";
import { nameOfEntry, sortOutGathered } from "#shared/ports/journal.ts";
import { minuteMs } from "#shared/lib/units.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { readInTurn } from "./compact-journal.ts";

/** Time before the backup from which entries are applied: the clocks of processes differ, and a write may be on its way. */
const marginMs = 10 * minuteMs;
/** Maximum entries and bytes of a page. A megabyte has 15,000 hashes, of which each 500 take two statements. */
const entriesAtOnce = 500;
const bytesAtOnce = 1_000_000;

/** Progress through the entries since a backup. */
interface Replay {
  /** Time of the backup, in milliseconds since the epoch. */
  at: number | null;
  /** The last entry that was applied. */
  journalAfter?: string | undefined;
  isJournalDone?: boolean | undefined;
}

/**
 * Applies a page of the journal's entries since the backup to a restored ledger, in the order of their times:
 * opt-outs, changes of the do-not-call list, erasures and cancellations that the backup lacks. Nobody is dialed until
 * all are applied. A page is a step of a sweep, which stores where it ended, so that a later death of the sweep
 * repeats nothing. A pass that finds no entries is the last: a store may return fewer names than there are, and
 * entries may have arrived meanwhile.
 *
 * @throws if an entry cannot be read or applied. The next sweep begins where this page did
 */
export async function replayJournal(
  { at, journalAfter, isJournalDone }: Replay,
  deps: Pick<DialerDeps, "ledger" | "documents" | "journal" | "clock" | "random" | "log">,
): Promise<Omit<Replay, "at">> {
  const { journal, log } = deps;
  if (isJournalDone === true) return { isJournalDone };
  let after = journalAfter ?? nameOfEntry(Math.max(0, (at ?? 0) - marginMs), "");
  const names = await journal.list({ after, limit: entriesAtOnce });
  if (names.length === 0) return { journalAfter: after, isJournalDone: true };
  const bodies: string[] = [];
  let bytes = 0;
  for await (const { name, body = "" } of readInTurn(sortOutGathered(names).kept, journal)) {
    if (bodies.length > 0 && bytes + body.length > bytesAtOnce) break;
    if (body !== "") bodies.push(body);
    bytes += body.length;
    after = name;
  }
  await applyEntries(bodies, deps);
  log("info", "journal.applied", { count: bodies.length });
  return { journalAfter: after, isJournalDone: false };
}
