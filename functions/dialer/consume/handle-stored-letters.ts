import { errorForLog } from "#shared/lib/log.ts";
import { minuteMs } from "#shared/lib/units.ts";
import { queueOf, type StoredLetter } from "#shared/ports/dead-letters.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { writeLease } from "../runtime/lease.ts";
import { handleDeadEvent } from "./handle-dead-event.ts";
import { handleDeadLetter } from "./handle-dead-letter.ts";

/** Letters of one listed page, pages that are listed, and letters that one sweep handles. */
const pageLetters = 1_000;
const pagesMax = 10;
const lettersMax = 50;
/** Bytes of the letters that one sweep handles: a large request takes many of D1's thousand queries of an invocation. */
const bytesMax = 16 * 1024 * 1024;
/** Statements that a letter of ten thousand calls may take. The sweep before has left some. */
const letterStatements = 200;
/** Time after which a letter is tried again that could not be handled, or that killed its process. */
const retryMs = 30 * minuteMs;
/** Time after which a process lists letters again if there were none, because a list costs as much as a write. */
const listAgainMs = 5 * minuteMs;
/** Time left before the end of the invocation: a letter of ten thousand calls takes some seconds. */
const endMarginMs = 30_000;

/**
 * Handles stored dead letters: calls go to a person, late outcomes are settled. A letter that fails stays, and is
 * tried again half an hour later. A letter that this version cannot read stays too, and this process does not try it
 * again: it waits for another version, which is another process. Never throws.
 *
 * @param deadline end of the invocation, in milliseconds since the epoch
 */
export async function handleStoredLetters(deps: DialerDeps, deadline: number): Promise<void> {
  const { random, memory, clock, log } = deps;
  if (clock.now() < memory.letters.listAt) return;
  try {
    const letters = await listLetters(deps);
    if (letters.length === 0) memory.letters.listAt = clock.now() + listAgainMs;
    forgetGone(letters, deps);
    const due = letters.filter(
      ({ name }) => (memory.letters.waitUntil.get(name) ?? 0) <= clock.now(),
    );
    if (due.length === 0) return;
    // Each sweep begins elsewhere, so that letters that kill their process do not delay the others.
    const start = Math.floor(random.fraction() * due.length);
    let handled = 0;
    const chosen = [...due.slice(start), ...due.slice(0, start)].slice(0, lettersMax);
    for (const { name, bytes } of chosen) {
      if (clock.now() > deadline - endMarginMs || handled >= bytesMax) return;
      if (deps.statementsLeft() < letterStatements) return;
      handled += bytes;
      await handleAlone(name, deps);
    }
  } catch (error) {
    log("alarm", "store.unreachable", { error: errorForLog(error) });
  }
}

async function listLetters({
  deadLetters,
}: Pick<DialerDeps, "deadLetters">): Promise<StoredLetter[]> {
  const letters: StoredLetter[] = [];
  let after: string | undefined;
  for (let page = 0; page < pagesMax; page++) {
    const listed = await deadLetters.list({ after, limit: pageLetters });
    letters.push(...listed.letters);
    if (listed.next === undefined) break;
    after = listed.next;
  }
  return letters;
}

/** Forgets letters that are no longer stored: a letter that was put back may return. */
function forgetGone(
  letters: readonly StoredLetter[],
  { memory }: Pick<DialerDeps, "memory">,
): void {
  const stored = new Set(letters.map(({ name }) => name));
  for (const name of memory.letters.waitUntil.keys()) {
    if (!stored.has(name)) memory.letters.waitUntil.delete(name);
  }
}

/**
 * Handles a letter under a lease, which expires half an hour after its process has died: the letter may be what kills
 * processes, together with deliveries that have nothing to do with it.
 */
async function handleAlone(name: string, deps: DialerDeps): Promise<void> {
  const { documents, memory, clock, log } = deps;
  // If the letter cannot be fetched either, the next sweep continues with the others.
  const expiresAt = clock.now() + retryMs;
  memory.letters.waitUntil.set(name, expiresAt);
  const key = { kind: "lease", key: `letter:${name}` } as const;
  const lease = await writeLease({ ...key, value: {}, expiresAt }, null, deps).catch(
    (error: unknown) => {
      log("alarm", "ledger.unreachable", { error: errorForLog(error) });
    },
  );
  if (lease === undefined) return;
  try {
    await handleStored(name, deps);
  } finally {
    // otherwise the lease expires
    await documents.remove([{ ...key, seen: lease.version }]).catch(() => undefined);
  }
}

async function handleStored(name: string, deps: DialerDeps): Promise<void> {
  const { deadLetters, memory } = deps;
  const letter = await deadLetters.read(name);
  if (letter === undefined) return; // an operator has put it back meanwhile
  const delivered = { id: name, attempt: 1, open: async () => letter.body };
  const handle = queueOf(name) === "events" ? handleDeadEvent : handleDeadLetter;
  const handled = await handle(delivered, deps);
  if (handled === "done") return deadLetters.remove(name);
  if (handled === "unreadable") memory.letters.waitUntil.set(name, Infinity);
}
