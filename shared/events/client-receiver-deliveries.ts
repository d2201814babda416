import { dayMs, minuteMs } from "../lib/units.ts";
import { changeDocument } from "../ports/change-document.ts";
import type { Documents } from "../ports/documents.ts";
import type { ValueOf } from "../ports/document-kinds.ts";
import type { EventMessage } from "../ports/event-messages.ts";
import type { CallQueue } from "../ports/queue.ts";
import { type ClientReceiverKey, clientReceiverName } from "../ports/receiver-kinds.ts";

/** Number of a receiver's latest tries that are kept, and for how long. */
export const deliveriesMax = 200;
export const deliveriesKeptMs = 7 * dayMs;

/** Time for which a client's command is valid. A client that waits longer asks again. */
export const wishMsMax = 10 * minuteMs;

/** One try to deliver an event to a client's own receiver. */
export type DeliveryTry = ValueOf<"deliveries">["tries"][number];

/**
 * Lists the latest tries to deliver events to a client's own receiver, the newest first.
 *
 * @param query `before`: the `next` of the page before
 * @returns `next`: to be passed as `before`; absent on the last page
 */
export async function listDeliveries(
  { limit, before = Infinity, ...key }: ClientReceiverKey & { limit: number; before?: number },
  { documents, clock }: { documents: Documents; clock: { now(): number } },
): Promise<{ deliveries: DeliveryTry[]; next?: number }> {
  const name = { kind: "deliveries", key: clientReceiverName(key) } as const;
  const { tries = [] } = (await documents.read([name])).get(name.kind, name.key)?.value ?? {};
  const since = clock.now() - deliveriesKeptMs;
  const all = tries.filter(({ n, at }) => n < before && at > since);
  const deliveries = all.slice(0, limit);
  const last = deliveries.at(-1);
  return { deliveries, ...(last !== undefined && all.length > limit ? { next: last.n } : {}) };
}

interface SendDeps {
  eventsQueue: CallQueue<EventMessage>;
  clock: { now(): number };
}

/**
 * Has the event `receiver.test` posted once to a client's own receiver. Its list of deliveries shows the answer within
 * seconds.
 *
 * @param of `id`: the event's id
 * @throws if the queue is unreachable
 */
export async function sendTestEvent(
  { id, ...key }: ClientReceiverKey & { id: string },
  { eventsQueue, clock }: SendDeps,
): Promise<void> {
  const sentAt = clock.now();
  await eventsQueue.send({ kind: "test-event", receiver: clientReceiverName(key), id, sentAt });
}

/**
 * Delivers events again to a client's own receiver, under their ids: events that it has had, or whose tries are
 * exhausted, of calls accepted from `from` up to but not including `until`. `request.finished` is delivered again
 * while another receiver's is pending. A replay in progress begins again, and goes through both times.
 *
 * @throws if the ledger is unreachable
 */
export async function orderReplay(
  { from, until, ...key }: ClientReceiverKey & { from: number; until: number },
  deps: Parameters<typeof changeDocument>[1],
): Promise<void> {
  const name = { kind: "replay", key: clientReceiverName(key) } as const;
  const change = (underWay: ValueOf<"replay"> | undefined) => ({
    value: {
      from: Math.min(from, underWay?.from ?? from),
      until: Math.max(until, underWay?.until ?? until),
      before: null,
      index: 0,
    },
    expiresAt: null,
  });
  await changeDocument({ name, change }, deps);
}
