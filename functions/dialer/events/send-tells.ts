import { untoldOf } from "../../../shared/calls/events.ts";
import { type Receiver, receiverNamed } from "../../../shared/dial-plan/receivers.ts";
import { receiverBreakerOf } from "../../../shared/documents/breakers.ts";
import { tellsOf } from "../../../shared/ledger/telling-ledger.ts";
import type { DialerDeps } from "../context.ts";

/** Time for which an event that is due is left to the message of its row's writer. */
export const messageGraceMs = 30_000;
/** Maximum events that a sweep has a receiver told. */
const eventsMax = 3_000;
/** Age of an event, still to be told, from which on each sweep raises an alarm. */
const lateMs = 3 * 86_400_000 + 12 * 3_600_000;

/**
 * Sends messages for the events that are due: for each receiver at most as many as it takes until the next sweep.
 * Behind an open circuit breaker a single event is the probe.
 */
export async function sendTells(deps: DialerDeps): Promise<void> {
  const { ledger, documents, clock, settings } = deps;
  const { plan } = settings;
  const receivers = Object.keys(plan.events ?? {}).flatMap(
    (name) => receiverNamed(name, plan) ?? [],
  );
  if (receivers.length === 0) return;
  const now = clock.now();
  const backlogs = receivers.map(({ name }) => ({ key: untoldOf(name) }));
  const firsts = await ledger.due({ of: "events", backlogs, until: now - messageGraceMs, each: 1 });
  const waiting = receivers.filter((_, index) => firsts[index]?.length === 1);
  if (waiting.length === 0) return;
  const keys = waiting.map(
    ({ name }) => ({ kind: "breaker", key: receiverBreakerOf(name) }) as const,
  );
  const breakers = await documents.read(keys);
  for (const [index, receiver] of receivers.entries()) {
    const [first] = firsts[index] ?? [];
    if (first === undefined) continue;
    sayLate(receiver, first.dueAt, deps);
    const breaker = breakers.get("breaker", receiverBreakerOf(receiver.name))?.value;
    const isOpen = breaker?.state === "open";
    if (isOpen && breaker.probeAt > now) continue;
    await sendFor(receiver, isOpen ? 1 : eventsMax, deps);
  }
}

async function sendFor(receiver: Receiver, max: number, deps: DialerDeps): Promise<void> {
  const { ledger, eventsQueue, clock, sweepSeconds } = deps;
  const now = clock.now();
  const each = Math.min(max, Math.max(1, Math.floor(receiver.requestsPerSecond * sweepSeconds)));
  const [due = []] = await ledger.due({
    of: "events",
    backlogs: [{ key: untoldOf(receiver.name) }],
    until: now - messageGraceMs,
    each,
  });
  const calls = due.map(({ id }) => id);
  await eventsQueue.sendMany(tellsOf(receiver.name, { calls, swept: true }, now));
}

/** Raises an alarm where a receiver has not been told of an event for longer than its tries would take. */
function sayLate({ name }: Receiver, dueAt: number, { clock, log }: DialerDeps): void {
  if (clock.now() - dueAt <= lateMs) return;
  log("alarm", "events.late", { receiver: name, due_at: new Date(dueAt).toISOString() });
}
