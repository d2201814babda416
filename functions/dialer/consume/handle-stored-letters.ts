import { errorForLog } from "../../../shared/lib/log.ts";
import { withTimeLimits } from "../../../shared/lib/retry.ts";
import { minuteMs } from "../../../shared/lib/units.ts";
import { queueOf, type StoredLetter } from "../../../shared/ports/dead-letters.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { queueSecondsMax } from "../runtime/time-limits.ts";
import { handleDeadEvent } from "./consume-dead-events.ts";
import { handleDeadLetter } from "./consume-dead-letters.ts";

/** Letters of one listed page, pages that are listed, and letters that one sweep handles. */
const pageLetters = 1_000;
const pagesMax = 10;
const lettersMax = 50;
/** Time after which a process tries a letter again that it could not handle. */
const retryMs = 30 * minuteMs;
/** Time after which a process lists letters again where there were none: a list costs as much as a write. */
const listAgainMs = 5 * minuteMs;
/** Time left before the end of the invocation: a letter of ten thousand calls takes some seconds. */
const endMarginMs = 30_000;

/**
 * Handles stored dead letters as a consumer of their queue would: calls go to a person, late outcomes are settled. What fails
 * stays, and is tried again half an hour later.
 *
 * A letter that this version cannot read stays too, and this process does not try it again: it waits for another version,
 * which is another process. Never throws.
 *
 * @param deadline end of the invocation, in milliseconds since the epoch
 */
export async function handleStoredLetters(unlimited: DialerDeps, deadline: number): Promise<void> {
  const deadLetters = withTimeLimits(unlimited.deadLetters, queueSecondsMax);
  const deps = { ...unlimited, deadLetters };
  const { random, memory, clock, log } = deps;
  if (clock.now() < memory.lettersListAt) return;
  try {
    const letters = await listLetters(deps);
    if (letters.length === 0) memory.lettersListAt = clock.now() + listAgainMs;
    forgetGone(letters, deps);
    const due = letters.filter(
      ({ name }) => (memory.lettersWaitUntil.get(name) ?? 0) <= clock.now(),
    );
    if (due.length === 0) return;
    // Each sweep begins elsewhere: letters that end their process keep no others waiting.
    const start = Math.floor(random.fraction() * due.length);
    for (const { name } of [...due.slice(start), ...due.slice(0, start)].slice(0, lettersMax)) {
      if (clock.now() > deadline - endMarginMs) return;
      await handleStored(name, deps);
    }
  } catch (error) {
    log("alarm", "store.unreachable", { error: errorForLog(error) });
  }
}

async function listLetters({ deadLetters }: DialerDeps): Promise<StoredLetter[]> {
  const letters: StoredLetter[] = [];
  for (let page = 0; page < pagesMax; page++) {
    const listed = await deadLetters.list({ after: letters.at(-1)?.name, limit: pageLetters });
    letters.push(...listed);
    if (listed.length < pageLetters) break;
  }
  return letters;
}

/** Forgets letters that are stored no more: one that was put back may come again. */
function forgetGone(letters: readonly StoredLetter[], { memory }: DialerDeps): void {
  const stored = new Set(letters.map(({ name }) => name));
  for (const name of memory.lettersWaitUntil.keys()) {
    if (!stored.has(name)) memory.lettersWaitUntil.delete(name);
  }
}

async function handleStored(name: string, deps: DialerDeps): Promise<void> {
  const { deadLetters, memory, clock } = deps;
  // Also where it cannot be fetched: the next sweep goes on with the others.
  memory.lettersWaitUntil.set(name, clock.now() + retryMs);
  const letter = await deadLetters.read(name);
  if (letter === undefined) return; // an operator has put it back meanwhile
  const delivered = { id: name, attempt: 1, open: async () => letter.body };
  const handle = queueOf(name) === "events" ? handleDeadEvent : handleDeadLetter;
  const handled = await handle(delivered, deps);
  if (handled === "done") return deadLetters.remove(name);
  if (handled === "unreadable") memory.lettersWaitUntil.set(name, Infinity);
}
