import { partOf } from "#shared/policy/journal-entries.ts";
import type { ValueOf } from "#shared/ports/document-kinds.ts";
import {
  isPart,
  type Journal,
  nameOfPart,
  sortOutGathered,
  timeOfEntry,
} from "#shared/ports/journal.ts";
import { dayMs, hourMs } from "#shared/lib/units.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { SweepTime } from "./sweep-time.ts";

/** Age from which on entries are gathered: no writer is that late. */
const settledMs = hourMs;
/** Minimum number of entries for a part, and the age at which fewer are merged. */
const partEntriesMin = 100;
const gatheredMs = dayMs;
/** Maximum entries and bytes of a part. */
const partEntriesMax = 500;
const partBytesMax = 500_000;
/** Requests to the object store that are under way at once. A Worker may open six connections. */
const requestsAtOnce = 5;
/** Entries per page of removals, and the time for which entries are stored: longer than any backup of the platforms. */
const removedEntries = 1_000;
const storedMs = 45 * dayMs;

type Reached = Pick<ValueOf<"upkeep">, "journalAfter">;

/**
 * Merges entries older than an hour into parts of some hundred each, so that a restore reads few objects. A part is
 * named after its last entry, and is written before its entries are removed: if both exist, entries are applied
 * twice, which changes nothing. Of a page of gathered entries one object stays, however young: it has all earlier
 * ones.
 *
 * @param last `journalAfter`: the last part
 * @returns where the next run continues
 */
export async function compactJournal(
  { journalAfter }: Reached,
  time: SweepTime,
  { journal, clock }: Pick<DialerDeps, "journal" | "clock">,
): Promise<Reached> {
  let after = journalAfter;
  while (!time.isOver()) {
    const now = clock.now();
    const listed = await journal.list({ after: after ?? undefined, limit: partEntriesMax });
    const { kept: names, replaced } = sortOutGathered(listed);
    if (replaced.length > 0) await journal.remove(replaced);
    const parted = names.findLast(isPart);
    const settled = names
      .slice(parted === undefined ? 0 : names.indexOf(parted) + 1)
      .filter((name) => timeOfEntry(name) <= now - settledMs);
    const oldest = settled[0];
    const isWorth =
      settled.length >= partEntriesMin ||
      (oldest !== undefined && timeOfEntry(oldest) <= now - gatheredMs);
    if (!isWorth) {
      if (replaced.length > 0) continue; // there is room for more names now
      if (parted === undefined || parted === after) return { journalAfter: after };
      after = parted; // written by a run that died, or names of another page
      continue;
    }
    after = await writePart(settled, journal);
  }
  return { journalAfter: after };
}

/** Writes as many entries as fit into one part, and removes them. Returns the part's name. */
async function writePart(names: readonly string[], journal: Journal): Promise<string> {
  const gathered: { name: string; body: string }[] = [];
  let bytes = 0;
  for await (const { name, body = "" } of readInTurn(names, journal)) {
    if (gathered.length > 0 && bytes + body.length > partBytesMax) break;
    gathered.push({ name, body });
    bytes += body.length;
  }
  const last = gathered.at(-1)?.name ?? "";
  const part = nameOfPart(last);
  const bodies = gathered.flatMap(({ body }) => (body === "" ? [] : body));
  await journal.append(part, partOf(bodies));
  await journal.remove(gathered.map(({ name }) => name));
  return part;
}

/** Removes entries that no restore can need any more. */
export async function purgeJournal(
  time: SweepTime,
  { journal, clock }: Pick<DialerDeps, "journal" | "clock">,
): Promise<void> {
  while (!time.isOver()) {
    const names = await journal.list({ limit: removedEntries });
    const old = names.filter((name) => timeOfEntry(name) <= clock.now() - storedMs);
    if (old.length > 0) await journal.remove(old);
    if (old.length < removedEntries) return;
  }
}

/** Reads entries in their order, some at once. An entry that was removed meanwhile has no body. */
export async function* readInTurn(
  names: readonly string[],
  journal: Pick<Journal, "read">,
): AsyncGenerator<{ name: string; body: string | undefined }> {
  for (let start = 0; start < names.length; start += requestsAtOnce) {
    const some = names.slice(start, start + requestsAtOnce);
    const bodies = await Promise.all(some.map((name) => journal.read(name)));
    for (const [index, name] of some.entries()) yield { name, body: bodies[index] };
  }
}
