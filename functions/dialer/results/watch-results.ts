import { errorForLog } from "#shared/lib/log.ts";
import { dayMs } from "#shared/lib/units.ts";
import { type AccountName, toAccountName } from "#shared/calls/ids.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { findAgentRoute } from "#shared/dial-plan/dial-plan.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import {
  addPoolResults,
  addResults,
  afterPause,
  callerIdOf,
  type EndedRow,
  findPauseCause,
} from "#shared/policy/result-watch.ts";
import type { ValueOf } from "#shared/ports/document-kinds.ts";
import { changeDocument } from "#shared/ports/change-document.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { callerIdsKeyOf } from "#shared/rules/caller-ids.ts";
import { pauseKeyOf } from "#shared/rules/pause.ts";

/** Time for which an agent's results are kept after the last one. */
const storedMs = 7 * dayMs;
/** Author of the pauses. */
const system = "system";

/**
 * Counts results of calls. Pauses agents whose calls end as they are answered, or are blocked, if the plan says so, and
 * lets blocked numbers of pools rest. Results of test calls say nothing about an agent. Never throws: a result that could not be counted changes nothing else.
 */
export async function watchResults(
  ended: readonly CallRow[],
  deps: Pick<DialerDeps, "settings" | "log" | "clock" | "documents" | "random">,
): Promise<void> {
  const { plan } = deps.settings;
  const real = ended.filter(({ mode }) => mode === "live");
  const rows = real.map((row) => ({ ...row, isOfPool: isOfPool(row, plan) }));
  const watch = async (own: readonly EndedRow[], work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      const fields = { count: own.length, error: errorForLog(error) };
      deps.log("warning", "results.not_watched", fields);
    }
  };
  const watched = plan.results?.pauseAgents === true ? rows : [];
  const byAgent = Map.groupBy(watched, ({ agentId }) => agentId);
  const byAccount = Map.groupBy(
    rows.filter((row) => row.isOfPool),
    ({ route }) => route?.account ?? toAccountName(""),
  );
  await Promise.all([
    ...[...byAgent].map(([agentId, own]) => watch(own, () => watchAgent(agentId, own, deps))),
    ...[...byAccount].map(([account, own]) => watch(own, () => watchPools(account, own, deps))),
  ]);
}

/** True if a call was made from a number of its agent's pool. */
function isOfPool({ agentId, route }: CallRow, plan: DialPlan): boolean {
  return findAgentRoute(agentId, plan)?.callerIds?.includes(callerIdOf({ route })) === true;
}

/** Counts results of an account's pools. Raises an alarm for each number that begins to rest. */
async function watchPools(
  account: AccountName,
  own: readonly EndedRow[],
  deps: Pick<DialerDeps, "clock" | "documents" | "random" | "settings" | "log">,
): Promise<void> {
  const now = deps.clock.now();
  let resting: string[] = [];
  const change = (known: ValueOf<"caller-ids"> | undefined) => {
    const added = addPoolResults(known, own, now);
    ({ resting } = added);
    return added.next && { value: added.next, expiresAt: now + storedMs };
  };
  await changeDocument({ name: callerIdsKeyOf({ account }), change }, deps);
  for (const number of resting) {
    // A log has no numbers, so the alarm names the place in the plan.
    const one = own.find(({ route }) => callerIdOf({ route }) === number);
    const { callerIds = [] } = findAgentRoute(one?.agentId ?? "", deps.settings.plan) ?? {};
    const problem = `from.pool.${callerIds.indexOf(number)}`;
    const agent_id = one?.agentId ?? "";
    deps.log("alarm", "caller_id.rests", { agent_id, account, problem });
  }
}

/**
 * Counts an agent's results, and pauses it if they demand that. They are deleted after the pause is written: if the
 * process dies before, they stay, and the next result leads to the pause.
 */
async function watchAgent(
  agentId: string,
  own: readonly EndedRow[],
  deps: Pick<DialerDeps, "clock" | "documents" | "random" | "log">,
): Promise<void> {
  const { clock } = deps;
  const name = { kind: "agent-results", key: agentId } as const;
  const expiresAt = clock.now() + storedMs;
  const change = (known: ValueOf<"agent-results"> | undefined) => ({
    value: addResults(known, own),
    expiresAt,
  });
  const { after } = await changeDocument({ name, change }, deps);
  const cause = after && findPauseCause(after);
  if (cause === undefined) return;
  const at = clock.now();
  const isNew = await pauseAgent(agentId, at, deps);
  if (isNew) deps.log("alarm", "agent.paused", { agent_id: agentId, reason: cause });
  const forget = (known: ValueOf<"agent-results"> | undefined) =>
    known && { value: afterPause(known, at), expiresAt };
  await changeDocument({ name, change: forget }, deps);
}

/**
 * Pauses an agent until somebody resumes it, unless it is already paused in this way. A pause with an end is
 * replaced. Returns true if this call has paused it.
 */
async function pauseAgent(
  agent: string,
  at: number,
  deps: Pick<DialerDeps, "documents" | "random">,
): Promise<boolean> {
  const of = { agent };
  const change = (paused: ValueOf<"pause"> | undefined) => {
    const isOpenEnded = paused !== undefined && paused.until === undefined;
    return isOpenEnded ? undefined : { value: { of, at, by: system }, expiresAt: null };
  };
  const { after } = await changeDocument({ name: pauseKeyOf(of), change }, deps);
  return after !== undefined;
}
