import type { AckOrRetry, Delivered } from "#shared/ports/queue.ts";
import { type EventMessage, eventMessageSchema, isHint } from "#shared/ports/event-messages.ts";
import { parseClientReceiver } from "#shared/ports/receiver-kinds.ts";
import { errorForLog } from "#shared/lib/log.ts";
import type { UsageStep } from "#shared/policy/usage-ends.ts";
import type { DialerDeps, RowDeps } from "../runtime/context.ts";
import { createSemaphore, type Semaphore } from "../runtime/fair-semaphore.ts";
import { batchDeliverMessages } from "../events/batch-messages.ts";
import { deliverToReceiver } from "../events/deliver-events.ts";
import { serveInLane, withoutLane } from "../events/client-receiver-lane.ts";
import { runReceiverCommand } from "../events/receiver-commands.ts";
import { createChainedQueue } from "./chained-queue.ts";
import { openMessage } from "./open-message.ts";
import { retryLater } from "../runtime/retry-later.ts";
import { withOutbox } from "../runtime/time-limits.ts";
import { createBatch } from "../runtime/batch.ts";
import { pollLiveMs } from "../record/live-calls.ts";
import { countSteps } from "../record/write-decisions.ts";
import { pollAccount, pollLive } from "../results/poll-results.ts";
import { followCallback, hintAttemptsMax } from "../results/handle-callback.ts";
import { ProviderUnreachableError } from "#shared/providers/provider.ts";

/** Time needed for a callback: a look-up, a record, and their calls to the ledger. */
const callbackMsMax = 45_000;

/** Time for which a message waits for a slot. Hanging requests may hold all slots of the delivery. */
const slotMsMax = 1_000;

/** Maximum delay of a message that waits inside its delivery, and time for which it waits for the delivery's end. */
const soonSeconds = 3;
const resendMs = 500;
/** Maximum number of times that a message is sent again before it waits for the end of its delivery. */
const againMax = 2;

/** Facts of an account that one delivery has learnt. */
interface AccountProgress {
  /** True once the account did not answer. */
  isFailing: boolean;
  /** Names of accounts whose live calls were polled. An empty name stands for the due results. */
  polled: Set<string>;
  /** True once the delivery had no slot for one of the account's messages. */
  isCrowded: boolean;
}

/** A parsed message, and its index in the delivery. */
interface Opened<Message = EventMessage> {
  index: number;
  attempt: number;
  message: Message;
}
type ReceiverMessage = Extract<EventMessage, { receiver: string }>;
type AccountMessage = Exclude<EventMessage, ReceiverMessage>;

/** Slots and deadline that the messages of a delivery share. */
interface EventBatch {
  slots: Semaphore;
  deadline: number;
}

/**
 * Handles one delivery of the events queue and decides if its messages are acknowledged or retried. Never throws. The
 * messages of an account are handled one after another, those of a receiver together, and different accounts and
 * receivers side by side. A message that gets no slot soon is sent again, so that hanging requests block nothing
 * else.
 *
 * @param deps without an outbox, as the delivery has one of its own
 * @param deadline end of the invocation, in milliseconds since the epoch
 */
