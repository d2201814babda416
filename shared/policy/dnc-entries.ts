import { ConflictError, onConflict, retry } from "../lib/retry.ts";
import { changeDocument } from "../ports/change-document.ts";
import type { ValueOf } from "../ports/document-kinds.ts";
import type { DocumentChange, Documents } from "../ports/documents.ts";
import { removeDocuments } from "../ports/remove-documents.ts";
import { hourMs, minuteMs } from "../lib/units.ts";
import { keyNameIn } from "../telephony/number-hashes.ts";
import { doNotCallKeyOf, doNotCallListKey, isClientEntry } from "./number-entries.ts";

/** Entries of one write, so that each ends within its time limit. */
const entriesAtOnce = 500;
/** Maximum tries of a write where other writers come first. */
const triesMax = 3;

/** Time for which an opt-out from test calls stays, so that the number can be tested again. */
export const testOptOutMs = hourMs;

/** Dependencies of writes of the list. */
export interface ListDeps {
  documents: Documents;
  clock: { now(): number };
  random: { version(): string };
  /** Time after which the entries expire, in milliseconds. Absent: never. */
  lifeMs?: number | undefined;
}

/**
 * Puts hashed numbers on the list, which names their keys first. An existing entry is overwritten under a fresh
 * version, because a removal of it whose answer was lost may still be in progress.
 *
 * @throws if a write failed, or others came first each time: some entries may stand
 */
export async function putEntries(numberHashes: readonly string[], deps: ListDeps): Promise<void> {
  if (numberHashes.length === 0) return;
  await nameKeys(numberHashes, deps);
  for (const some of inParts([...new Set(numberHashes)])) await putSome(some, deps);
}

/** Has the list name the keys of entries, and that some are for one client's calls. */
export async function nameKeys(entries: readonly string[], deps: ListDeps): Promise<void> {
  const names = [...new Set(entries.map(keyNameIn))];
  const isOfClient = entries.some(isClientEntry);
  await changeList(({ keys, ...list }) => {
    const unnamed = names.filter((name) => !keys.includes(name));
    const isSaid = !isOfClient || list.hasClientEntries === true;
    if (unnamed.length === 0 && isSaid) return undefined;
    return {
      ...list,
      keys: [...keys, ...unnamed],
      ...(isOfClient ? { hasClientEntries: true } : {}),
    };
  }, deps);
}

async function putSome(
  numberHashes: readonly string[],
  { documents, clock, random, lifeMs }: ListDeps,
): Promise<void> {
  const value = { at: clock.now() };
  const expiresAt = lifeMs === undefined ? null : value.at + lifeMs;
  let changes = numberHashes.map((hash): DocumentChange<"do-not-call"> => {
    const next = { ...doNotCallKeyOf(hash), version: random.version(), value, expiresAt };
    return { next, seen: null };
  });
  await retry(async () => {
    const written = await documents.write(changes);
    const refused = changes.filter((_, index) => written[index] !== true);
    if (refused.length === 0) return;
    const read = await documents.read(refused.map(({ next }) => next));
    changes = refused.map(({ next }) => {
      const current = read.get(next.kind, next.key);
      const kept = current?.value ?? next.value;
      return { next: { ...next, value: kept }, seen: current?.version ?? null };
    });
    throw new ConflictError("the do-not-call list did not store the entry");
  }, onConflict(triesMax));
}

/** Age of an entry under the current key at which the entry under the former key is removed. */
const stoodMsMin = minuteMs;

/**
 * Puts numbers on the list under the current key. Their entries under the former key, and in former spellings of the number, are
 * removed a minute after those under the current one were added. Otherwise a process that reads both, or only the former key, one after the other,
 * could find neither: one does not exist yet, and the other no longer.
 *
 * @param numbers all hashes of each: first that of its canonical form under the current key
 */
export async function putNumbers(
  numbers: readonly (readonly string[])[],
  deps: ListDeps,
): Promise<void> {
  for (const some of inParts(numbers)) {
    const current = some.map(([hash = ""]) => hash);
    const replaced = some.some(([, ...others]) => others.length > 0)
      ? await findReplaced(some, deps)
      : [];
    await putEntries(current, deps);
    if (replaced.length > 0) await deps.documents.remove(replaced);
  }
}

