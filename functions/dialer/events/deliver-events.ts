import type { DeliveryOutcome } from "#shared/calls/call-event.ts";
import { pendingOf } from "#shared/events/outbox-rows.ts";
import { isClientReceiver, type Receiver } from "#shared/dial-plan/receivers.ts";
import type { AckOrRetry } from "#shared/ports/queue.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import type { DialerDeps, RowDeps } from "../runtime/context.ts";
import type { Semaphore } from "../runtime/fair-semaphore.ts";
import type { EventAnswer } from "../runtime/post-event.ts";
import {
  healthKeysOf,
  codeOf,
  isTaken,
  type ReceiverHealth,
  receiverHealthIn,
} from "./receiver-health.ts";
import { leaseIn, receiverKeyOf, type ReceiverLease } from "./receiver-lease.ts";
import { recordDeliveries, toTried, type Tried } from "./client-receiver-deliveries.ts";
import { findReceiverOf, clientReceiverHealthIn } from "./client-receivers.ts";
import { readPending, type PendingEvent, writeDeliveries } from "./due-events.ts";

type DeliverMessage = Extract<EventMessage, { kind: "deliver" }>;

/** Events per write of outcomes. After a process dies, at most so many events are delivered again. */
const eventsPerWrite = 25;
/** Time reserved for the last answer, its write, and the acknowledgement of the message. */
const afterPostsMs = 35_000;
/** Time in which one delivery begins requests to a receiver before other receivers have their turns. */
const turnMs = 1_000;
/** A receiver counts as slow after an answer that takes this long, until one takes less. */
export const slowMs = 5_000;
/** Maximum delay of a message while another invocation has its receiver's lease. */
const leasedSecondsMax = 16;

/** A `deliver` message. `attempt`: number of its delivery by the queue. */
export interface DeliveredMessage {
  message: DeliverMessage;
  attempt: number;
}

/** Result of a turn: the calls and requests that are left, and the delay of their messages. */
interface Left {
  ids: readonly string[];
  /** Undefined: a delay that grows with the number of deliveries. */
  afterSeconds?: number;
}
const nothing: Left = { ids: [] };

/**
 * Delivers the pending events of some calls and requests to a receiver, at its pace, for one turn. If there is no
 * time for an event, its message is retried, or the event stays pending in the ledger, where a sweep finds it.
 *
 * One invocation at a time delivers to a receiver. A slow receiver gets one request at a time and, unless it was
 * left alone for the interval of a sweep, events only by the sweeps' messages. After a request without an answer, a receiver waits for the next sweep.
 *
 * @param delivered a delivery's messages of one receiver
 * @param deadline end of the invocation, in milliseconds since the epoch
 * @throws if the ledger cannot be read or written; the events stay due
 */
export async function deliverToReceiver(
  delivered: readonly DeliveredMessage[],
  { slots, deadline }: { slots: Semaphore; deadline: number },
  deps: RowDeps & Pick<DialerDeps, "eventsQueue" | "concurrency" | "sweepSeconds">,
): Promise<AckOrRetry[]> {
  const { clock, documents, sweepSeconds } = deps;
  const [first] = delivered;
  const receiver = first && (await findReceiverOf(first.message.receiver, deps));
  if (receiver === undefined) return [];
  const { own } = receiver;
  const healthKeys = own === undefined ? healthKeysOf(receiver) : [];
  const read = await documents.read([...healthKeys, receiverKeyOf(receiver.name)]);
  const lease = leaseIn(read, receiver, deps);
  // The next sweep sends newer messages, but where the queue lags they come as late. A slow receiver has one turn for all.
  const isOld = ({ message: { sentAt, again }, attempt }: DeliveredMessage) =>
    clock.now() - sentAt > sweepSeconds * 1000 &&
    (attempt > 1 || again !== undefined || (lease.isSlow && lease.nextAt > sentAt));
  const fresh = delivered.filter((one) => !isOld(one));
  const wanted = fresh.filter(({ message }) => message.swept || !lease.isSweptOnly);
  const health = (own === undefined ? receiverHealthIn : clientReceiverHealthIn)(
    read,
    receiver,
    deps,
  );
  const left = await takeTurn(wanted, { receiver, lease, health, slots, deadline }, deps);
  const ids = new Set(left.ids);
  return delivered.map(({ message: { calls, requests }, attempt }) => {
    if (![...calls, ...requests].some((id) => ids.has(id))) return "ack";
    return {
      retryAfterSeconds: left.afterSeconds ?? Math.min(2 ** (attempt - 1), leasedSecondsMax),
    };
  });
}

