import { backlogBreakerOf, isTestBreaker, numbersBlamed } from "#shared/policy/breakers.ts";
import type { ClientAgent } from "#shared/calls/call-row.ts";
import type { DocumentsRead } from "#shared/ports/document-kinds.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";
import { dayMs } from "#shared/lib/units.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { changeBreaker } from "./circuit-breaker.ts";
import type { Judged } from "./failure-counters.ts";

/** Refused probes at which an alarm is raised, and the interval of the alarms after it. */
const alarmedProbes = 10;
const refusingAlarmMs = dayMs;

/**
 * True if the refused call was the probe of its backlog's breaker of refusals. The refusal then shows that the cause
 * remains, and says nothing about the call, which waits again, even if a person would otherwise have decided. A
 * refusal that blames the number still ends the call, unless the breaker's cause is blamed numbers.
 *
 * @param read the documents as read before its request
 */
export function isRefusedProbe(
  outcome: DialOutcome,
  of: ClientAgent,
  read: DocumentsRead,
): boolean {
  if (outcome.kind !== "rejected" && outcome.kind !== "forbidden") return false;
  const breaker = read.get("breaker", backlogBreakerOf(of))?.value;
  if (breaker?.state !== "open" || breaker.cause !== "calls_refused") return false;
  const isBlamed = outcome.kind === "rejected" && outcome.blamesNumber === true;
  return !isBlamed || breaker.code === numbersBlamed;
}

/**
 * Counts a refused probe, and raises an alarm at the tenth and then once a day, because nothing else happens by
 * itself.
 */
export async function countRefusedProbe(
  { call }: Pick<Judged, "call">,
  deps: Pick<DialerDeps, "documents" | "clock" | "random" | "log">,
): Promise<void> {
  const { clock, log } = deps;
  const key = backlogBreakerOf(call);
  const now = clock.now();
  const changed = await changeBreaker(
    key,
    (value) => {
      if (value?.state !== "open" || call.sentAt < value.openedAt) return undefined;
      const { refused = 0, refusedProbes = 0, alarmedAt } = value;
      const probes = refusedProbes + 1;
      const isAlarm =
        probes >= alarmedProbes && (alarmedAt === undefined || now - alarmedAt >= refusingAlarmMs);
      return {
        ...value,
        refused: refused + 1,
        refusedProbes: probes,
        ...(isAlarm ? { alarmedAt: now } : {}),
      };
    },
    deps,
  );
  if (changed?.after == null || changed.after.alarmedAt === changed.before?.alarmedAt) return;
  const { code, probeAt, refused = 0 } = changed.after;
  const fields = { breaker: key, code, count: refused, due_at: new Date(probeAt).toISOString() };
  log(isTestBreaker(key) ? "warning" : "alarm", "breaker.refusing", fields);
}
