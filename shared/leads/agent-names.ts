import type { PlanTexts } from "../answers/answers.ts";

/** Returns the agents to which calls may be posted: those of the plan, `*` for all that it does not name, and its splits. */
export function agentNamesOf({ agents, splits }: Pick<PlanTexts, "agents" | "splits">): string[] {
  return [...agents.map(({ agent_id }) => agent_id), ...splits];
}
