import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import type { Log } from "#shared/lib/log.ts";

// A client may post a number as the agent, or name its own receiver by one: logs and traces have only the plan's names.

type Plan = Pick<DialPlan, "agents" | "splits">;

/** Returns an agent's name in logs and traces: `*` if the plan does not name it. */
export function agentForTelemetry(agentId: string, { agents, splits }: Plan): string {
  return Object.hasOwn(agents, agentId) || Object.hasOwn(splits, agentId) ? agentId : "*";
}

/** Returns a receiver's name in logs and traces: of a client's own receiver (`clientReceiverName`) only whose it is. */
export function receiverForTelemetry(name: string): string {
  return name.replace(/^(own:.*)\/.*$/, "$1");
}

/** A key that has a backlog's name: its client and agent. */
const backlogKey = /^backlog:(\[.*)$/;

/** Returns a log that is wired under a plan: each field has the plan's names. */
export function logForPlan(log: Log, plan: Plan): Log {
  const rename = (field: string, value: unknown) => {
    if (typeof value !== "string") return value;
    if (field === "agent_id") return agentForTelemetry(value, plan);
    const [, backlog] = backlogKey.exec(value) ?? [];
    if (backlog === undefined) return receiverForTelemetry(value);
    const [client, agentId = ""]: string[] = JSON.parse(backlog);
    return `backlog:${JSON.stringify([client, agentForTelemetry(agentId, plan)])}`;
  };
  return (level, event, fields) => log(level, event, JSON.parse(JSON.stringify(fields, rename)));
}