/** Returns the removals of numbers' other entries whose current ones are a minute old. */
async function findReplaced(
  numbers: readonly (readonly string[])[],
  { documents, clock }: ListDeps,
) {
  const read = await documents.read(numbers.flat().map(doNotCallKeyOf));
  const entryOf = (hash = "") => read.get("do-not-call", hash);
  const until = clock.now() - stoodMsMin;
  return numbers.flatMap(([current, ...others]) => {
    if ((entryOf(current)?.value.at ?? Infinity) > until) return [];
    return others
      .flatMap((one) => entryOf(one) ?? [])
      .map(({ key, version }) => ({ ...doNotCallKeyOf(key), seen: version }));
  });
}

/**
 * Moves numbers from the former key to the current one. Unlike `putNumbers` nobody has asked for it, so it must not
 * undo a removal at the same time. It creates entries under the current key only if none was seen, and removes them
 * again if the former entry is gone afterwards. A former entry is removed only after the current one was overwritten,
 * so that no other process that removes its entry again removes the last one.
 *
 * @param numbers all hashes of each: first that of its canonical form under the current key
 */
export async function renewNumbers(
  numbers: readonly (readonly string[])[],
  deps: ListDeps,
): Promise<void> {
  for (const some of inParts(numbers)) await renewSome(some, deps);
}

async function renewSome(numbers: readonly (readonly string[])[], deps: ListDeps): Promise<void> {
  const { documents, clock, random } = deps;
  const now = clock.now();
  const read = await documents.read(numbers.flat().map(doNotCallKeyOf));
  const moves = numbers.flatMap(([hash = "", ...others]) => {
    const former = others.flatMap((one) => read.get("do-not-call", one) ?? []);
    const current = read.get("do-not-call", hash);
    const hasStood = (current?.value.at ?? 0) <= now - stoodMsMin;
    const [first] = former;
    if (first === undefined || !hasStood) return [];
    const value = current?.value ?? { at: now };
    // Opt-outs from test calls end.
    const { expiresAt } = current ?? first;
    const next = { ...doNotCallKeyOf(hash), version: random.version(), value, expiresAt };
    return [{ change: { next, seen: current?.version ?? null }, former }];
  });
  if (moves.length === 0) return;
  await nameKeys(
    moves.map(({ change }) => change.next.key),
    deps,
  );
  const written = await documents.write(moves.map(({ change }) => change));
  const done = moves.filter((_, index) => written[index] === true);
  const isNew = ({ change }: (typeof moves)[number]) => change.seen === null;
  const removeThose = async (
    all: readonly { kind: "do-not-call"; key: string; version: string }[],
  ) => {
    const removals = all.map(({ kind, key, version }) => ({ kind, key, seen: version }));
    if (removals.length > 0) await documents.remove(removals);
  };
  await removeThose(done.filter((move) => !isNew(move)).flatMap(({ former }) => former));
  const created = done.filter(isNew);
  if (created.length === 0) return;
  const left = await documents.read(created.flatMap(({ former }) => former));
  const isGone = ({ former }: (typeof moves)[number]) =>
    former.every(({ key }) => left.get("do-not-call", key) === undefined);
  await removeThose(created.filter(isGone).map(({ change }) => change.next));
}

/** Removes entries. Resolves to false if some were put back meanwhile. */
export async function removeEntries(
  entries: readonly string[],
  { documents }: Pick<ListDeps, "documents">,
): Promise<boolean> {
  let isRemoved = true;
  for (const some of inParts(entries)) {
    if (!(await removeDocuments(some.map(doNotCallKeyOf), documents))) isRemoved = false;
  }
  return isRemoved;
}

/** Splits items into parts that are written or removed at once. */
export function inParts<Item>(items: readonly Item[]): Item[][] {
  return Array.from({ length: Math.ceil(items.length / entriesAtOnce) }, (_, n) =>
    items.slice(n * entriesAtOnce, (n + 1) * entriesAtOnce),
  );
}

type List = ValueOf<"do-not-call-list">;

/**
 * Changes the list's document.
 *
 * @param change returns what is to stand, or undefined to leave it
 */
export async function changeList(
  change: (list: List) => List | undefined,
  deps: ListDeps,
): Promise<void> {
  await changeDocument(
    {
      name: doNotCallListKey,
      change: (list = { keys: [], current: null }) => {
        const value = change(list);
        return value && { value, expiresAt: null };
      },
    },
    deps,
  );
}
