import type { DeliveryState, DeliveryOutcome, Tried } from "../../../shared/calls/call-event.ts";
import type { CallRow } from "../../../shared/calls/call-row.ts";
import {
  bodyOf,
  eventIdOf,
  indexEvents,
  applyDeliveries,
} from "../../../shared/events/outbox-rows.ts";
import { type Receiver, findReceiver } from "../../../shared/dial-plan/receivers.ts";
import { toDeliverMessages } from "../../../shared/events/outbox-ledger.ts";
import { ConflictError, onConflict, retry } from "../../../shared/lib/retry.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { PostedEvent } from "../runtime/post-event.ts";
import { finishedEventOf, writeRequestDelivery } from "./request-finished.ts";

/** An event that is due: of a call, by its sequence, or that a request is finished. */
export type PendingEvent = { posted: PostedEvent; dueAt: number } & (
  | { call: string; sequence: number }
  | { request: string; finishedAt: number | null }
);

/** Delay of the message for a further try, and time up to which an event is due soon enough for it. */
const retrySeconds = 5;
const soonMs = 2 * retrySeconds * 1000;
/** Maximum tries of a write where another writer changes the row meanwhile. */
const writesMax = 4;

/**
 * Reads the events that are due among these calls and requests, those due first in front. A plan may have given a client
 * a receiver of its own since: then its calls are put into the list of that one, which alone gets their events.
 */
export async function readPending(
  { calls, requests }: { calls: readonly string[]; requests: readonly string[] },
  receiver: Receiver,
  deps: DialerDeps,
): Promise<PendingEvent[]> {
  const { ledger, documents, clock, settings } = deps;
  const now = clock.now();
  const isOwn = ({ client }: { client: string }) =>
    findReceiver(client, settings.plan)?.name === receiver.name;
  const { rows } = await ledger.read(calls);
  await moveStrays(
    [...rows.values()].filter((row) => !isOwn(row)),
    deps,
  );
  const ofCalls = [...rows.values()].filter(isOwn).flatMap((row) =>
    row.events.flatMap((event) => {
      const { sequence, dueAt } = event;
      if (dueAt === undefined || !isDue(event, now)) return [];
      const posted = { id: eventIdOf(row, event), body: JSON.stringify(bodyOf(row, event)) };
      return { call: row.id, sequence, posted, dueAt };
    }),
  );
  const keys = requests.map((key) => ({ kind: "request", key }) as const);
  const read = keys.length === 0 ? undefined : await documents.read(keys);
  const ofRequests = requests.flatMap((request) => {
    const current = read?.get("request", request);
    const dueAt = current?.value.dueAt;
    if (current === undefined || dueAt === undefined || !isDue(current.value, now)) return [];
    if (!isOwn(current.value)) return [];
    const { finishedAt } = current.value;
    return { request, finishedAt, posted: finishedEventOf(current), dueAt };
  });
  return [...ofCalls, ...ofRequests].toSorted((one, other) => one.dueAt - other.dueAt);
}

/** Puts calls into the lists of the receivers that their clients have now. A sweep finds them there. */
async function moveStrays(
  rows: readonly CallRow[],
  { ledger, random, settings }: DialerDeps,
): Promise<void> {
  const changes = rows.flatMap((row) => {
    const own = findReceiver(row.client, settings.plan);
    if (own === undefined || row.deliverTo === null) return [];
    return {
      next: { ...indexEvents(row, own.name), version: random.version() },
      seen: row.version,
    };
  });
  if (changes.length > 0) await ledger.write(changes);
}

/** True if an event may be delivered. One that was never tried has happened, even if another clock is ahead of this one. */
function isDue({ tries = 0, dueAt = Infinity }: DeliveryState, now: number): boolean {
  return dueAt <= now || (tries === 0 && dueAt < Infinity);
}

/** Result of writing the deliveries of some calls or requests. */
interface Written {
  /** Ids of the calls or requests with an event that is due again within seconds. */
  pending: string[];
  /** Number of events whose tries are exhausted now. */
  exhausted: number;
}

