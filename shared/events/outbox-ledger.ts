import { unreadable } from "../ports/unreadable.ts";
import type { CallRow } from "../calls/call-row.ts";
import { pendingOf, withEvents } from "./outbox-rows.ts";
import { clientReceiverNamesOf } from "./client-receiver-events.ts";
import { type ClientOfMode, indexOf, realClientOf, requestIdOf } from "../calls/ids.ts";
import { isLaterTry } from "../calls/chain.ts";
import { retentionMsOf } from "../dial-plan/expiry.ts";
import type { DialPlan } from "../dial-plan/plan-schema.ts";
import {
  findReceiver,
  type ClientReceiver,
  type Receiver,
  toClientReceivers,
  unreadName,
  unreadReceivers,
} from "../dial-plan/receivers.ts";
import type { Documents } from "../ports/documents.ts";
import type { DocumentKey, DocumentsRead, StoredDocument } from "../ports/document-kinds.ts";
import { errorForLog, type Log } from "../lib/log.ts";
import { withTimeLimit } from "../lib/retry.ts";
import type { CallQueue } from "../ports/queue.ts";
import { type EventMessage, deliverCallsMax } from "../ports/event-messages.ts";
import type { CallLedger, Change } from "../ports/ledger.ts";
import { minuteMs } from "../lib/units.ts";

/** Time limit of sending messages for new events. Sweeps find events whose message was not sent. */
const sendSecondsMax = 2;

/** A row that was written with new events. */
export type WrittenRow = Pick<Change, "next">;

interface OutboxDeps {
  plan: DialPlan;
  documents: Documents;
  eventsQueue: CallQueue<EventMessage>;
  clock: { now(): number };
  random: { version(): string };
  log: Log;
  /** Clients' own receivers, as this process has read them. */
  knownReceivers: KnownReceivers;
  /** Has the new events of written rows delivered. Default: `sendDeliverMessages`. */
  deliver?: ((written: readonly WrittenRow[]) => Promise<void>) | undefined;
}

/**
 * Wraps a ledger so that each write of a row also writes its new events. As an event is a part of its row's write, it
 * is never lost, and never delivered for a write that did not happen. After the write, a message names the rows. If
 * that is lost, a sweep finds the events.
 *
 * If the plan has no receivers, and permits clients none, returns the ledger unchanged.
 */
export function outboxLedger(ledger: CallLedger, deps: OutboxDeps): CallLedger {
  const { plan, deliver = (some) => sendDeliverMessages(some, deps) } = deps;
  if (plan.events === undefined && plan.clientReceivers === false) return ledger;
  return {
    read: (ids) => ledger.read(ids),
    readWithoutContext: (ids) => ledger.readWithoutContext(ids),
    dialing: (limit) => ledger.dialing(limit),
    due: (query) => ledger.due(query),
    list: (query) => ledger.list(query),
    listOldest: (query) => ledger.listOldest(query),
    ended: (query) => ledger.ended(query),
    purge: (ids) => ledger.purge(ids),
    async write(changes) {
      await readClientReceivers(
        changes.map(({ next }) => next),
        deps,
      );
      const receivers = changes.map(({ next }) => ({
        planned: findReceiver(next, plan),
        own: clientReceiversOf(next, deps),
      }));
      if (receivers.every(({ planned, own }) => planned === undefined && own.length === 0))
        return ledger.write(changes);
      const withOutbox = changes.map(({ next, seen }, index) => {
        const { planned, own = [] } = receivers[index] ?? {};
        return { next: withEvents(next, planned, own), seen };
      });
      await recordRequests(withOutbox, deps);
      const written = await ledger.write(withOutbox);
      const isNew = ({ next }: Change, index: number) =>
        written[index] === true && next.events !== changes[index]?.next.events;
      await deliver(withOutbox.filter(isNew));
      return written;
    },
  };
}

/** Clients' own receivers as a process has read them, by client. `isUnreadable`: only a later version can read them. */
export type KnownReceivers = Map<
  string,
  { readAt: number; own: readonly ClientReceiver[]; isUnreadable?: boolean }
>;

/** Time for which a process relies on what it has read of a client's own receivers, and maximum clients that it knows. */
const knownMs = minuteMs;
const clientsKnownMax = 2_000;

type ClientReceiverDeps = Pick<OutboxDeps, "plan" | "documents" | "clock" | "knownReceivers">;

/** Returns the client's own receivers as this process knows them. */
export function clientReceiversOf(
  client: ClientOfMode,
  { plan, knownReceivers }: Pick<ClientReceiverDeps, "plan" | "knownReceivers">,
): readonly ClientReceiver[] {
  if (plan.clientReceivers === false) return [];
  return knownReceivers.get(realClientOf(client))?.own ?? [];
}

/** Names the documents of own receivers that this process does not know, or has known for a minute. */
export function unknownReceivers(
  clients: readonly ClientOfMode[],
  { plan, clock, knownReceivers }: Omit<ClientReceiverDeps, "documents">,
): DocumentKey<"receivers">[] {
  if (plan.clientReceivers === false) return [];
  const now = clock.now();
  const isKnown = (readAt = -Infinity) => readAt <= now && now < readAt + knownMs;
  return [...new Set(clients.map(realClientOf))]
    .filter((key) => !isKnown(knownReceivers.get(key)?.readAt))
    .map((key) => ({ kind: "receivers", key }));
}

