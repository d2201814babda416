import type { CallRow } from "../calls/call-row.ts";
import { pendingOf, withEvents } from "./outbox-rows.ts";
import { indexOf, requestIdOf } from "../calls/ids.ts";
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

/** Time limit of sending messages for new events: a sweep finds the events whose message was not sent. */
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
  /** Gets the rows that were written with new events delivered. Absent: at once, by `sendDeliverMessages`. */
  deliver?: ((written: readonly WrittenRow[]) => Promise<void>) | undefined;
}

/**
 * Wraps a ledger so that each write of a row also writes its new events. An event is a part of its row's own write, so it is
 * neither lost nor delivered for a write that did not take place. Once the rows stand, a message names them; should it get
 * lost, a sweep finds their events.
 *
 * A plan without receivers gets the ledger as it is.
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
 * Notes the requests whose first call is about to get its row, where the client gets an event once all of its calls
 * are finished. The note is written first: a request whose note were lost would never be finished.
 *
 * @throws if it could not be written; the rows are then not written either
 */
async function noteRequests(changes: readonly Change[], deps: OutboxDeps): Promise<void> {
  const { plan, documents, random } = deps;
  const notes = changes.flatMap(({ next, seen }) => {
    const isFirst = seen === null && indexOf(next.id) === 0;
    if (!isFirst || findReceiver(next.client, plan)?.types.includes("request.finished") !== true)
      return [];
    return { next: followedRequest(next, plan, random.version()), seen: null };
  });
  // One that stands already is of an earlier delivery.
  if (notes.length > 0) await documents.write(notes);
}

/**
 * Returns the document by which a sweep tracks a request until all of its calls are finished, as it is before the first
 * one is.
 */
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

/** Sends messages for the events of rows that were written. Never throws. */
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

/** Names the document that says that a request's event was delivered. */
export function deliveredKeyOf(request: string): DocumentKey<"delivered-request"> {
  return { kind: "delivered-request", key: request };
}

/**
 * Composes the messages that name calls or requests with pending events.
 *
 * @param of `swept`: a sweep sends them, which does so again a minute later
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
