import { isClientReceiver, type ClientReceiver } from "#shared/dial-plan/receivers.ts";
import { wishMsMax } from "#shared/events/client-receiver-deliveries.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import { parseClientReceiver } from "#shared/ports/receiver-kinds.ts";
import type { AckOrRetry } from "#shared/ports/queue.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { Semaphore } from "../runtime/fair-semaphore.ts";
import { slotOf, slowMs } from "./deliver-events.ts";
import { recordDeliveries, toTried } from "./client-receiver-deliveries.ts";
import { findReceiverOf, clientReceiverHealthIn } from "./client-receivers.ts";
import { leaseIn, receiverKeyOf } from "./receiver-lease.ts";

type ReceiverCommand = Extract<EventMessage, { kind: "test-event" }>;

/** Executes a client's command about its own receiver. @throws if the ledger or the queue cannot be reached */
export async function runReceiverCommand(
  message: ReceiverCommand,
  slots: Semaphore,
  deps: Pick<
    DialerDeps,
    "documents" | "settings" | "clock" | "random" | "sweepSeconds" | "log" | "memory"
  >,
): Promise<AckOrRetry> {
  // The client may have made or changed the receiver just now, and the cache of this process may be a minute old.
  deps.memory.knownReceivers.delete(parseClientReceiver(message.receiver)?.client ?? "");
  const receiver = await findReceiverOf(message.receiver, deps);
  if (receiver === undefined || !isClientReceiver(receiver)) return "ack";
  return postTest(message, { receiver, slots }, deps);
}

/**
 * Posts `receiver.test` once, at the receiver's pace. A receiver that is down gets it too, and counts as up again
 * once it accepts it.
 */
async function postTest(
  { id, sentAt }: ReceiverCommand,
  { receiver, slots }: { receiver: ClientReceiver; slots: Semaphore },
  deps: Pick<DialerDeps, "documents" | "settings" | "clock" | "random" | "sweepSeconds" | "log">,
): Promise<AckOrRetry> {
  const { clock, documents, settings } = deps;
  if (clock.now() - sentAt > wishMsMax) return "ack";
  const read = await documents.read([receiverKeyOf(receiver.name)]);
  const lease = leaseIn(read, receiver, deps);
  const health = clientReceiverHealthIn(read, receiver, deps);
  if ((await lease.isTaken()) || !(await lease.take())) return { retryAfterSeconds: 1 };
  let { nextAt, isSlow } = lease;
  try {
    const startAt = Math.max(nextAt, clock.now());
    await clock.sleep(startAt - clock.now());
    using slot = await slots.acquire(slotOf(receiver));
    if (slot === undefined) return { retryAfterSeconds: 1 };
    nextAt = startAt + 1000 / receiver.requestsPerSecond;
    const at = clock.now();
    const type = "receiver.test";
    const data = { receiver: receiver.own.name };
    const body = JSON.stringify({ type, timestamp: new Date(sentAt).toISOString(), data });
    const answer = await settings.postEvent(receiver, { id, body });
    const ms = clock.now() - at;
    isSlow = ms > slowMs;
    await health.record(answer);
    await recordDeliveries([toTried({ id, type, tries: 0 }, { answer, at, ms })], receiver, deps);
    return "ack";
  } finally {
    await lease.release({ nextAt, isSlow, ...health.stored?.() });
  }
}
