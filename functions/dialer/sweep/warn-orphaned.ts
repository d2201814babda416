import { pendingOf } from "#shared/events/outbox-rows.ts";
import type { ValueOf } from "#shared/ports/document-kinds.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { dayMs } from "#shared/lib/units.ts";

/** Receivers that the plan has or had, and the time of the last check of former receivers' events. */
export type KnownReceivers = Pick<ValueOf<"sweep">, "receivers" | "orphanedAt">;

const lookEveryMs = dayMs;

/**
 * Raises an alarm a day for each receiver that is no longer in the plan and has pending events. They are not
 * delivered until the plan has the receiver again.
 *
 * @returns the receivers to store for the next sweep, and the time of the last check
 * @throws if the ledger cannot be read
 */
export async function warnOrphaned(
  { receivers: known = [], orphanedAt = 0 }: KnownReceivers,
  deps: Pick<DialerDeps, "ledger" | "clock" | "settings" | "log">,
): Promise<KnownReceivers> {
  const { ledger, clock, settings, log } = deps;
  const now = clock.now();
  const present = Object.keys(settings.plan.events ?? {});
  const receivers = [...new Set([...known, ...present])].toSorted();
  const gone = receivers.filter((name) => !present.includes(name));
  if (now - orphanedAt < lookEveryMs || gone.length === 0) return { receivers, orphanedAt };
  const backlogs = gone.map((name) => ({ key: pendingOf(name) }));
  const firsts = await ledger.due({ of: "events", lanes: backlogs, until: now, each: 1 });
  for (const [index, receiver] of gone.entries()) {
    if (firsts[index]?.length === 1) log("alarm", "events.orphaned", { receiver });
  }
  return { receivers, orphanedAt: now };
}