interface Turn {
  receiver: Receiver;
  lease: ReceiverLease;
  health: ReceiverHealth;
  slots: Semaphore;
  deadline: number;
}

/** If events are pending, takes the receiver's lease, delivers events for one turn, and ends the lease. */
async function takeTurn(
  messages: readonly DeliveredMessage[],
  turn: Turn,
  deps: RowDeps & Pick<DialerDeps, "eventsQueue" | "concurrency">,
): Promise<Left> {
  const { clock } = deps;
  const { receiver, lease, health, deadline } = turn;
  if (await lease.isTaken()) return { ids: idsOf(messages) };
  if (health.isDown && !health.isProbeDue) return nothing;
  let delivery: ReceiverTurn | undefined;
  try {
    for await (const part of readParts(messages, receiver, deps)) {
      const pending = await readPending(part, receiver, deps);
      if (pending.length === 0 && part.isLast) break;
      if (pending.length === 0) continue;
      if (delivery === undefined) {
        if (!(await lease.take())) return { ids: idsOf(messages) };
        const endAt = Math.min(clock.now() + turnMs, deadline - afterPostsMs);
        delivery = { ...turn, endAt, nextAt: lease.nextAt, isProbe: false, tried: [] };
      }
      const left = await deliverDue(pending, delivery, deps);
      if (left === "others") return nothing;
      if (left !== undefined) return { ids: part.left, afterSeconds: left };
    }
    return nothing;
  } finally {
    if (delivery !== undefined) {
      const { nextAt, tried, isSlow = lease.isSlow } = delivery;
      if (isClientReceiver(receiver)) await recordDeliveries(tried, receiver, deps);
      await lease.release({ nextAt, isSlow, ...health.stored?.() });
    }
  }
}

/** Calls and requests of which some events may be due. */
interface Part {
  calls: string[];
  requests: string[];
  /** The calls and requests whose messages are retried if there is no time for these. */
  left: string[];
  /** True if no part follows when none of these events is due. */
  isLast: boolean;
}

/**
 * Yields the calls and requests of messages, as many as one write takes. If messages were retried, other due events
 * of the ledger follow, which deliveries left pending meanwhile.
 */
async function* readParts(
  messages: readonly DeliveredMessage[],
  { name, own }: Receiver,
  { ledger, clock }: Pick<DialerDeps, "ledger" | "clock">,
): AsyncGenerator<Part> {
  const ids = idsOf(messages);
  const known = new Set(messages.flatMap(({ message }) => message.calls));
  for (let start = 0; start < ids.length; start += eventsPerWrite) {
    const some = ids.slice(start, start + eventsPerWrite);
    const calls = some.filter((id) => known.has(id));
    const requests = some.filter((id) => !known.has(id));
    yield { calls, requests, left: ids.slice(start), isLast: false };
  }
  while (messages.some(({ attempt, message }) => attempt > 1 || message.again !== undefined)) {
    const list = own === undefined ? pendingOf(name) : name;
    const of = own === undefined ? "events" : "client-receiver-events";
    const query = { of, lanes: [{ key: list }], until: clock.now() } as const;
    const [due = []] = await ledger.due({ ...query, each: eventsPerWrite });
    yield { calls: due.map(({ id }) => id), requests: [], left: ids.slice(0, 1), isLast: true };
  }
}

/** Returns the calls of messages, then their requests. */
function idsOf(messages: readonly DeliveredMessage[]): string[] {
  const calls = messages.flatMap(({ message }) => message.calls);
  return [...new Set([...calls, ...messages.flatMap(({ message }) => message.requests)])];
}

/** The state of a receiver's turn under its lease. */
interface ReceiverTurn extends Turn {
  /** Latest time at which the turn begins a request. */
  endAt: number;
  /** Earliest time of the next request. */
  nextAt: number;
  /** True for a probe of a receiver that is down, whose failure does not count as a try. */
  isProbe: boolean;
  /** The tries of this turn. */
  tried: Tried[];
  /** True once an answer of this turn was slow. Undefined: no answer yet. */
  isSlow?: boolean;
  /** True once a request was not answered at all. */
  isHanging?: boolean;
  /** True once the delivery had no slot for a request. */
  isCrowded?: boolean;
}

