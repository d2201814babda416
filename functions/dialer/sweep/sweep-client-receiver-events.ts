import type { CallRow } from "#shared/calls/call-row.ts";
import { realClientOf } from "#shared/calls/ids.ts";
import { type ClientReceiver, toClientReceivers } from "#shared/dial-plan/receivers.ts";
import { toDeliverMessages } from "#shared/events/outbox-ledger.ts";
import { indexClientReceiverEvents, sharedListOf } from "#shared/events/client-receiver-events.ts";
import { deliveryOf } from "#shared/events/outbox-rows.ts";
import { minuteMs } from "#shared/lib/units.ts";
import type { DocumentsRead } from "#shared/ports/document-kinds.ts";
import { skipUnreadable } from "#shared/ports/found-documents.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { dropGone } from "../events/client-receivers.ts";
import { receiverKeyOf } from "../events/receiver-lease.ts";
import { messageGraceMs, roomOf } from "./sweep-events.ts";

/** Clients of one page, and maximum clients of one sweep. The next sweep continues after them. */
const pageClients = 50;
const clientsMax = 200;
/** Maximum slow or broken receivers of a page that get a message, so that they do not fill the queue. */
const troubledMax = 5;
/** Maximum rows of a list that several receivers share that a sweep looks at. */
const sharedRowsMax = 300;
/** Time after which a sweep looks again at a row of such a list for which it could send nothing. */
const lookAgainMs = 5 * minuteMs;

type ClientSweepDeps = Pick<
  DialerDeps,
  | "eventsQueue"
  | "ledger"
  | "documents"
  | "settings"
  | "clock"
  | "random"
  | "sweepSeconds"
  | "memory"
>;

/**
 * Sends messages for due events of clients' own receivers: for each at most as many as it can take until the next sweep.
 *
 * @param reached `clientReceiverEventsAfter`: the client after which the last sweep stopped
 * @returns the client after which the next sweep continues. Null: at the first one
 */
export async function sweepClientReceiverEvents(
  { clientReceiverEventsAfter = null }: { clientReceiverEventsAfter?: string | null | undefined },
  time: { isOver(): boolean },
  deps: ClientSweepDeps & Pick<DialerDeps, "log">,
): Promise<string | null> {
  if (deps.settings.plan.clientReceivers === false) return null;
  let last = clientReceiverEventsAfter;
  for (let seen = 0; seen < clientsMax; seen += pageClients) {
    if (time.isOver()) return last;
    const query = { ...(last === null ? {} : { after: last }), limit: pageClients };
    const page = await deps.documents.list("receivers", query);
    const readable = skipUnreadable(page, deps);
    const clients = readable.map(({ key, value }) => toClientReceivers(key, value));
    const lists = readable.map(({ key }) => sharedListOf(key));
    if (page.length > 0) await sweepClients(clients.flat(), lists, deps);
    if (page.length < pageClients) return null;
    last = page.at(-1)?.key ?? null;
  }
  return last;
}

