import type { CallRow } from "../calls/call-row.ts";
import { pendingOf, withEvents } from "./outbox-rows.ts";
import { indexOf, requestIdOf } from "../calls/ids.ts";
import { isLaterTry } from "../calls/chain.ts";
import type { DialPlan } from "../dial-plan/plan-schema.ts";
import { findReceiver } from "../dial-plan/receivers.ts";
import type { Documents } from "../ports/documents.ts";
import type { DocumentKey, StoredDocument } from "../ports/document-kinds.ts";
import { errorForLog, type Log } from "../lib/log.ts";
import { withTimeLimit } from "../lib/retry.ts";
import type { CallQueue } from "../ports/queue.ts";
import { type EventMessage, deliverCallsMax } from "../ports/event-messages.ts";
import type { CallLedger, Change } from "../ports/ledger.ts";
import { dayMs } from "../lib/units.ts";

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
  /** Has the new events of written rows delivered. Default: `sendDeliverMessages`. */
  deliver?: ((written: readonly WrittenRow[]) => Promise<void>) | undefined;
}

/**
 * Wraps a ledger so that each write of a row also writes its new events. As an event is a part of its row's write, it
 * is never lost, and never delivered for a write that did not happen. After the write, a message names the rows. If
 * that is lost, a sweep finds the events.
 *
 * If the plan has no receivers, returns the ledger unchanged.
 */
export function outboxLedger(ledger: CallLedger, deps: OutboxDeps): CallLedger {
  const { plan, deliver = (some) => sendDeliverMessages(some, deps) } = deps;
  if (plan.events === undefined) return ledger;
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
      const withOutbox = changes.map(({ next, seen }) => ({
        next: withEvents(next, findReceiver(next.client, plan)),
        seen,
      }));
      await noteRequests(withOutbox, deps);
      const written = await ledger.write(withOutbox);
      const isNew = (_: Change, index: number) =>
        written[index] === true && withOutbox[index]?.next !== changes[index]?.next;
      await deliver(withOutbox.filter(isNew));
      return written;
    },
  };
}

/**
 * Writes a `request` document before a request's first row, if the client's receiver gets `request.finished`. Without
 * the document the request would never be finished.
 *
 * @throws if the document could not be written. The rows must then not be written
 */
async function noteRequests(changes: readonly Change[], deps: OutboxDeps): Promise<void> {
  const { plan, documents, random } = deps;
  const notes = changes.flatMap(({ next, seen }) => {
    const isFirst = seen === null && indexOf(next.id) === 0 && !isLaterTry(next);
    if (!isFirst || findReceiver(next.client, plan)?.types.includes("request.finished") !== true)
      return [];
    return { next: followedRequest(next, plan, random.version()), seen: null };
  });
  // An existing document is from an earlier delivery, and stays.
  if (notes.length > 0) await documents.write(notes);
}

/** Returns the initial document with which sweeps track a request until all of its calls are finished. */
export function followedRequest(
  { id, client, acceptedAt, batchCalls }: CallRow,
  { retentionDays }: Pick<DialPlan, "retentionDays">,
  version: string,
): StoredDocument<"request"> {
  const counted = { finished: 0, states: {}, results: {}, finishedAt: null };
  return {
    kind: "request",
    key: requestIdOf(id),
    version,
    value: { client, acceptedAt, calls: batchCalls, ...counted },
    expiresAt: acceptedAt + retentionDays * dayMs,
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
