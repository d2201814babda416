import type { Context } from "hono";
import type { StoredClient } from "#shared/policy/stored-tokens.ts";
import type { OperatorRole, tokenRights } from "#shared/settings/tokens.ts";
import type { ApiEnv, RouteDeps } from "../api/http/context.ts";
import { refuseWithoutRole } from "./roles.ts";

type TokenRight = (typeof tokenRights)[number];

/**
 * Role that an operator needs, besides `configure`, to give a client's token a right. `events` needs `reveal`, as its holder
 * may have contexts repeated to a receiver (`echo`).
 */
const roleOfRight: Readonly<Record<TokenRight, OperatorRole>> = {
  call: "send",
  cancel: "decide",
  opt_out: "decide",
  read: "see",
  events: "reveal",
};

/** Returns the answer 403 to an operator who would give a token rights that are more than the operator's own. */
export function refuseRights(
  c: Context<ApiEnv>,
  rights: readonly TokenRight[],
  deps: Pick<RouteDeps, "log">,
): Response | undefined {
  for (const right of rights) {
    const refused = refuseWithoutRole(c, roleOfRight[right], deps);
    if (refused !== undefined) return refused;
  }
  return undefined;
}

type Reach = Pick<StoredClient, "agents" | "quota">;

/** True if a client's tokens may place calls after a change that they may not place before it. */
export function isWidened(before: Reach, after: Reach): boolean {
  const isNew = (agent: string) => !before.agents.includes("*") && !before.agents.includes(agent);
  const rises = (limit: "callsPerDay" | "waiting") =>
    (after.quota?.[limit] ?? Infinity) > (before.quota?.[limit] ?? Infinity);
  return after.agents.some(isNew) || rises("callsPerDay") || rises("waiting");
}
