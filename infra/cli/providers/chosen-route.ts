import { readFile } from "node:fs/promises";
import { parseDialPlan } from "../../../shared/dial-plan/dial-plan.ts";
import type { DialPlan } from "../../../shared/dial-plan/plan-schema.ts";
import { routeOf } from "../../../shared/dial-plan/routes.ts";
import type { Route } from "../../../shared/providers/index.ts";
import { Failure } from "../calls/failures.ts";

/** Reads a dial plan. @throws a Failure that says what is wrong with it */
export async function readPlan(path: string): Promise<DialPlan> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) throw new Failure(`${path} cannot be read.`);
  try {
    return parseDialPlan(undefined, { DIAL_PLAN: text, ALLOW_SIMULATOR: "true" });
  } catch (error) {
    throw new Failure(error instanceof Error ? error.message : `${path} is no dial plan.`, {
      cause: error,
    });
  }
}

/**
 * Returns the route of an account that is to be checked, with the agent whose route it is.
 *
 * @throws a Failure if the plan has no such account or route, or several routes and no `agentId`
 */
export function chosenRoute(
  plan: DialPlan,
  account: string,
  agentId: string | undefined,
): { agentId: string; route: Route } {
  const all = Object.entries(plan.agents);
  const own = all.filter(([, { provider }]) => provider === account);
  const names = own.map(([name]) => name).join(", ");
  const [first] = own;
  if (first === undefined) {
    const accounts = [...new Set(all.map(([, { provider }]) => provider))].join(", ");
    throw new Failure(`No agent of the dial plan dials through ${account}. There is: ${accounts}.`);
  }
  if (agentId !== undefined) {
    const route = routeOf(agentId, plan);
    if (route?.provider === account) return { agentId, route };
    throw new Failure(`${agentId} has no route through ${account}. Those that have: ${names}.`);
  }
  const [name, route] = first;
  const isAmbiguous = own.some(([, one]) => JSON.stringify(one) !== JSON.stringify(route));
  if (isAmbiguous) throw new Failure(`Choose a route with --agent: ${names}.`);
  return { agentId: name, route };
}
