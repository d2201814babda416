import type { AckOrRetry, Delivered } from "../../../shared/queue/call-queue.ts";
import { type EventMessage, eventMessageSchema } from "../../../shared/queue/event-messages.ts";
import { errorForLog } from "../../../shared/platform/log.ts";
import type { DialerDeps } from "../context.ts";
import { createPlaces } from "../delivery/places.ts";
import { openMessage } from "../open-message.ts";
import { retryLater } from "../retry.ts";
import { withPortLimits } from "../wiring.ts";
import { askAccount } from "./ask.ts";
import { followCallback } from "./callback.ts";
import { UnansweredError } from "./unanswered.ts";

/** Number of deliveries after which a callback that is a hint is let go: the sweep has its account asked anyway. */
const hintAttemptsMax = 3;

/** Time needed for a callback: a look-up, a record, and their ledger calls. */
const callbackMsMax = 45_000;

/** The accounts of one delivery: those that did not answer, and those that were asked for all that was due. */
interface Accounts {
  failing: Set<string>;
  asked: Set<string>;
}

/**
 * Handles one delivery of the events queue and decides whether each message is acknowledged or retried. Never
 * throws. The messages of an account go one after another, and those of several accounts side by side, so that an
 * account that hangs keeps no other waiting.
 *
 * @param deadline end of the invocation, in milliseconds since the epoch
 */
export async function handleEvents(
  delivered: readonly Delivered[],
  deps: DialerDeps,
  deadline: number,
): Promise<AckOrRetry[]> {
  const ready = withPortLimits(deps);
  const { concurrency, clock } = ready;
  const accounts: Accounts = { failing: new Set(), asked: new Set() };
  const places = createPlaces({
    total: concurrency,
    limitOf: () => 1,
    isShared: () => false,
    waitMsMax: Infinity,
    clock,
  });
  return Promise.all(
    delivered.map(async ({ attempt, open }) => {
      const message = await openMessage(eventMessageSchema, open, attempt, ready);
      if (message === undefined) return retryLater(attempt);
      const release = await places.acquire(message.account);
      // Those before it may have been slow. What is handled at the very end would not be acknowledged.
      const isLate = message.kind === "callback" && clock.now() + callbackMsMax > deadline;
      const answer = isLate
        ? ({ retryAfterSeconds: 1 } as const)
        : await follow(message, attempt, accounts, ready, deadline);
      release?.();
      return answer;
    }),
  );
}

/** Acknowledges events that failed each time. But for signed ones they are hints: the sweep asks for results again. */
export function acknowledgeDeadEvents(
  delivered: readonly Delivered[],
  { log }: Pick<DialerDeps, "log">,
): AckOrRetry[] {
  log("warning", "events.dead", { count: delivered.length });
  return delivered.map(() => "ack");
}

async function follow(
  message: EventMessage,
  attempt: number,
  { failing, asked }: Accounts,
  deps: DialerDeps,
  deadline: number,
): Promise<AckOrRetry> {
  const { account, kind } = message;
  const isHint = kind === "callback" && message.signed === undefined;
  const later = (): AckOrRetry =>
    kind === "ask" || (isHint && attempt >= hintAttemptsMax) ? "ack" : retryLater(attempt);
  try {
    if (kind === "callback") {
      if (isHint && failing.has(account)) return later();
      return await followCallback(message, deps);
    }
    // The next sweep has sent another one.
    const isOld = deps.clock.now() - message.sentAt > deps.sweepSeconds * 1000;
    if (isOld || asked.has(account)) return "ack";
    asked.add(account);
    await askAccount(account, deps, deadline);
    return "ack";
  } catch (error) {
    const isUnanswered = error instanceof UnansweredError;
    if (isUnanswered) failing.add(account);
    deps.log("warning", isUnanswered ? "results.unanswered" : "events.failed", {
      message_kind: kind,
      provider: account,
      attempt,
      error: errorForLog(isUnanswered ? error.cause : error),
    });
    return later();
  }
}
