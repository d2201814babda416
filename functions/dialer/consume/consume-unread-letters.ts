import { errorForLog } from "../../../shared/lib/log.ts";
import type { UnreadLetter } from "../../../shared/ports/dead-letters.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { handleDeadEvent } from "./consume-dead-events.ts";
import { handleDeadLetter } from "./consume-dead-letters.ts";

/** Maximum dead letters that are handled at once. */
const lettersMax = 50;

/**
 * Handles dead letters that were stored unread, as a consumer of their queue would: calls go to a person, late outcomes are
 * settled. What no version here can read is kept aside. What fails stays for the next time. Never throws.
 */
export async function consumeUnreadLetters(deps: DialerDeps): Promise<void> {
  const { unreadLetters, deadLetters, log } = deps;
  if (unreadLetters === undefined) return;
  try {
    for (const letter of await unreadLetters.list(lettersMax)) {
      const handled = await handle(letter, deps);
      if (handled === "failed") continue;
      if (handled === "unreadable") await deadLetters.store(letter.id, await letter.open());
      await unreadLetters.remove(letter);
    }
  } catch (error) {
    log("alarm", "store.unreachable", { error: errorForLog(error) });
  }
}

function handle(letter: UnreadLetter, deps: DialerDeps) {
  const delivered = { id: letter.id, attempt: 1, open: () => letter.open() };
  return letter.of === "events"
    ? handleDeadEvent(delivered, deps)
    : handleDeadLetter(delivered, deps);
}
