/**
 * Decides which change of the do-not-call list applies. A restore applies changes of several processes, whose clocks
 * differ. So each removal of an entry is counted, and an added entry has the count that it finds.
 */
import { dayMs } from "../lib/units.ts";
import { changeDocuments } from "../ports/change-document.ts";
import type { DocumentKey, ValueOf } from "../ports/document-kinds.ts";
import type { Documents } from "../ports/documents.ts";
import { doNotCallKeyOf } from "./number-entries.ts";
import { inParts, type ListDeps, nameKeys } from "./dnc-entries.ts";

/**
 * Maximum difference between clocks of processes. Of changes further apart the later one applies, whatever counts a
 * restore has lost.
 */
const clocksMs = 10_000;
/** Time for which removals are counted: as long as the journal has them. */
const countedMs = 45 * dayMs;

/** Time of a change, and the number of removals of its key up to it, with itself. */
type Stamp = ValueOf<"unlisted">;

/** A change of the list, by the key of an entry. */
export interface Listing {
  at: number;
  removals: number;
  key: string;
  isListed: boolean;
}

type Entry = ValueOf<"do-not-call">;

/** True if a change wins over another: it has seen more removals, or is later if the clocks can decide. */
function isOver(one: Stamp, { at, removals = 0 }: Entry): boolean {
  const laterMs = one.at - at;
  return Math.abs(laterMs) > clocksMs ? laterMs > 0 : one.removals > removals;
}

/** An entry and the last removal of its key, as far as there are any. */
interface Settled {
  entry?: Entry | undefined;
  removal?: Stamp | undefined;
}

/**
 * Returns what applies after changes of one key, in any order. Against a removal with the same count the entry wins.
 */
function settle({ entry, removal }: Settled, changes: readonly Listing[]): Settled {
  for (const { isListed, at, removals } of changes) {
    const change = { at, removals };
    if (!isListed) {
      if (removal === undefined || isOver(change, removal)) removal = change;
      if (entry !== undefined && isOver(change, entry)) entry = undefined;
      continue;
    }
    if (removal !== undefined && isOver(removal, change)) continue;
    if (entry === undefined || isOver(change, entry)) entry = change;
  }
  return { entry, removal };
}

function removalKeyOf(key: string): DocumentKey<"unlisted"> {
  return { kind: "unlisted", key };
}

/** Reads how often entries were removed. */
export async function readRemovals(
  keys: readonly string[],
  { documents }: { documents: Pick<Documents, "read"> },
): Promise<number[]> {
  const counts: number[] = [];
  for (const some of inParts(keys)) {
    const read = await documents.read(some.map(removalKeyOf));
    counts.push(...some.map((key) => read.get("unlisted", key)?.value.removals ?? 0));
  }
  return counts;
}

/** Counts removals of entries, as of a time. Call it before they are removed. Resolves to the count of each. */
export async function countRemovals(
  keys: readonly string[],
  at: number,
  deps: Pick<ListDeps, "documents" | "random">,
): Promise<number[]> {
  const counts = new Map<string, number>();
  for (const some of inParts(keys)) {
    const edits = some.map((key) => ({
      name: removalKeyOf(key),
      change(current: Stamp | undefined) {
        const removals = (current?.removals ?? 0) + 1;
        counts.set(key, removals);
        return {
          value: { at: Math.max(at, current?.at ?? 0), removals },
          expiresAt: at + countedMs,
        };
      },
    }));
    await changeDocuments(edits, deps);
  }
  return keys.map((key) => counts.get(key) ?? 0);
}

/** Applies changes to the list of a restored ledger, in whichever order. Applying them once more changes nothing. */
export async function applyListings(changes: readonly Listing[], deps: ListDeps): Promise<void> {
  const byKey = Map.groupBy(changes, ({ key }) => key);
  const listed = changes.filter(({ isListed }) => isListed).map(({ key }) => key);
  if (listed.length > 0) await nameKeys(listed, deps);
  for (const some of inParts([...byKey])) await applySome(new Map(some), deps);
}

async function applySome(
  changes: ReadonlyMap<string, readonly Listing[]>,
  deps: ListDeps,
): Promise<void> {
  const { documents } = deps;
  const keys = [...changes.keys()];
  const read = await documents.read([...keys.map(doNotCallKeyOf), ...keys.map(removalKeyOf)]);
  const settled = keys.map((key) => {
    const standing = read.get("do-not-call", key);
    const removal = read.get("unlisted", key)?.value;
    const after = settle({ entry: standing?.value, removal }, changes.get(key) ?? []);
    return { key, standing, before: removal, ...after };
  });
  // The counts come first: whoever puts an entry from now on must find them.
  await changeDocuments(
    settled.flatMap(({ key, before, removal }) => {
      if (removal === undefined || removal === before) return [];
      const change = (current: Stamp | undefined) =>
        current === undefined || isOver(removal, current)
          ? { value: removal, expiresAt: removal.at + countedMs }
          : undefined;
      return { name: removalKeyOf(key), change };
    }),
    deps,
  );
  const put = settled.flatMap(({ key, standing, entry }) =>
    entry === undefined || entry === standing?.value ? [] : { key, entry },
  );
  await changeDocuments(
    put.map(({ key, entry }) => ({
      name: doNotCallKeyOf(key),
      change: () => ({ value: entry, expiresAt: null }),
    })),
    deps,
  );
  const removed = settled.flatMap(({ standing, entry }) =>
    standing === undefined || entry !== undefined
      ? []
      : { kind: standing.kind, key: standing.key, seen: standing.version },
  );
  if (removed.length > 0) await documents.remove(removed);
}