/**
 * Writes the results of deliveries. Events that are due again within seconds are delivered by a delayed message, later ones
 * by a sweep.
 *
 * @throws if the ledger cannot be read or written: what was delivered is then delivered again, under the same id
 */
export async function writeDeliveries(
  delivered: ReadonlyMap<PendingEvent, DeliveryOutcome>,
  receiver: Receiver,
  deps: DialerDeps,
): Promise<void> {
  const { clock, eventsQueue, log } = deps;
  const requests = await writeRequests(delivered, deps);
  const calls = await writeCalls(delivered, receiver, deps);
  const exhausted = requests.exhausted + calls.exhausted;
  if (exhausted > 0)
    log("alarm", "events.exhausted", { receiver: receiver.name, count: exhausted });
  const pending = { calls: calls.pending, requests: requests.pending };
  const sentAt = clock.now() + retrySeconds * 1000;
  const messages = toDeliverMessages(receiver.name, pending, sentAt);
  if (messages.length === 0) return;
  await eventsQueue.sendMany(messages.map((one) => ({ ...one, delaySeconds: retrySeconds })));
}

async function writeRequests(
  delivered: ReadonlyMap<PendingEvent, DeliveryOutcome>,
  deps: DialerDeps,
): Promise<Written> {
  const written: Written = { pending: [], exhausted: 0 };
  for (const [event, told] of delivered) {
    if ("call" in event) continue;
    const { request, finishedAt, dueAt } = event;
    const next = await writeRequestDelivery(request, { told, dueAt, finishedAt }, deps);
    if (next?.exhausted === true) written.exhausted += 1;
    if (isDueSoon(next?.dueAt, deps.clock.now())) written.pending.push(request);
  }
  return written;
}

async function writeCalls(
  delivered: ReadonlyMap<PendingEvent, DeliveryOutcome>,
  receiver: Receiver,
  { ledger, clock, random, settings }: DialerDeps,
): Promise<Written> {
  const byCall = new Map<string, Map<number, Tried>>();
  for (const [event, told] of delivered) {
    if (!("call" in event)) continue;
    const ofCall = byCall.get(event.call) ?? new Map<number, Tried>();
    byCall.set(event.call, ofCall.set(event.sequence, { told, dueAt: event.dueAt }));
  }
  const written: Written = { pending: [], exhausted: 0 };
  let left = [...byCall.keys()];
  if (left.length === 0) return written;
  await retry(async () => {
    const { rows } = await ledger.read(left);
    const at = clock.now();
    const changes = [...rows.values()].flatMap((row) => {
      const tried = byCall.get(row.id) ?? new Map<number, Tried>();
      const own = findReceiver(row.client, settings.plan)?.name ?? receiver.name;
      const write = { version: random.version(), at };
      const next = applyDeliveries(row, { tried, receiver: own }, write);
      return next === undefined ? [] : { next, seen: row.version };
    });
    const done = changes.length === 0 ? [] : await ledger.write(changes);
    for (const { next } of changes.filter((_, index) => done[index] === true)) {
      written.exhausted += exhaustedBy(next, byCall.get(next.id));
      if (isDueSoon(next.deliverAt, at)) written.pending.push(next.id);
    }
    left = changes.flatMap(({ next }, index) => (done[index] === true ? [] : next.id));
    if (left.length > 0) throw new ConflictError("every write of deliveries met a conflict");
  }, onConflict(writesMax));
  return written;
}

function exhaustedBy(row: CallRow, tried: ReadonlyMap<number, Tried> | undefined): number {
  return row.events.filter(({ sequence, exhausted }) => exhausted === true && tried?.has(sequence))
    .length;
}

function isDueSoon(dueAt: number | null | undefined, now: number): boolean {
  return dueAt !== null && dueAt !== undefined && dueAt <= now + soonMs;
}
