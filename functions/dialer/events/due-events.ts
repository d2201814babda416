import { getOrMake } from "#shared/lib/get-or-make.ts";
import type { DeliveryState, DeliveryOutcome, Tried } from "#shared/calls/call-event.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { realClientOf, type ClientOfMode, clientNamed } from "#shared/calls/ids.ts";
import {
  bodyOf,
  deliveryOf,
  eventIdOf,
  indexEvents,
  applyDeliveries,
} from "#shared/events/outbox-rows.ts";
import { clientReceiverEchoOf } from "#shared/events/client-receiver-events.ts";
import { type Receiver, findReceiver } from "#shared/dial-plan/receivers.ts";
import { toDeliverMessages } from "#shared/events/outbox-ledger.ts";
import { ConflictError, onConflict, retry } from "#shared/lib/retry.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { PostedEvent } from "../runtime/post-event.ts";
import { finishedEventOf, writeRequestDelivery } from "./request-finished.ts";
import { dropGone } from "./client-receivers.ts";

/** A due event: a call's, with its sequence, or a request's `request.finished`. `tries`: number of failed ones. */
export type PendingEvent = { posted: PostedEvent; dueAt: number; type: string; tries: number } & (
  | { call: string; sequence: number }
  | { request: string; finishedAt: number | null }
);

/** Delay of the message for another try, and maximum time until an event is due for which it is sent. */
const retrySeconds = 5;
const soonMs = 2 * retrySeconds * 1000;
/** Maximum tries of a write if other writes come first. */
const writesMax = 4;

/**
 * Reads the due events of these calls and requests, in the order of their due times. If the plan now has another
 * receiver for a client, the client's calls are moved into that receiver's list, and only it gets their events.
 */
export async function readPending(
  { calls, requests }: { calls: readonly string[]; requests: readonly string[] },
  receiver: Receiver,
  deps: Pick<
    DialerDeps,
    "ledger" | "documents" | "settings" | "clock" | "random" | "memory" | "log"
  >,
): Promise<PendingEvent[]> {
  const { ledger, documents, clock, settings } = deps;
  const now = clock.now();
  const { own } = receiver;
  const isOwn = (client: ClientOfMode) =>
    own === undefined
      ? findReceiver(client, settings.plan)?.name === receiver.name
      : realClientOf(client) === own.client;
  const { rows: found, unreadable } = await ledger.read(calls);
  if (unreadable.size > 0)
    deps.log("alarm", "row.unreadable", { receiver: receiver.name, count: unreadable.size });
  const strays = found.filter((row) => !isOwn(row));
  if (own === undefined) await moveStrays(strays, deps);
  const ofClient = found.filter(isOwn);
  const rows = own === undefined ? ofClient : await dropGone(ofClient, deps);
  const ofCalls = rows.flatMap((row) =>
    row.events.flatMap((event) => {
      const { sequence, type } = event;
      const { dueAt, tries = 0, ...state } = deliveryOf(event, own?.name) ?? {};
      if (dueAt === undefined || !isDue({ ...state, tries, dueAt }, now)) return [];
      const echo = own === undefined ? row.echo : clientReceiverEchoOf(row, receiver);
      const body = JSON.stringify(bodyOf({ ...row, echo }, event));
      return {
        call: row.id,
        sequence,
        type,
        tries,
        dueAt,
        posted: { id: eventIdOf(row, event), body },
      };
    }),
  );
  const keys = requests.map((key) => ({ kind: "request", key }) as const);
  const read = keys.length === 0 ? undefined : await documents.read(keys);
  const ofRequests = requests.flatMap((request) => {
    const current = read?.get("request", request);
    const { dueAt, tries = 0 } = current?.value ?? {};
    if (current === undefined || dueAt === undefined || !isDue(current.value, now)) return [];
    if (own !== undefined || !isOwn(clientNamed(current.value.client))) return [];
    const { finishedAt } = current.value;
    const type = "request.finished";
    return { request, finishedAt, posted: finishedEventOf(current), dueAt, type, tries };
  });
  return [...ofCalls, ...ofRequests].toSorted((one, other) => one.dueAt - other.dueAt);
}

/** Moves calls into the lists of their clients' current receivers, where sweeps find them. */
async function moveStrays(
  rows: readonly CallRow[],
  { ledger, random, settings }: Pick<DialerDeps, "ledger" | "random" | "settings">,
): Promise<void> {
  const changes = rows.flatMap((row) => {
    const own = findReceiver(row, settings.plan);
    if (own === undefined || row.deliverTo === null) return [];
    return {
      next: { ...indexEvents(row, own.name), version: random.version() },
      seen: row.version,
    };
  });
  if (changes.length > 0) await ledger.write(changes);
}