/** Sends messages for the due events of some clients' receivers, in their own lists and in those that they share. */
async function sweepClients(
  receivers: readonly ClientReceiver[],
  lists: readonly string[],
  deps: ClientSweepDeps,
): Promise<void> {
  const { ledger, documents, clock, eventsQueue } = deps;
  const now = clock.now();
  const due = (keys: readonly string[], each: number) =>
    ledger.due({
      of: "client-receiver-events",
      lanes: keys.map((key) => ({ key })),
      until: now - messageGraceMs,
      each,
    });
  const keys = [...receivers.map(({ name }) => name), ...lists];
  const firsts = await due(keys, 1);
  const isDue = new Set(keys.filter((_, index) => firsts[index]?.length === 1));
  if (isDue.size === 0) return;
  const shared = lists.filter((list) => isDue.has(list));
  const waiting = receivers.filter(
    ({ name, own }) => isDue.has(name) || isDue.has(sharedListOf(own.client)),
  );
  const read = await documents.read(waiting.map(({ name }) => receiverKeyOf(name)));
  const room = shareTurns(waiting, read, deps);
  const messages: { message: EventMessage }[] = [];
  const send = (receiver: string, calls: readonly string[]) => {
    room.set(receiver, (room.get(receiver) ?? 0) - calls.length);
    messages.push(...toDeliverMessages(receiver, { calls, swept: true }, now));
  };
  const byRoom = Map.groupBy(
    waiting.filter(({ name }) => isDue.has(name)),
    ({ name }) => room.get(name) ?? 0,
  );
  for (const [each, some] of byRoom) {
    if (each === 0) continue;
    const names = some.map(({ name }) => name);
    for (const [index, rows] of (await due(names, each)).entries()) {
      send(
        names[index] ?? "",
        rows.map(({ id }) => id),
      );
    }
  }
  for (const rows of shared.length === 0 ? [] : await due(shared, sharedRowsMax)) {
    const ids = rows.map(({ id }) => id);
    for (const [receiver, calls] of await lookAtShared(ids, { waiting, room }, deps))
      send(receiver, calls);
  }
  await eventsQueue.sendMany(messages);
}

/**
 * Returns the number of events that each receiver can take until the next sweep. A random few of the slow or broken
 * receivers have their turn, so that each has one before long.
 */
function shareTurns(
  receivers: readonly ClientReceiver[],
  read: DocumentsRead,
  { clock, random, sweepSeconds }: Pick<DialerDeps, "clock" | "random" | "sweepSeconds">,
): Map<string, number> {
  const now = clock.now();
  const room = new Map<string, number>();
  const troubled: { name: string; most: number; order: number }[] = [];
  for (const receiver of receivers) {
    const { name } = receiver;
    const { health, isSlow } = read.get("receiver", name)?.value ?? {};
    const probeAt = health?.probeAt;
    const most = roomOf(receiver, { probeAt, isSlow }, { now, sweepSeconds });
    if (probeAt === undefined && isSlow !== true) room.set(name, most);
    else if (most > 0) troubled.push({ name, most, order: random.fraction() });
  }
  const turns = troubled.toSorted((one, other) => one.order - other.order).slice(0, troubledMax);
  for (const { name, most } of turns) room.set(name, most);
  return room;
}

/**
 * Looks at due rows of a list that several receivers of a client share. Rows for which nothing can be sent now are put
 * back behind the others.
 *
 * @returns the rows by the receivers that have events due in them and room for more
 */
async function lookAtShared(
  ids: readonly string[],
  { waiting, room }: { waiting: readonly ClientReceiver[]; room: ReadonlyMap<string, number> },
  deps: Pick<DialerDeps, "ledger" | "documents" | "settings" | "clock" | "random" | "memory">,
): Promise<Map<string, string[]>> {
  const { ledger, clock, random } = deps;
  const now = clock.now();
  const { rows } = await ledger.read(ids);
  const found = new Map<string, string[]>();
  const idle: CallRow[] = [];
  for (const row of await dropGone(rows, deps)) {
    const client = realClientOf(row);
    const ofClient = waiting.filter(({ own }) => own.client === client);
    const to = ofClient.filter(({ name, own }) => {
      const isFull = (found.get(name)?.length ?? 0) >= (room.get(name) ?? 0);
      const isDue = row.events.some(
        (event) => (deliveryOf(event, own.name)?.dueAt ?? Infinity) <= now,
      );
      return isDue && !isFull;
    });
    for (const { name } of to) found.set(name, [...(found.get(name) ?? []), row.id]);
    if (to.length === 0) idle.push(row);
  }
  const changes = idle.map((row) => ({
    next: { ...indexClientReceiverEvents(row, now + lookAgainMs), version: random.version() },
    seen: row.version,
  }));
  if (changes.length > 0) await ledger.write(changes);
  return found;
}
