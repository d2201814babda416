import { errorForLog } from "../../../shared/lib/log.ts";
import type { UnreadLetter } from "../../../shared/ports/dead-letters.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { handleDeadEvent } from "./consume-dead-events.ts";
import { handleDeadLetter, storeWhole } from "./consume-dead-letters.ts";

/** Maximum dead letters of one list, and maximum handled at once. */
const listedMax = 1_000;
const lettersMax = 50;

/**
 * Handles dead letters that were stored unread, as a consumer of their queue would: calls go to a person, outcomes
 * are settled. Letters that this version cannot read are stored as unreadable. Letters that fail stay, and the next
 * run begins elsewhere in the list, so that letters which always fail block no others. Never throws.
 */
export async function consumeUnreadLetters(deps: DialerDeps): Promise<void> {
  const { unreadLetters, random, log } = deps;
  if (unreadLetters === undefined) return;
  try {
    const listed = await unreadLetters.list(listedMax);
    const start = Math.floor(random.fraction() * listed.length);
    for (const letter of [...listed.slice(start), ...listed.slice(0, start)].slice(0, lettersMax)) {
      if (await isHandled(letter, deps)) await unreadLetters.remove(letter);
    }
  } catch (error) {
    log("alarm", "store.unreachable", { error: errorForLog(error) });
  }
}

async function isHandled(letter: UnreadLetter, deps: DialerDeps): Promise<boolean> {
  const delivered = { id: letter.id, attempt: 1, open: () => letter.open() };
  const handle = letter.of === "events" ? handleDeadEvent : handleDeadLetter;
  const handled = await handle(delivered, deps);
  if (handled === "unreadable") return (await storeWhole(delivered, deps)) === "ack";
  return handled === "done";
}
