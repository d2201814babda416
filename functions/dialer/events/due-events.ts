import type { DeliveryState, DeliveryOutcome, Tried } from "../../../shared/calls/call-event.ts";
import type { CallRow } from "../../../shared/calls/call-row.ts";
import {
  bodyOf,
  eventIdOf,
  indexEvents,
  applyDeliveries,
} from "../../../shared/events/outbox-rows.ts";
import { type Receiver, findReceiver } from "../../../shared/dial-plan/receivers.ts";
import { deliverMessagesOf } from "../../../shared/events/outbox-ledger.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { PostedEvent } from "../runtime/post-event.ts";
import { finishedEventOf, writeRequestDelivery } from "./request-finished.ts";

/** An event that is due: of a call, by its sequence, or that a request is finished. */
export type PendingEvent = { posted: PostedEvent; dueAt: number } & (
  | { call: string; sequence: number }
  | { request: string; finishedAt: number | null }
);

/** Delay of the message that has an event told again, and time up to which an event is due soon enough for it. */
const againSeconds = 5;
const soonMs = 2 * againSeconds * 1000;
/** Maximum tries of a write where another writer changes the row meanwhile. */
const writesMax = 4;

/**
 * Reads the events that are due among these calls and requests, those due first in front. A plan may have given a client
 * a receiver of its own since: then its calls are put into the list of that one, which alone is told of them.
 */
export async function readPending(
  { calls, requests }: { calls: readonly string[]; requests: readonly string[] },
  receiver: Receiver,
  deps: DialerDeps,
): Promise<PendingEvent[]> {
  const { ledger, documents, clock, settings } = deps;
  const now = clock.now();
  const isTold = ({ client }: { client: string }) =>
    findReceiver(client, settings.plan)?.name === receiver.name;
  const { rows } = await ledger.read(calls);
  await moveStrays(
    [...rows.values()].filter((row) => !isTold(row)),
    deps,
  );
  const ofCalls = [...rows.values()].filter(isTold).flatMap((row) =>
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
    if (!isTold(current.value)) return [];
    const { finishedAt } = current.value;
    return { request, finishedAt, posted: finishedEventOf(current), dueAt };
  });
  return [...ofCalls, ...ofRequests].toSorted((one, other) => one.dueAt - other.dueAt);
}

/** Puts calls into the lists of the receivers that their clients have now. A sweep has them told there. */
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

/** True if an event may be told. One that was never tried has happened, though another clock be ahead of this one. */
function isDue({ tries = 0, dueAt = Infinity }: DeliveryState, now: number): boolean {
  return dueAt <= now || (tries === 0 && dueAt < Infinity);
}

/** Result of writing tries to tell events. */
interface Written {
  /** Calls and requests with an event that is due again within seconds. */
  soon: { calls: string[]; requests: string[] };
  /** Number of events whose tries are used up now. */
  exhausted: number;
}

/**
 * Writes what became of tries to tell events. Those that are due again within seconds are told again by a delayed
 * message, later ones by a sweep.
 *
 * @throws if the ledger cannot be read or written: what was told is then told again, under the same id
 */
export async function writeDeliveries(
  told: ReadonlyMap<PendingEvent, DeliveryOutcome>,
  receiver: Receiver,
  deps: DialerDeps,
): Promise<void> {
  const { clock, eventsQueue, log } = deps;
  const byCall = new Map<string, Map<number, Tried>>();
  const written: Written = { soon: { calls: [], requests: [] }, exhausted: 0 };
  for (const [event, outcome] of told) {
    const tried = { told: outcome, dueAt: event.dueAt };
    if ("call" in event) {
      const ofCall = byCall.get(event.call) ?? new Map<number, Tried>();
      byCall.set(event.call, ofCall.set(event.sequence, tried));
    } else {
      const { request, finishedAt } = event;
      const next = await writeRequestDelivery(request, { ...tried, finishedAt }, deps);
      if (next?.exhausted === true) written.exhausted += 1;
      if (isSoon(next?.dueAt, clock.now())) written.soon.requests.push(event.request);
    }
  }
  await writeCalls(byCall, receiver, written, deps);
  if (written.exhausted > 0) {
    log("alarm", "events.exhausted", { receiver: receiver.name, count: written.exhausted });
  }
  const messages = deliverMessagesOf(
    receiver.name,
    written.soon,
    clock.now() + againSeconds * 1000,
  );
  if (messages.length === 0) return;
  await eventsQueue.sendMany(messages.map((one) => ({ ...one, delaySeconds: againSeconds })));
}

async function writeCalls(
  byCall: ReadonlyMap<string, ReadonlyMap<number, Tried>>,
  receiver: Receiver,
  written: Written,
  { ledger, clock, random, settings }: DialerDeps,
): Promise<void> {
  let left = [...byCall.keys()];
  for (let tries = 0; tries < writesMax && left.length > 0; tries++) {
    const { rows } = await ledger.read(left);
    const at = clock.now();
    const changes = [...rows.values()].flatMap((row) => {
      const tried = byCall.get(row.id) ?? new Map<number, Tried>();
      const next = applyDeliveries(
        row,
        tried,
        findReceiver(row.client, settings.plan)?.name ?? receiver.name,
        { version: random.version(), at },
      );
      return next === undefined ? [] : { next, seen: row.version };
    });
    const done = changes.length === 0 ? [] : await ledger.write(changes);
    for (const { next } of changes.filter((_, index) => done[index] === true)) {
      written.exhausted += exhaustedBy(next, byCall.get(next.id));
      if (isSoon(next.deliverAt, at)) written.soon.calls.push(next.id);
    }
    left = changes.flatMap(({ next }, index) => (done[index] === true ? [] : next.id));
  }
  if (left.length > 0) throw new Error("every try to write what was told met a conflict");
}

function exhaustedBy(row: CallRow, tried: ReadonlyMap<number, Tried> | undefined): number {
  return row.events.filter(({ sequence, exhausted }) => exhausted === true && tried?.has(sequence))
    .length;
}

function isSoon(dueAt: number | null | undefined, now: number): boolean {
  return dueAt !== null && dueAt !== undefined && dueAt <= now + soonMs;
}
