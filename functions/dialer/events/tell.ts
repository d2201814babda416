import type { Told } from "../../../shared/calls/call-event.ts";
import { type Receiver, receiverNamed } from "../../../shared/dial-plan/receivers.ts";
import { paceOf } from "../../../shared/schedule/pacing.ts";
import type { EventMessage } from "../../../shared/queue/event-messages.ts";
import type { DialerDeps } from "../context.ts";
import { codeOf, isTaken, readReceiverBreaker, type ReceiverBreaker } from "./receiver-breaker.ts";
import type { EventAnswer } from "./post-event.ts";
import { readUntold, type Untold, writeTold } from "./untold.ts";

type TellMessage = Extract<EventMessage, { kind: "tell" }>;

/** Events that are told before what became of them is written: a process that dies repeats at most so many. */
const eventsPerWrite = 25;
/** Time left for the last answer, its write and the acknowledgement of the message. */
const afterPostsMs = 35_000;
/** Time for which one delivery tells a receiver its events. */
const tellingMsMax = 45_000;
/** The same where messages have waited: a third of a minute, so that other receivers' events get their turn. */
const tellingMsInCrowd = 20_000;
/** Age of a message from which on the queue counts as crowded. */
const crowdedMs = 5_000;
/** Time of an answer from which on a receiver counts as slow, and time for which it does. */
const slowMs = 5_000;
const slowForMs = 120_000;
/** Time for which one delivery tells a slow receiver. */
const tellingMsSlow = 5_000;

/**
 * Tells a receiver the events of some calls and requests that are due, at its pace. What there is no time for stays
 * due in the ledger, and a sweep has it told.
 *
 * A receiver that hangs or fails must not keep other receivers' events, or callbacks, from being handled. So it holds a
 * third of the delivery's requests at most, its messages are dropped when the next sweep has sent others, and one that
 * is slow is only told by the sweep's messages, for a few seconds each.
 *
 * @param begunAt time at which this delivery began to tell this receiver
 * @param deadline end of the invocation, in milliseconds since the epoch
 * @throws if the ledger cannot be read or written; the events stay due
 */
export async function tell(
  message: TellMessage,
  begunAt: number,
  deps: DialerDeps,
  deadline: number,
): Promise<void> {
  const { clock, settings, sweepSeconds, memory } = deps;
  const receiver = receiverNamed(message.receiver, settings.plan);
  const ageMs = clock.now() - message.sentAt;
  // The next sweep has sent another one.
  if (receiver === undefined || ageMs > sweepSeconds * 1000) return;
  const isSlow = (memory.slowReceivers.get(receiver.name) ?? 0) > clock.now();
  if (isSlow && !message.swept) return;
  const forMs = isSlow ? tellingMsSlow : ageMs > crowdedMs ? tellingMsInCrowd : tellingMsMax;
  const endAt = Math.min(begunAt + forMs, deadline - afterPostsMs);
  const breaker = await readReceiverBreaker(receiver, deps);
  const probe = breaker.isOpen ? await breaker.takeProbe() : undefined;
  if (breaker.isOpen && probe === undefined) return;
  const untold = clock.now() >= endAt ? [] : await readUntold(message, receiver, deps);
  const [first] = untold;
  if (first === undefined) return probe?.giveBack();
  const telling = { receiver, breaker, endAt, nextAt: 0, isProbe: probe !== undefined };
  let left = untold;
  if (probe !== undefined) {
    const isProbed = await tellSome([first], telling, deps);
    if (!isProbed) return probe.giveBack();
    telling.isProbe = false;
    left = untold.slice(1);
  }
  while (left.length > 0 && !breaker.isOpen && clock.now() < telling.endAt) {
    const isWhole = await tellSome(left.slice(0, eventsPerWrite), telling, deps);
    if (!isWhole) return;
    left = left.slice(eventsPerWrite);
  }
}

interface TellingTo {
  receiver: Receiver;
  breaker: ReceiverBreaker;
  /** Time at which telling ends: sooner once the receiver has answered slowly. */
  endAt: number;
  /** Earliest time of the next request: a permit that comes late behind a slow answer must not add to a burst. */
  nextAt: number;
  /** True for a probe of the receiver's breaker: its failure counts for no try. */
  isProbe: boolean;
}

/** Tells some events, and writes what became of them. Resolves to false if there was no time for all. */
async function tellSome(
  events: readonly Untold[],
  telling: TellingTo,
  deps: DialerDeps,
): Promise<boolean> {
  const { documents, clock, concurrency } = deps;
  const { receiver, breaker } = telling;
  const pace = { kind: "pace", key: `receiver:${receiver.name}` } as const;
  const moments = await documents.takePermits(
    pace,
    paceOf(receiver.requestsPerSecond, 1),
    events.length,
    { notBefore: clock.now(), notAfter: telling.endAt },
  );
  const told = new Map<Untold, Told>();
  const paced = events.slice(0, moments.length).map((event, n) => ({ event, at: moments[n] ?? 0 }));
  const next = paced.values();
  const atOnce = Math.max(1, Math.floor(concurrency / 3));
  // Each of these takes the next event once it has told one.
  const tellers = Array.from({ length: atOnce }, async () => {
    for (const { event, at } of next) {
      const startAt = Math.max(at, telling.nextAt, clock.now());
      telling.nextAt = startAt + 1000 / receiver.requestsPerSecond;
      await clock.sleep(startAt - clock.now());
      if (clock.now() >= telling.endAt || (breaker.isOpen && !telling.isProbe)) return;
      told.set(event, await tellOne(event, telling, deps));
    }
  });
  await Promise.all(tellers);
  await writeTold(told, receiver, deps);
  return told.size === events.length;
}

async function tellOne(event: Untold, telling: TellingTo, deps: DialerDeps): Promise<Told> {
  const { clock, settings, memory, log } = deps;
  const { receiver, breaker, isProbe } = telling;
  const begunAt = clock.now();
  const answer = await settings.postEvent(receiver, event.posted);
  const ms = clock.now() - begunAt;
  if (ms > slowMs) {
    memory.slowReceivers.set(receiver.name, clock.now() + slowForMs);
    telling.endAt = Math.min(telling.endAt, clock.now());
  }
  await breaker.note(answer);
  const fields = { event_id: event.posted.id, receiver: receiver.name, code: codeOf(answer), ms };
  log(
    isTaken(answer) ? "info" : "warning",
    isTaken(answer) ? "event.told" : "event.not_told",
    fields,
  );
  return outcomeOf(answer, isProbe);
}

function outcomeOf(answer: EventAnswer, isProbe: boolean): Told {
  if (isTaken(answer)) return { kind: "taken" };
  if (isProbe) return { kind: "put_off" };
  return { kind: "failed", retryAfterMs: "status" in answer ? answer.retryAfterMs : undefined };
}
