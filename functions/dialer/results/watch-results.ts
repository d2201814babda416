import { errorForLog } from "../../../shared/lib/log.ts";
import { dayMs } from "../../../shared/lib/units.ts";
import { pauseKeyOf } from "../../../shared/policy/controls.ts";
import {
  addResults,
  afterPause,
  type EndedRow,
  findPauseCause,
} from "../../../shared/policy/result-breaker.ts";
import { changeDocument } from "../../../shared/ports/change-document.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** Time for which an agent's results are kept after the last one. */
const keptMs = 7 * dayMs;
/** Author of the pauses. */
const system = "system";

/**
 * Counts results of calls, and pauses agents whose calls end as they are answered, or are blocked. Never throws: a result
 * that could not be counted changes nothing else.
 */
export async function watchResults(ended: readonly EndedRow[], deps: DialerDeps): Promise<void> {
  const byAgent = Map.groupBy(ended, ({ agentId }) => agentId);
  await Promise.all(
    [...byAgent].map(async ([agentId, own]) => {
      try {
        await watchAgent(agentId, own, deps);
      } catch (error) {
        const fields = { agent_id: agentId, count: own.length, error: errorForLog(error) };
        deps.log("warning", "results.not_watched", fields);
      }
    }),
  );
}

/**
 * Counts an agent's results, and pauses it if they demand that. They are forgotten after the pause is written: a process
 * that dies before leaves them, and the next result leads to the pause.
 */
async function watchAgent(
  agentId: string,
  own: readonly EndedRow[],
  deps: DialerDeps,
): Promise<void> {
  const { clock } = deps;
  const name = { kind: "agent-results", key: agentId } as const;
  const expiresAt = clock.now() + keptMs;
  const change = (known: Parameters<typeof addResults>[0]) => ({
    value: addResults(known, own),
    expiresAt,
  });
  const { after } = await changeDocument({ name, change }, deps);
  const cause = after && findPauseCause(after);
  if (cause === undefined) return;
  const at = clock.now();
  const isNew = await pauseAgent(agentId, at, deps);
  if (isNew) deps.log("alarm", "agent.paused", { agent_id: agentId, reason: cause });
  const forget = (known: Parameters<typeof addResults>[0]) =>
    known && { value: afterPause(known, at), expiresAt };
  await changeDocument({ name, change: forget }, deps);
}

/** Pauses an agent, unless it is paused. Returns true if this has paused it. */
async function pauseAgent(
  agent: string,
  at: number,
  { documents, random }: DialerDeps,
): Promise<boolean> {
  const of = { agent };
  const value = { of, at, by: system };
  const next = { ...pauseKeyOf(of), version: random.version(), value, expiresAt: null };
  const [isWritten] = await documents.write([{ next, seen: null }]);
  return isWritten === true;
}
