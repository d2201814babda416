import type { EventMessage } from "#shared/ports/event-messages.ts";
import type { AckOrRetry } from "#shared/ports/queue.ts";
import { clientReceiverName } from "#shared/ports/receiver-kinds.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { leaseIn, receiverKeyOf } from "./receiver-lease.ts";

/**
 * Deliveries of the events queue that serve clients' own receivers at once: half of those that AWS begins. Clients choose
 * these receivers, and thousands may hang at the same time. The other deliveries stay free for the dial plan's receivers
 * and for callbacks.
 */
const clientReceiverLanes = 3;

/** Maximum delay of a message for which there was no lane. */
const lanedSecondsMax = 16;

const lanes = Array.from({ length: clientReceiverLanes }, (_, n) =>
  // No client has an empty name.
  clientReceiverName({ client: "", name: String(n) }),
);

/**
 * Takes one of the lanes in which clients' own receivers are served, until it is disposed of.
 *
 * @returns undefined if other deliveries have all of them
 */
async function takeClientReceiverLane(
  deps: Pick<DialerDeps, "documents" | "clock" | "log" | "random" | "sweepSeconds">,
): Promise<AsyncDisposable | undefined> {
  const read = await deps.documents.read(lanes.map(receiverKeyOf));
  const leases = lanes.map((name) => leaseIn(read, { name }, deps));
  const taken = await Promise.all(leases.map((one) => one.isTaken()));
  const free = leases.filter((_, index) => taken[index] !== true);
  const first = Math.floor(deps.random.fraction() * free.length);
  for (const lease of [...free.slice(first), ...free.slice(0, first)]) {
    if (!(await lease.take())) continue;
    const { nextAt, isSlow } = lease;
    return { [Symbol.asyncDispose]: () => lease.release({ nextAt, isSlow }) };
  }
  return undefined;
}

/** Serves receivers in one lane, or leaves them all if there is none. */
export async function serveInLane<Own>(
  receivers: readonly Own[],
  { serve, leave }: Record<"serve" | "leave", (own: Own) => Promise<void>>,
  deps: Pick<DialerDeps, "clock" | "documents" | "random" | "log" | "sweepSeconds">,
): Promise<void> {
  if (receivers.length === 0) return;
  await using lane = await takeClientReceiverLane(deps).catch(() => undefined);
  await Promise.all(receivers.map(lane === undefined ? leave : serve));
}

/** Returns the outcome of a message for which there is no lane: by the next sweep there is a newer one. */
export function withoutLane(
  { message, attempt }: { message: EventMessage; attempt: number },
  { clock, sweepSeconds }: Pick<DialerDeps, "clock" | "sweepSeconds">,
): AckOrRetry {
  const isOld = message.kind === "deliver" && clock.now() - message.sentAt > sweepSeconds * 1000;
  return isOld ? "ack" : { retryAfterSeconds: Math.min(2 ** attempt, lanedSecondsMax) };
}
