import { sweepKey } from "../../../shared/policy/restore.ts";
import { minuteMs } from "../../../shared/lib/units.ts";
import type { DialerDeps } from "./context.ts";

/** Age of the last full round from which on deliveries raise an alarm: the schedule may have stopped. */
const heartbeatMsMax = 300_000;
/** Interval between a process's checks of the heartbeat. */
const checkEveryMs = minuteMs;

/** Raises an alarm if no sweep has completed a full round for five minutes; at most once a minute. */
export async function watchHeartbeat(deps: DialerDeps): Promise<void> {
  const { documents, clock, log, memory } = deps;
  const now = clock.now();
  if (now - memory.heartbeatReadAt < checkEveryMs) return;
  memory.heartbeatReadAt = now;
  const current = (await documents.read([sweepKey])).get("sweep", sweepKey.key);
  const lastAt = current?.value.fullRoundAt ?? now;
  if (current === undefined || now - lastAt <= heartbeatMsMax) return;
  log("alarm", "sweep.late", { due_at: new Date(lastAt).toISOString() });
}
