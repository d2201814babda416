import type { AckOrRetry, Delivered } from "../../shared/queue/call-queue.ts";
import { type EventMessage, eventMessageSchema } from "../../shared/queue/event-messages.ts";
import { errorForLog } from "../../shared/platform/log.ts";
import type { DialerDeps } from "./context.ts";
import { createPlaces } from "./delivery/places.ts";
import { gatherTells } from "./events/gather-tells.ts";
import { tell } from "./events/tell.ts";
import { openMessage } from "./open-message.ts";
import { retryLater } from "./retry.ts";
import { withPortLimits } from "./wiring.ts";
import { askAccount } from "./results/ask.ts";
import { followCallback } from "./results/callback.ts";
import { UnansweredError } from "./results/unanswered.ts";

/** Number of deliveries after which a callback that is a hint is let go: the sweep has its account asked anyway. */
const hintAttemptsMax = 3;

/** Time needed for a callback: a look-up, a record, and their ledger calls. */
const callbackMsMax = 45_000;

/** Knowledge that one delivery has of its accounts and receivers. */
interface Known {
  /** Accounts that did not answer, and those that were asked for all that was due. */
  failing: Set<string>;
  asked: Set<string>;
  /** Time at which the delivery began to tell a receiver its events, by its name. */
  toldSince: Map<string, number>;
}

/**
 * Handles one delivery of the events queue and decides whether each message is acknowledged or retried. Never
 * throws. The messages of an account or a receiver go one after another, and those of several side by side, so that one
 * that hangs keeps no other waiting.
 *
 * @param deadline end of the invocation, in milliseconds since the epoch
 */
export async function handleEvents(
  delivered: readonly Delivered[],
  deps: DialerDeps,
  deadline: number,
): Promise<AckOrRetry[]> {
  const tells = gatherTells(deps);
  const ready = withPortLimits(deps, tells.tell);
  const { concurrency, clock } = ready;
  const known: Known = { failing: new Set(), asked: new Set(), toldSince: new Map() };
  const places = createPlaces({
    total: concurrency,
    limitOf: () => 1,
    isShared: () => false,
    waitMsMax: Infinity,
    clock,
  });
  const answers = await Promise.all(
    delivered.map(async ({ attempt, open }) => {
      const message = await openMessage(eventMessageSchema, open, attempt, ready);
      if (message === undefined) return retryLater(attempt);
      const release = await places.acquire(subjectOf(message));
      // The messages before it may have been slow, and a callback that outlasts the invocation is not acknowledged.
      const isLate = message.kind === "callback" && clock.now() + callbackMsMax > deadline;
      const answer = isLate
        ? ({ retryAfterSeconds: 1 } as const)
        : await follow(message, attempt, known, ready, deadline);
      release?.();
      return answer;
    }),
  );
  await tells.flush();
  return answers;
}

/** Acknowledges events that failed each time. But for signed ones they are hints: the sweep asks for results again. */
export function acknowledgeDeadEvents(
  delivered: readonly Delivered[],
  { log }: Pick<DialerDeps, "log">,
): AckOrRetry[] {
  log("warning", "events.dead", { count: delivered.length });
  return delivered.map(() => "ack");
}

/** Names the account or the receiver of a message. */
function subjectOf(message: EventMessage): string {
  return message.kind === "tell" ? `receiver ${message.receiver}` : `account ${message.account}`;
}

/** Handles one message. Never throws. */
async function follow(
  message: EventMessage,
  attempt: number,
  known: Known,
  deps: DialerDeps,
  deadline: number,
): Promise<AckOrRetry> {
  try {
    if (message.kind === "tell") return await followTell(message, known, deps, deadline);
    if (message.kind === "ask") return await followAsk(message, known, deps, deadline);
    const isLeft = isHint(message) && known.failing.has(message.account);
    return isLeft ? laterOf(message, attempt) : await followCallback(message, deps);
  } catch (error) {
    const isUnanswered = error instanceof UnansweredError;
    if (isUnanswered && "account" in message) known.failing.add(message.account);
    deps.log("warning", isUnanswered ? "results.unanswered" : "events.failed", {
      message_kind: message.kind,
      ...("account" in message ? { provider: message.account } : { receiver: message.receiver }),
      attempt,
      error: errorForLog(isUnanswered ? error.cause : error),
    });
    return laterOf(message, attempt);
  }
}

/** Tells a receiver its events. All messages of a delivery share the time that it has for the receiver. */
async function followTell(
  message: Extract<EventMessage, { kind: "tell" }>,
  { toldSince }: Known,
  deps: DialerDeps,
  deadline: number,
): Promise<AckOrRetry> {
  const begunAt = toldSince.get(message.receiver) ?? deps.clock.now();
  toldSince.set(message.receiver, begunAt);
  await tell(message, begunAt, deps, deadline);
  return "ack";
}

/** Asks an account, once in a delivery. */
async function followAsk(
  { account, sentAt }: Extract<EventMessage, { kind: "ask" }>,
  { asked }: Known,
  deps: DialerDeps,
  deadline: number,
): Promise<AckOrRetry> {
  // The next sweep has sent another one.
  const isOld = deps.clock.now() - sentAt > deps.sweepSeconds * 1000;
  if (isOld || asked.has(account)) return "ack";
  asked.add(account);
  await askAccount(account, deps, deadline);
  return "ack";
}

/** True for a callback that the provider's record confirms: without it the sweep has the account asked. */
function isHint(message: EventMessage): boolean {
  return message.kind === "callback" && message.signed === undefined;
}

/** Hands a message back, unless a sweep does the same without it. */
function laterOf(message: EventMessage, attempt: number): AckOrRetry {
  const isCallback = message.kind === "callback";
  if (!isCallback || (isHint(message) && attempt >= hintAttemptsMax)) return "ack";
  return retryLater(attempt);
}
