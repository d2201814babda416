import type { StoredDocument } from "#shared/ports/document-kinds.ts";
import { dispatcherKey } from "#shared/policy/dispatcher.ts";
import { errorForLog } from "#shared/lib/log.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { minuteMs } from "#shared/lib/units.ts";

/** Time without a beat after which a dispatcher counts as dead. */
const beatMsMax = 10_000;
/** A dispatcher continues while a row is due within this time. The dispatcher of the next minute handles later rows. */
export const soonMs = minuteMs;

/** True if a dispatcher beats. */
export function isBeating(
  dispatcher: StoredDocument<"dispatcher">["value"] | undefined,
  now: number,
): dispatcher is StoredDocument<"dispatcher">["value"] {
  return (
    dispatcher !== undefined && dispatcher.holder !== null && now - dispatcher.beatAt < beatMsMax
  );
}

/**
 * True if a dispatcher has another plan, which was read before this process's: it was begun before a deployment, and
 * would end calls that the new plan allows.
 */
export function isOutdated(
  { plan }: StoredDocument<"dispatcher">["value"],
  { settings: { planRead } }: Pick<DialerDeps, "settings">,
): boolean {
  return plan !== undefined && plan.readAt < planRead.readAt && plan.hash !== planRead.hash;
}

/**
 * Wakes a dispatcher for rows that were just written WAITING, if none beats with this plan. The dispatcher's document is read after
 * the write, and a dispatcher that ends looks once more after writing so: one of both sees the other. Never throws,
 * as the next minute starts a dispatcher anyway.
 *
 * @param dueAt due times of the rows, in milliseconds since the epoch
 */
export async function wakeForRows(
  dueAt: readonly number[],
  deps: Pick<DialerDeps, "wakeDispatcher" | "documents" | "clock" | "log" | "settings">,
): Promise<void> {
  const { wakeDispatcher, documents, clock, log } = deps;
  if (wakeDispatcher === undefined) return;
  const now = clock.now();
  if (!dueAt.some((time) => time <= now + soonMs)) return;
  try {
    const { kind, key } = dispatcherKey;
    const running = (await documents.read([dispatcherKey])).get(kind, key)?.value;
    if (!isBeating(running, now) || isOutdated(running, deps)) await wakeDispatcher();
  } catch (error) {
    log("warning", "dispatcher.not_woken", { error: errorForLog(error) });
  }
}