export async function consumeEvents(
  delivered: readonly Delivered[],
  given: DialerDeps,
  deadline: number,
): Promise<AckOrRetry[]> {
  const chained = createChainedQueue(given.eventsQueue);
  // Callbacks come one by one, and the counts of each would be a statement.
  const counts = createBatch<UsageStep>((steps) => countSteps(steps, given), given);
  const deps = { ...given, eventsQueue: chained.queue, countLater: counts.add };
  const batch = batchDeliverMessages(deps);
  const ready = withOutbox(deps, batch.deliver);
  const { concurrency, clock } = ready;
  const answers: AckOrRetry[] = [];
  const opened = await Promise.all(
    delivered.map(async (one, index): Promise<Opened[]> => {
      const { attempt } = one;
      const message = await openMessage(one, eventMessageSchema, ready);
      if (message !== undefined) return [{ index, attempt, message }];
      answers[index] = retryLater(attempt);
      return [];
    }),
  );
  chained.follow(opened.flat().map(({ message }) => message));
  const { ofReceivers, ofClients, ofAccounts } = groupMessages(opened.flat());
  let left = ofReceivers.size + ofClients.size + ofAccounts.size;
  const slots = createSemaphore({
    total: concurrency,
    limitOf: () => concurrency,
    isShared: () => left > 1,
    waitMsMax: slotMsMax,
    clock,
  });
  const ended = Promise.withResolvers<void>();
  const answer = async (own: readonly Opened[], following: Promise<AckOrRetry[]>) => {
    const results = await following;
    left -= 1;
    if (left === 0) ended.resolve();
    else if (results.some(isSoon)) await Promise.race([ended.promise, clock.sleep(resendMs)]);
    const sent = own.map(async ({ index, message }, n) => {
      const result = results[n] ?? "ack";
      answers[index] = left > 0 && isSoon(result) ? await sendAnew(message, result, ready) : result;
    });
    await Promise.all(sent);
  };
  const serve = (own: readonly Opened<ReceiverMessage>[]) =>
    answer(own, serveReceiver(own, { slots, deadline }, ready));
  const leave = (own: readonly Opened<ReceiverMessage>[]) =>
    answer(own, Promise.resolve(own.map((one) => withoutLane(one, ready))));
  await Promise.all([
    ...[...ofReceivers.values()].map(serve),
    serveInLane([...ofClients.values()], { serve, leave }, ready),
    ...[...ofAccounts.values()].map((own) =>
      answer(own, followAccount(own, { slots, deadline }, ready)),
    ),
  ]);
  await Promise.all([batch.flush(), counts.flush()]);
  return answers;
}

/** Groups messages by the receivers of the plan, by clients' own receivers, and by accounts. */
function groupMessages(opened: readonly Opened[]) {
  const ofReceivers = new Map<string, Opened<ReceiverMessage>[]>();
  const ofClients = new Map<string, Opened<ReceiverMessage>[]>();
  const ofAccounts = new Map<string, Opened<AccountMessage>[]>();
  for (const { message, ...one } of opened) {
    if ("receiver" in message) {
      const isOfClient = parseClientReceiver(message.receiver) !== undefined;
      append(isOfClient ? ofClients : ofReceivers, message.receiver, { ...one, message });
    } else append(ofAccounts, message.account, { ...one, message });
  }
  return { ofReceivers, ofClients, ofAccounts };
}

function isSoon(answer: AckOrRetry): answer is Exclude<AckOrRetry, "ack"> {
  return answer !== "ack" && answer.retryAfterSeconds <= soonSeconds;
}

/**
 * Sends a message again if it is to be retried soon. A retry by the queue would come only after the end of the whole
 * delivery, which another message may delay.
 */
async function sendAnew(
  message: EventMessage,
  answer: Exclude<AckOrRetry, "ack">,
  { eventsQueue }: Pick<DialerDeps, "eventsQueue">,
): Promise<AckOrRetry> {
  const again = (message.again ?? 0) + 1;
  // A retry by the queue does not lengthen a chain.
  if (again > againMax) return answer;
  const retry = { ...message, again };
  return eventsQueue.send(retry, answer.retryAfterSeconds).then(
    () => "ack" as const,
    () => answer,
  );
}

function append<Item>(map: Map<string, Item[]>, key: string, item: Item): void {
  const items = map.get(key);
  if (items === undefined) map.set(key, [item]);
  else items.push(item);
}

/**
 * Delivers events to a receiver, and executes one command of its client. A client may have many commands, each of
 * which may wait for an answer, and other clients' messages wait for the end of the delivery. Never throws, because
 * sweeps send messages for events that stay pending.
 */