/** Stores own receivers that were read. Those of an unreadable document are the known ones and `unreadReceivers`. */
export function rememberReceivers(
  keys: readonly DocumentKey<"receivers">[],
  read: DocumentsRead,
  { clock, knownReceivers }: Pick<ClientReceiverDeps, "clock" | "knownReceivers">,
): void {
  for (const { kind, key } of keys) {
    const before = knownReceivers.get(key)?.own.filter(({ own }) => own.name !== unreadName) ?? [];
    knownReceivers.delete(key);
    if (knownReceivers.size >= clientsKnownMax)
      knownReceivers.delete([...knownReceivers.keys()][0] ?? "");
    const readAt = clock.now();
    const value = read.find(kind, key)?.value ?? { receivers: {} };
    knownReceivers.set(
      key,
      value === unreadable
        ? { readAt, own: [...before, ...unreadReceivers(key)], isUnreadable: true }
        : { readAt, own: toClientReceivers(key, value) },
    );
  }
}

/**
 * Reads clients' own receivers that this process does not know.
 *
 * @throws if they cannot be read, and it has never known them
 */
export async function readClientReceivers(
  clients: readonly ClientOfMode[],
  deps: ClientReceiverDeps,
): Promise<void> {
  const keys = unknownReceivers(clients, deps);
  if (keys.length === 0) return;
  try {
    rememberReceivers(keys, await deps.documents.read(keys), deps);
  } catch (error) {
    if (!keys.every(({ key }) => deps.knownReceivers.has(key))) throw error;
  }
}

/**
 * Writes a `request` document before a request's first row, if the client's receiver gets `request.finished`. Without
 * the document the request would never be finished.
 *
 * @throws if the document could not be written. The rows must then not be written
 */
async function recordRequests(changes: readonly Change[], deps: OutboxDeps): Promise<void> {
  const { plan, documents, random } = deps;
  const records = changes.flatMap(({ next, seen }) => {
    const isFirst = seen === null && indexOf(next.id) === 0 && !isLaterTry(next);
    const isWanted = (receiver: Receiver | undefined) =>
      receiver?.types.includes("request.finished") === true;
    const isPlans = isFirst && isWanted(findReceiver(next, plan));
    if (!isFirst || !(isPlans || clientReceiversOf(next, deps).some(isWanted))) return [];
    const followed = followedRequest(next, plan, random.version());
    if (!isPlans) followed.value.clientReceiversOnly = true;
    return { next: followed, seen: null };
  });
  // An existing document is from an earlier delivery, and stays.
  if (records.length > 0) await documents.write(records);
}

/** Returns the initial document with which sweeps track a request until all of its calls are finished. */
export function followedRequest(
  { id, client, acceptedAt, batchCalls }: CallRow,
  plan: Pick<DialPlan, "retentionDays">,
  version: string,
): StoredDocument<"request"> {
  const counted = { finished: 0, states: {}, results: {}, finishedAt: null };
  return {
    kind: "request",
    key: requestIdOf(id),
    version,
    value: { client, acceptedAt, calls: batchCalls, ...counted },
    expiresAt: acceptedAt + retentionMsOf(plan),
  };
}

/** Sends messages to deliver the events of written rows. Never throws. */
export async function sendDeliverMessages(
  changes: readonly WrittenRow[],
  deps: Pick<OutboxDeps, "eventsQueue" | "clock" | "log">,
): Promise<void> {
  const { eventsQueue, clock, log } = deps;
  if (changes.length === 0) return;
  const byList = Map.groupBy(changes, ({ next }) => next.deliverTo);
  const prefix = pendingOf("");
  const messages = [...byList].flatMap(([list, some]) => {
    const receiver = list?.slice(prefix.length);
    const ids = some.map(({ next }) => next.id);
    return receiver === undefined ? [] : toDeliverMessages(receiver, { calls: ids }, clock.now());
  });
  const toOwn = Map.groupBy(
    changes.flatMap(({ next }) => clientReceiverNamesOf(next)),
    ({ to }) => to,
  );
  for (const [receiver, some] of toOwn) {
    const calls = some.map(({ id }) => id);
    messages.push(...toDeliverMessages(receiver, { calls }, clock.now()));
  }
  try {
    await withTimeLimit(eventsQueue.sendMany(messages), sendSecondsMax);
  } catch (error) {
    log("warning", "events.not_sent", { count: changes.length, error: errorForLog(error) });
  }
}

/** Names the document that records that a request's event was delivered. */
export function deliveredKeyOf(request: string): DocumentKey<"delivered-request"> {
  return { kind: "delivered-request", key: request };
}

/**
 * Composes the messages that name calls or requests with pending events.
 *
 * @param of `swept`: a sweep sends them, and sends them again a minute later
 */
export function toDeliverMessages(
  receiver: string,
  of: { calls?: readonly string[]; requests?: readonly string[]; swept?: boolean },
  sentAt: number,
): { message: EventMessage }[] {
  const { calls = [], requests = [], swept = false } = of;
  const messages: { message: EventMessage }[] = [];
  for (let start = 0; start < Math.max(calls.length, requests.length); start += deliverCallsMax) {
    const end = start + deliverCallsMax;
    messages.push({
      message: {
        kind: "deliver",
        receiver,
        calls: calls.slice(start, end),
        requests: requests.slice(start, end),
        sentAt,
        swept,
      },
    });
  }
  return messages;
}
