import { backlogOf, backlogOfKey } from "#shared/calls/call-row.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import { type Log, renameIn } from "#shared/lib/log.ts";
import { parseClientReceiver } from "#shared/ports/receiver-kinds.ts";

// A client may post a number as the agent, or name its own receiver by one: logs and traces have only the plan's names.

type Plan = Pick<DialPlan, "agents" | "splits">;

/** Returns an agent's name in logs and traces: `*` if the plan does not name it. */
export function agentForTelemetry(agentId: string, { agents, splits }: Plan): string {
  return Object.hasOwn(agents, agentId) || Object.hasOwn(splits, agentId) ? agentId : "*";
}

/** Returns a receiver's name in logs and traces: of a client's own receiver only whose it is. */
export function receiverForTelemetry(name: string): string {
  const own = parseClientReceiver(name);
  return own === undefined ? name : `own:${own.client}`;
}

/** Beginning of the keys that have a backlog's name after it. */
const backlogPrefix = "backlog:";

/** Returns a log that is wired under a plan, by the names of `agentForTelemetry` and `receiverForTelemetry`. */
export function logForPlan(log: Log, plan: Plan): Log {
  return renameIn(log, {
    agent: (agentId) => agentForTelemetry(agentId, plan),
    key(key) {
      if (!key.startsWith(backlogPrefix)) return receiverForTelemetry(key);
      const { client, agentId } = backlogOfKey(key.slice(backlogPrefix.length));
      return backlogPrefix + backlogOf({ client, agentId: agentForTelemetry(agentId, plan) });
    },
  });
}
