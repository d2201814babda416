import type { CallRow } from "../calls/call-row.ts";
import { pendingOf, withEvents } from "./outbox-rows.ts";
import { indexOf, requestIdOf } from "../calls/ids.ts";
import type { DialPlan } from "../dial-plan/plan-schema.ts";
import { findReceiver } from "../dial-plan/receivers.ts";
import type { DocumentKey, Documents, StoredDocument } from "../ports/documents.ts";
import { errorForLog, type Log } from "../lib/log.ts";
import { withTimeLimit } from "../lib/time-limit.ts";
import type { CallQueue } from "../ports/queue.ts";
import { type EventMessage, deliverCallsMax } from "../ports/event-messages.ts";
import type { CallLedger, Change } from "../ports/ledger.ts";
import { dayMs } from "../lib/units.ts";

/** Time limit of a message that has events told at once: without it they are told by a sweep. */
const sendSecondsMax = 2;

/** A row that was written with events to tell. */
export type WrittenRow = Pick<Change, "next">;

interface OutboxDeps {
  plan: DialPlan;
  documents: Documents;
  eventsQueue: CallQueue<EventMessage>;
  clock: { now(): number };
  random: { version(): string };
  log: Log;
  /** Has the events of rows that were written told. Absent: at once, by `sendDeliverMessages`. */
  tell?: ((written: readonly WrittenRow[]) => Promise<void>) | undefined;
}

/**
 * Wraps a ledger so that each write of a row also keeps what is to be told of it. An event is a part of its row's own
 * write, so it is neither lost nor told of a write that did not take place. Once the rows stand, a message has their
 * events told; should it get lost, a sweep finds them.
 *
 * A plan without receivers gets the ledger as it is.
 */
export function outboxLedger(ledger: CallLedger, deps: OutboxDeps): CallLedger {
  const { plan, tell = (some) => sendDeliverMessages(some, deps) } = deps;
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
      const telling = changes.map(({ next, seen }) => ({
        next: withEvents(next, findReceiver(next.client, plan)),
        seen,
      }));
      await noteRequests(telling, deps);
      const written = await ledger.write(telling);
      const isNew = (_: Change, index: number) =>
        written[index] === true && telling[index]?.next !== changes[index]?.next;
      await tell(telling.filter(isNew));
      return written;
    },
  };
}

/**
 * Notes the requests whose first call is about to get its row, where the client is told once all are over. The note is
 * written first: a request whose note were lost would never be told of.
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
 * Returns the document by which a sweep follows a request until all of its calls are over, as it is before the first one
 * is.
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

/** Has the events of rows that were written told at once. Never throws. */
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
    return receiver === undefined ? [] : deliverMessagesOf(receiver, { calls: ids }, clock.now());
  });
  try {
    await withTimeLimit(eventsQueue.sendMany(messages), sendSecondsMax);
  } catch (error) {
    log("warning", "events.not_sent", { count: changes.length, error: errorForLog(error) });
  }
}

/** Names the document that says that a request is told. */
export function deliveredKeyOf(request: string): DocumentKey<"delivered-request"> {
  return { kind: "delivered-request", key: request };
}

/**
 * Composes the messages that have events of these calls or requests told.
 *
 * @param of `swept`: a sweep sends them, which does so again a minute later
 */
export function deliverMessagesOf(
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
