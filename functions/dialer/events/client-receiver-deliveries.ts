import type { ClientReceiver } from "#shared/dial-plan/receivers.ts";
import {
  deliveriesKeptMs,
  deliveriesMax,
  type DeliveryTry,
} from "#shared/events/client-receiver-deliveries.ts";
import { changeDocument } from "#shared/ports/change-document.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { EventAnswer } from "../runtime/post-event.ts";
import { codeOf } from "./receiver-health.ts";

/** A try to deliver an event, before it is numbered. */
export type Tried = ReturnType<typeof toTried>;

/** Returns the record of a try. It has the answer's status or the code of an error, and nothing that was sent. */
export function toTried(
  event: { id: string; type: string; tries: number },
  { answer, at, ms }: { answer: EventAnswer; at: number; ms: number },
) {
  const how = "status" in answer ? { status: answer.status } : { error: codeOf(answer) };
  return { at, event: event.id, type: event.type, try: event.tries + 1, ms, ...how };
}

/** Adds tries to the list of a client's own receiver, by one write. Never throws, because only people read the list. */
export async function recordDeliveries(
  tried: readonly Tried[],
  { name }: ClientReceiver,
  deps: Pick<DialerDeps, "documents" | "clock" | "random" | "log">,
): Promise<void> {
  if (tried.length === 0) return;
  const now = deps.clock.now();
  const edit = {
    name: { kind: "deliveries", key: name } as const,
    change(current: { next: number; tries: DeliveryTry[] } | undefined) {
      const { next = 1, tries = [] } = current ?? {};
      const added = tried.map((one, index) => ({ ...one, n: next + index }));
      const kept = [...added.toReversed(), ...tries].filter(
        ({ at }) => at > now - deliveriesKeptMs,
      );
      const value = { ...current, next: next + added.length, tries: kept.slice(0, deliveriesMax) };
      return { value, expiresAt: now + deliveriesKeptMs };
    },
  };
  await changeDocument(edit, deps).catch(() => {
    deps.log("warning", "deliveries.not_recorded", { receiver: name, count: tried.length });
  });
}
