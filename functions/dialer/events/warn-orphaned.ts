import { pendingOf } from "../../../shared/events/outbox-rows.ts";
import type { ValueOf } from "../../../shared/ports/document-kinds.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { dayMs } from "../../../shared/lib/units.ts";

/** Receivers that the plan has had, and the time of the last look at the events of those that have left it. */
export type KnownReceivers = Pick<ValueOf<"sweep">, "receivers" | "orphanedAt">;

const lookEveryMs = dayMs;

/**
 * Raises an alarm a day for each receiver that has left the plan while events to it were pending: they are not delivered
 * until it is put back.
 *
 * @returns the receivers that the next sweep is to know, and the time of the last look
 * @throws if the ledger cannot be read
 */
export async function warnOrphaned(
  { receivers: known = [], orphanedAt = 0 }: KnownReceivers,
  deps: DialerDeps,
): Promise<KnownReceivers> {
  const { ledger, clock, settings, log } = deps;
  const now = clock.now();
  const present = Object.keys(settings.plan.events ?? {});
  const receivers = [...new Set([...known, ...present])].toSorted();
  const gone = receivers.filter((name) => !present.includes(name));
  if (now - orphanedAt < lookEveryMs || gone.length === 0) return { receivers, orphanedAt };
  const backlogs = gone.map((name) => ({ key: pendingOf(name) }));
  const firsts = await ledger.due({ of: "events", backlogs, until: now, each: 1 });
  for (const [index, receiver] of gone.entries()) {
    if (firsts[index]?.length === 1) log("alarm", "events.orphaned", { receiver });
  }
  return { receivers, orphanedAt: now };
}
