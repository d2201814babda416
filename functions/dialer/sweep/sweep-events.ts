import { pendingOf } from "#shared/events/outbox-rows.ts";
import { type Receiver, findReceiverNamed } from "#shared/dial-plan/receivers.ts";
import { findDown, readHealth } from "../events/receiver-health.ts";
import type { DocumentsRead } from "#shared/ports/document-kinds.ts";
import { toDeliverMessages } from "#shared/events/outbox-ledger.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { dayMs, hourMs } from "#shared/lib/units.ts";
import { deliverCallsMax } from "#shared/ports/event-messages.ts";

/** Time for which a due event is left to the message of its row's writer. */
export const messageGraceMs = 30_000;
/** Maximum events of a receiver for which a sweep sends messages: of the dial plan, and of a client. */
const eventsMax = { plan: 3_000, client: 1_000 };
/** The same for a slow receiver, which gets one request at a time. */
const slowEventsMax = 10;
/** Each sweep raises an alarm about a pending event older than this. */
const lateMs = 3 * dayMs + 12 * hourMs;

/**
 * Sends messages for due events: for each receiver at most as many as it can take until the next sweep. If its
 * receiver is down, a single message is for the probe.
 *
 * @param last.eventsAfter the receiver after which the last sweep stopped
 * @returns the receiver after which the next sweep begins; undefined: at the first one, as all had their turn
 */
export async function sweepEvents(
  { eventsAfter }: { eventsAfter?: string | undefined },
  time: { isOver(): boolean },
  deps: Pick<
    DialerDeps,
    "eventsQueue" | "ledger" | "documents" | "settings" | "clock" | "sweepSeconds" | "log"
  >,
): Promise<string | undefined> {
  const { ledger, documents, clock, settings, sweepSeconds } = deps;
  const { plan } = settings;
  const planned = Object.keys(plan.events ?? {}).flatMap(
    (name) => findReceiverNamed(name, plan) ?? [],
  );
  if (planned.length === 0) return undefined;
  const start = planned.findIndex(({ name }) => name === eventsAfter) + 1;
  const receivers = [...planned.slice(start), ...planned.slice(0, start)];
  const now = clock.now();
  const backlogs = receivers.map(({ name }) => ({ key: pendingOf(name) }));
  const firsts = await ledger.due({
    of: "events",
    lanes: backlogs,
    until: now - messageGraceMs,
    each: 1,
  });
  const waiting = receivers.filter((_, index) => firsts[index]?.length === 1);
  if (waiting.length === 0) return undefined;
  const health = await readHealth(
    waiting.map(({ name }) => name),
    documents,
  );
  let after = eventsAfter;
  for (const [index, receiver] of receivers.entries()) {
    const [first] = firsts[index] ?? [];
    if (first === undefined) continue;
    if (time.isOver()) return after;
    after = receiver.name;
    // Each failed probe delays its event, so that the first due event need not be old.
    const since = findDown(receiver.name, health)?.since ?? first.dueAt;
    warnLate(receiver, Math.min(first.dueAt, since), deps);
    const most = countDeliverable(receiver, health, { now, sweepSeconds });
    if (most > 0) await sendFor(receiver, most, deps);
  }
  return undefined;
}

/**
 * Returns the maximum number of events that a receiver of the dial plan can take until the next sweep. One of a message's
 * events is the probe of a receiver that is down: the first ones may be another receiver's by now, or unreadable.
 */
export function countDeliverable(
  receiver: Receiver,
  read: DocumentsRead,
  time: { now: number; sweepSeconds: number },
): number {
  const { name } = receiver;
  const probeAt = findDown(name, read)?.probeAt;
  const room = roomOf(
    receiver,
    { probeAt, isSlow: read.get("receiver", name)?.value.isSlow },
    time,
  );
  return probeAt === undefined || room === 0 ? room : deliverCallsMax;
}

/**
 * Returns the maximum number of events that a receiver can take until the next sweep: one as the probe if it is
 * down, a few if it is slow, else as many as its pace permits.
 */
export function roomOf(
  { requestsPerSecond, own }: Receiver,
  { probeAt, isSlow }: { probeAt: number | undefined; isSlow: boolean | undefined },
  { now, sweepSeconds }: { now: number; sweepSeconds: number },
): number {
  if (probeAt !== undefined) return probeAt > now ? 0 : 1;
  if (isSlow === true) return slowEventsMax;
  const most = own === undefined ? eventsMax.plan : eventsMax.client;
  return Math.min(most, Math.max(1, Math.floor(requestsPerSecond * sweepSeconds)));
}

async function sendFor(
  receiver: Receiver,
  each: number,
  deps: Pick<DialerDeps, "ledger" | "eventsQueue" | "clock">,
): Promise<void> {
  const { ledger, eventsQueue, clock } = deps;
  const now = clock.now();
  const [due = []] = await ledger.due({
    of: "events",
    lanes: [{ key: pendingOf(receiver.name) }],
    until: now - messageGraceMs,
    each,
  });
  const calls = due.map(({ id }) => id);
  await eventsQueue.sendMany(toDeliverMessages(receiver.name, { calls, swept: true }, now));
}

/** Raises an alarm if an event has been pending for longer than all its tries take. */
function warnLate(
  { name }: Receiver,
  dueAt: number,
  { clock, log }: Pick<DialerDeps, "clock" | "log">,
): void {
  if (clock.now() - dueAt <= lateMs) return;
  log("alarm", "events.late", { receiver: name, due_at: new Date(dueAt).toISOString() });
}