async function serveReceiver(
  own: readonly Opened<ReceiverMessage>[],
  delivery: EventBatch,
  deps: RowDeps & Pick<DialerDeps, "eventsQueue" | "concurrency" | "sweepSeconds">,
): Promise<AckOrRetry[]> {
  try {
    const due = own.flatMap(({ message, attempt }) =>
      message.kind === "deliver" ? [{ message, attempt }] : [],
    );
    const delivered = (await deliverToReceiver(due, delivery, deps)).values();
    const answers: AckOrRetry[] = [];
    let isWished = false;
    for (const { message } of own) {
      if (message.kind === "deliver") answers.push(delivered.next().value ?? "ack");
      else if (isWished) answers.push({ retryAfterSeconds: 1 });
      else {
        isWished = true;
        answers.push(await runReceiverCommand(message, delivery.slots, deps));
      }
    }
    return answers;
  } catch (error) {
    const [{ attempt, message } = { attempt: 0, message: undefined }] = own;
    const receiver = message?.receiver ?? "";
    const fields = { message_kind: "deliver", receiver, attempt, error: errorForLog(error) };
    deps.log("warning", "events.failed", fields);
    return own.map((one) => (one.message.kind === "deliver" ? "ack" : retryLater(one.attempt)));
  }
}

/** Handles the messages of one account, one after another. Never throws. */
async function followAccount(
  own: readonly Opened<AccountMessage>[],
  { slots, deadline }: EventBatch,
  deps: DialerDeps,
): Promise<AckOrRetry[]> {
  const known: AccountProgress = { isFailing: false, polled: new Set(), isCrowded: false };
  const answers: AckOrRetry[] = [];
  for (const { message, attempt } of own) {
    using slot = known.isCrowded ? undefined : await slots.acquire(slotOf(message));
    known.isCrowded = slot === undefined;
    // Earlier messages may have been slow, and a callback that outlasts the invocation is not acknowledged.
    const isLate = message.kind === "callback" && deps.clock.now() + callbackMsMax > deadline;
    answers.push(
      slot === undefined || isLate
        ? { retryAfterSeconds: 1 }
        : await follow({ message, attempt, known, deadline }, deps),
    );
  }
  return answers;
}

/** Names an account in the delivery's semaphore. */
function slotOf({ account }: AccountMessage): string {
  return `account ${account}`;
}

/** Handles one message of an account. Never throws. */
async function follow(
  one: { message: AccountMessage; attempt: number; known: AccountProgress; deadline: number },
  deps: DialerDeps,
): Promise<AckOrRetry> {
  const { message, attempt, known, deadline } = one;
  try {
    if (message.kind === "poll")
      return await followPoll(message, { attempt, known, deadline }, deps);
    const isLeft = isHint(message) && known.isFailing;
    return isLeft ? retryOf(message, attempt) : await followCallback(message, attempt, deps);
  } catch (error) {
    const isUnreachable = error instanceof ProviderUnreachableError;
    if (isUnreachable) known.isFailing = true;
    deps.log("warning", isUnreachable ? "results.unreachable" : "events.failed", {
      message_kind: message.kind,
      account: message.account,
      attempt,
      error: errorForLog(isUnreachable ? error.cause : error),
    });
    return retryOf(message, attempt);
  }
}

/** Polls an account, once in a delivery. */
async function followPoll(
  poll: Extract<EventMessage, { kind: "poll" }>,
  { attempt, known, deadline }: { attempt: number; known: AccountProgress; deadline: number },
  deps: DialerDeps,
): Promise<AckOrRetry> {
  const { sentAt, live, again } = poll;
  const lifeMs = live === undefined ? deps.sweepSeconds * 1000 : pollLiveMs;
  // The next sweep or the dispatcher has sent a newer one, but where the queue lags it comes as late.
  const isOld = deps.clock.now() - sentAt > lifeMs && (attempt > 1 || again !== undefined);
  const of = live ?? "";
  if (isOld || known.polled.has(of)) return "ack";
  known.polled.add(of);
  if (live === undefined)
    return (await pollAccount(poll, deps, deadline)) ? "ack" : { retryAfterSeconds: 1 };
  await pollLive(live, deps, deadline);
  return "ack";
}

/** Retries a message, unless a sweep will do its work. */
function retryOf(message: EventMessage, attempt: number): AckOrRetry {
  const isCallback = message.kind === "callback";
  if (!isCallback || (isHint(message) && attempt >= hintAttemptsMax)) return "ack";
  return retryLater(attempt);
}
