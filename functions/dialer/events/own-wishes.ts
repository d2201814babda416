import type { CallRow } from "../../../shared/calls/call-row.ts";
import { firstCallIdAt, requestIdOf, toCallId } from "../../../shared/calls/ids.ts";
import { isOwnReceiver, type OwnReceiver } from "../../../shared/dial-plan/receivers.ts";
import { sendDeliverMessages } from "../../../shared/events/outbox-ledger.ts";
import { replayRow } from "../../../shared/events/outbox-rows.ts";
import { wishMsMax } from "../../../shared/events/own-deliveries.ts";
import { ConflictError, onConflict, retry } from "../../../shared/lib/retry.ts";
import type { EventMessage } from "../../../shared/ports/event-messages.ts";
import { parseOwnReceiver } from "../../../shared/ports/receiver-kinds.ts";
import { readTries } from "../../../shared/ports/last-tries.ts";
import type { AckOrRetry } from "../../../shared/ports/queue.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { Semaphore } from "../runtime/fair-semaphore.ts";
import { slotOf, slowMs } from "./deliver-events.ts";
import { recordDeliveries, toTried } from "./own-deliveries.ts";
import { findReceiverOf, ownBreakerIn } from "./own-receivers.ts";
import { leaseIn, receiverKeyOf } from "./receiver-lease.ts";

type Wish = Extract<EventMessage, { kind: "test-event" | "replay" }>;

/** Calls that one message of a replay goes through, and requests of one page. Another message follows. */
const replayedCallsMax = 500;
const pageRequests = 50;
/** Calls of one read and one write, and maximum tries of the write if other writes come first. */
const callsAtOnce = 50;
const writesMax = 3;

/** Does what a client wants done with its own receiver. @throws if the ledger or the queue cannot be reached */
export async function fulfilWish(
  message: Wish,
  slots: Semaphore,
  deps: DialerDeps,
): Promise<AckOrRetry> {
  // The client may have made or changed the receiver just now, and what this process knows may be a minute old.
  deps.memory.ownReceivers.delete(parseOwnReceiver(message.receiver)?.client ?? "");
  const receiver = await findReceiverOf(message.receiver, deps);
  if (receiver === undefined || !isOwnReceiver(receiver)) return "ack";
  return message.kind === "replay"
    ? replayCalls(message, receiver, deps)
    : postTest(message, { receiver, slots }, deps);
}

/** Posts `receiver.test` once, at the receiver's pace. An open breaker does not keep it back, and its success closes it. */
async function postTest(
  { id, sentAt }: Extract<Wish, { kind: "test-event" }>,
  { receiver, slots }: { receiver: OwnReceiver; slots: Semaphore },
  deps: DialerDeps,
): Promise<AckOrRetry> {
  const { clock, documents, settings } = deps;
  if (clock.now() - sentAt > wishMsMax) return "ack";
  const read = await documents.read([receiverKeyOf(receiver.name)]);
  const lease = leaseIn(read, receiver, deps);
  const breaker = ownBreakerIn(read, receiver, deps);
  if (lease.isTaken || !(await lease.take())) return { retryAfterSeconds: 1 };
  let { nextAt, isSlow } = lease;
  try {
    const startAt = Math.max(nextAt, clock.now());
    await clock.sleep(startAt - clock.now());
    using slot = await slots.acquire(slotOf(receiver));
    if (slot === undefined) return { retryAfterSeconds: 1 };
    nextAt = startAt + 1000 / receiver.requestsPerSecond;
    const at = clock.now();
    const type = "receiver.test";
    const data = { receiver: receiver.own.name };
    const body = JSON.stringify({ type, timestamp: new Date(sentAt).toISOString(), data });
    const answer = await settings.postEvent(receiver, { id, body });
    const ms = clock.now() - at;
    isSlow = ms > slowMs;
    await breaker.note(answer);
    await recordDeliveries([toTried({ id, type, tries: 0 }, { answer, at, ms })], receiver, deps);
    return "ack";
  } finally {
    await lease.release({ nextAt, isSlow, ...breaker.stored?.() });
  }
}

/** Makes events of some of the client's calls pending again, newest requests first, and goes on in another message. */
async function replayCalls(
  message: Extract<Wish, { kind: "replay" }>,
  receiver: OwnReceiver,
  deps: DialerDeps,
): Promise<AckOrRetry> {
  const { ledger, eventsQueue } = deps;
  const { from, until } = message;
  const { client } = receiver.own;
  let { before = firstCallIdAt(until), index = 0 } = message;
  let left = replayedCallsMax;
  const page = await ledger.list({ client, before, limit: pageRequests });
  for (const { id, acceptedAt, batchCalls } of page.rows) {
    if (acceptedAt < from) return "ack";
    const count = Math.min(batchCalls - index, left);
    const first = index;
    const ids = Array.from({ length: count }, (_, n) => toCallId(requestIdOf(id), first + n));
    for (let start = 0; start < ids.length; start += callsAtOnce)
      await replaySome(ids.slice(start, start + callsAtOnce), receiver, deps);
    left -= count;
    index += count;
    if (index < batchCalls) break;
    [before, index] = [id, 0];
    if (left === 0) break;
  }
  const isAtEnd = left > 0 && page.next === undefined;
  if (!isAtEnd) {
    const next = left > 0 && page.next !== undefined ? page.next : before;
    await eventsQueue.send({ ...message, before: next, index }, 1);
  }
  return "ack";
}

/** Makes the events of some calls and their later tries pending again. */
async function replaySome(
  ids: readonly string[],
  receiver: OwnReceiver,
  deps: DialerDeps,
): Promise<void> {
  const { ledger, clock, random } = deps;
  const { name, createdAt } = receiver.own;
  const read = (some: readonly string[]) => ledger.read(some);
  const { rows } = await read(ids);
  const tries = await readTries(rows.values(), read);
  let left: CallRow[] = [...tries.values()].flat();
  await retry(async () => {
    const changes = left.flatMap((row) => {
      const to = { receiver: receiver.name, own: name };
      const isWanted = ({ at }: { at: number }) => at >= createdAt;
      const write = { version: random.version(), at: clock.now() };
      const next = replayRow(row, { ...to, isWanted }, write);
      return next === undefined ? [] : [{ next, seen: row.version }];
    });
    if (changes.length === 0) return;
    const done = await ledger.write(changes);
    await sendDeliverMessages(
      changes.filter((_, index) => done[index] === true),
      deps,
    );
    const lost = changes.flatMap(({ next }, index) => (done[index] === true ? [] : next.id));
    if (lost.length === 0) return;
    left = [...(await read(lost)).rows.values()];
    throw new ConflictError("a call was changed by others each time");
  }, onConflict(writesMax));
}