/** True if an event may be delivered. An event without a try may be, even if its due time is later by another clock. */
function isDue({ tries = 0, dueAt = Infinity }: DeliveryState, now: number): boolean {
  return dueAt <= now || (tries === 0 && dueAt < Infinity);
}

/** Result of writing the deliveries of some calls or requests. */
interface Written {
  /** Ids of the calls or requests with an event that is due again within seconds. */
  pending: string[];
  /** Number of newly exhausted events. */
  exhausted: number;
}

/**
 * Writes the results of deliveries. A delayed message follows for events that are due again within seconds, a sweep's
 * for later ones.
 *
 * @throws if the ledger cannot be read or written. Delivered events are then delivered again, with the same ids
 */
export async function writeDeliveries(
  delivered: ReadonlyMap<PendingEvent, DeliveryOutcome>,
  receiver: Receiver,
  deps: Pick<
    DialerDeps,
    "eventsQueue" | "ledger" | "documents" | "settings" | "clock" | "random" | "log"
  >,
): Promise<void> {
  const { clock, eventsQueue, log } = deps;
  const requests = await writeRequests(delivered, deps);
  const calls = await writeCalls(delivered, receiver, deps);
  const exhausted = requests.exhausted + calls.exhausted;
  // A client sees those of its own receivers in their deliveries.
  if (exhausted > 0 && receiver.own === undefined)
    log("alarm", "events.exhausted", { receiver: receiver.name, count: exhausted });
  const pending = { calls: calls.pending, requests: requests.pending };
  const sentAt = clock.now() + retrySeconds * 1000;
  const messages = toDeliverMessages(receiver.name, pending, sentAt);
  if (messages.length === 0) return;
  await eventsQueue.sendMany(messages.map((one) => ({ ...one, delaySeconds: retrySeconds })));
}

async function writeRequests(
  delivered: ReadonlyMap<PendingEvent, DeliveryOutcome>,
  deps: Pick<DialerDeps, "clock" | "documents" | "random">,
): Promise<Written> {
  const written: Written = { pending: [], exhausted: 0 };
  for (const [event, outcome] of delivered) {
    if ("call" in event) continue;
    const { request, finishedAt, dueAt } = event;
    const next = await writeRequestDelivery(request, { outcome, dueAt, finishedAt }, deps);
    if (next?.exhausted === true) written.exhausted += 1;
    if (isDueSoon(next?.dueAt, deps.clock.now())) written.pending.push(request);
  }
  return written;
}

async function writeCalls(
  delivered: ReadonlyMap<PendingEvent, DeliveryOutcome>,
  receiver: Receiver,
  { ledger, clock, random, settings }: Pick<DialerDeps, "ledger" | "clock" | "random" | "settings">,
): Promise<Written> {
  const byCall = new Map<string, Map<number, Tried>>();
  for (const [event, outcome] of delivered) {
    if (!("call" in event)) continue;
    const ofCall = getOrMake(byCall, event.call, () => new Map<number, Tried>());
    ofCall.set(event.sequence, { outcome, dueAt: event.dueAt });
  }
  const written: Written = { pending: [], exhausted: 0 };
  let left = [...byCall.keys()];
  if (left.length === 0) return written;
  await retry(async () => {
    const { rows } = await ledger.read(left);
    const at = clock.now();
    const changes = rows.flatMap((row) => {
      const tried = byCall.get(row.id) ?? new Map<number, Tried>();
      const current = findReceiver(row, settings.plan)?.name ?? receiver.name;
      const write = { version: random.version(), at };
      const to = { receiver: current, own: receiver.own?.name };
      const next = applyDeliveries(row, { tried, ...to }, write);
      return next === undefined ? [] : { next, seen: row.version };
    });
    const done = changes.length === 0 ? [] : await ledger.write(changes);
    for (const { next } of changes.filter((_, index) => done[index] === true)) {
      written.exhausted += exhaustedBy(next, byCall.get(next.id));
      const times = next.events.flatMap(
        (event) => deliveryOf(event, receiver.own?.name)?.dueAt ?? [],
      );
      if (times.some((dueAt) => isDueSoon(dueAt, at))) written.pending.push(next.id);
    }
    left = changes.flatMap(({ next }, index) => (done[index] === true ? [] : next.id));
    if (left.length > 0)
      throw new ConflictError("a list of deliveries was changed by others each time");
  }, onConflict(writesMax));
  return written;
}

function exhaustedBy(row: CallRow, tried: ReadonlyMap<number, Tried> | undefined): number {
  return row.events.filter(({ sequence, exhausted }) => exhausted === true && tried?.has(sequence))
    .length;
}

function isDueSoon(dueAt: number | undefined, now: number): boolean {
  return dueAt !== undefined && dueAt <= now + soonMs;
}