/**
 * Delivers pending events. If the receiver is down, the first event is its probe.
 *
 * @returns undefined if all were delivered; otherwise the delay of the message in seconds, or `others` if another
 * message delivers the rest
 */
async function deliverDue(
  pending: readonly PendingEvent[],
  delivery: ReceiverTurn,
  deps: Pick<
    DialerDeps,
    "eventsQueue" | "ledger" | "documents" | "settings" | "clock" | "random" | "concurrency" | "log"
  >,
): Promise<number | "others" | undefined> {
  const { health } = delivery;
  const [first] = pending;
  if (health.isDown && first !== undefined) {
    await using probe = await health.takeProbe();
    if (probe === undefined) return "others";
    delivery.isProbe = true;
    const isProbed = await deliverSome([first], delivery, deps);
    delivery.isProbe = false;
    if (isProbed) probe.spend();
    if (health.isDown) return "others";
    if (pending.length === 1) return undefined;
    return deliverDue(pending.slice(1), delivery, deps);
  }
  if (await deliverSome(pending, delivery, deps)) return undefined;
  // A sweep sends messages for them.
  if (health.isDown || delivery.isHanging === true) return "others";
  if (delivery.isCrowded === true) return 1;
  return Math.max(0, Math.floor((delivery.nextAt - deps.clock.now()) / 1000));
}

/** Delivers some events, and writes their outcomes. Resolves to false if some are left. */
async function deliverSome(
  events: readonly PendingEvent[],
  delivery: ReceiverTurn,
  deps: Pick<
    DialerDeps,
    "eventsQueue" | "ledger" | "documents" | "settings" | "clock" | "random" | "concurrency" | "log"
  >,
): Promise<boolean> {
  const { clock, concurrency } = deps;
  const { receiver, health, lease, slots } = delivery;
  const delivered = new Map<PendingEvent, DeliveryOutcome>();
  const next = events.values();
  const isSlow = delivery.isSlow ?? lease.isSlow;
  const atOnce = isSlow ? 1 : concurrency - Math.floor(concurrency / 3);
  // Each worker takes the next event once it has delivered one.
  const workers = Array.from({ length: atOnce }, async () => {
    for (const event of next) {
      const startAt = Math.max(delivery.nextAt, clock.now());
      if (startAt >= delivery.endAt) return;
      delivery.nextAt = startAt + 1000 / receiver.requestsPerSecond;
      await clock.sleep(startAt - clock.now());
      using slot = await slots.acquire(slotOf(receiver));
      if (slot === undefined) delivery.isCrowded = true;
      const isOver = clock.now() >= delivery.endAt || (health.isDown && !delivery.isProbe);
      if (slot === undefined || isOver) return;
      delivered.set(event, await deliverOne(event, delivery, deps));
    }
  });
  await Promise.all(workers);
  await writeDeliveries(delivered, receiver, deps);
  return delivered.size === events.length;
}

/** Names a receiver in the invocation's semaphore. */
export function slotOf({ name }: Pick<Receiver, "name">): string {
  return `receiver ${name}`;
}

async function deliverOne(
  event: PendingEvent,
  delivery: ReceiverTurn,
  deps: Pick<DialerDeps, "clock" | "settings" | "log">,
): Promise<DeliveryOutcome> {
  const { clock, settings, log } = deps;
  const { receiver, health } = delivery;
  const begunAt = clock.now();
  const answer = await settings.postEvent(receiver, event.posted);
  const ms = clock.now() - begunAt;
  delivery.isSlow ??= false;
  if (ms > slowMs) {
    delivery.isSlow = true;
    delivery.isHanging ||= !("status" in answer);
  }
  delivery.tried.push(toTried({ ...event, id: event.posted.id }, { answer, at: begunAt, ms }));
  await health.record(answer);
  const fields = { event_id: event.posted.id, receiver: receiver.name, code: codeOf(answer), ms };
  log(
    isTaken(answer) ? "info" : "warning",
    isTaken(answer) ? "event.delivered" : "event.delivery_failed",
    fields,
  );
  return toOutcome(answer, delivery);
}

/** Returns the outcome of a delivery by its answer. A failed probe does not count as a try. */
function toOutcome(answer: EventAnswer, { isProbe }: ReceiverTurn): DeliveryOutcome {
  if (isTaken(answer)) return { kind: "taken" };
  if (isProbe) return { kind: "deferred" };
  return { kind: "failed", retryAfterMs: "status" in answer ? answer.retryAfterMs : undefined };
}
