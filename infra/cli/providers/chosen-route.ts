import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { findAgentRoute } from "#shared/dial-plan/dial-plan.ts";
import { parseDialPlan } from "#shared/dial-plan/parse-dial-plan.ts";
import { parsePlanFile } from "#shared/dial-plan/parse-plan-file.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import { routeKinds } from "#shared/providers/routes.ts";
import { isLoopback } from "#shared/lib/https-url.ts";
import type { Route } from "#shared/calls/call-request.ts";
import { Failure } from "../calls/failures.ts";

/** The plan that is bundled into both functions, and that of a local run. */
const bundledPath = resolve(import.meta.dirname, "../../dial-plan.json");
const localPath = resolve(import.meta.dirname, "../../local/dial-plan.json");

/**
 * Reads the dial plan of a file, where one is named, otherwise the plan that the service takes: that of DIAL_PLAN, or
 * `infra/dial-plan.json`; a service on this machine takes `infra/local/dial-plan.json` instead.
 *
 * @throws a Failure that says what is wrong with it
 */
export async function readPlan(
  file: string | undefined,
  { DIAL_PLAN, OUTBOUND_CALLS_URL = "" }: Record<string, string | undefined>,
): Promise<DialPlan> {
  const isLocal = isLoopback(OUTBOUND_CALLS_URL);
  const override = file === undefined ? DIAL_PLAN : undefined;
  try {
    const bundled = override
      ? undefined
      : await jsonIn(file ?? (isLocal ? localPath : bundledPath));
    return parseDialPlan(bundled, { DIAL_PLAN: override, ALLOW_SIMULATOR: "true" }, routeKinds);
  } catch (error) {
    if (error instanceof Failure || !(error instanceof Error)) throw error;
    throw new Failure(error.message, { cause: error });
  }
}

async function jsonIn(path: string): Promise<unknown> {
  const text = await readFile(path, "utf8").catch(() => {
    throw new Failure(`${path} cannot be read.`);
  });
  try {
    return parsePlanFile(text);
  } catch (error) {
    throw new Failure(`${path} ${error instanceof Error ? error.message : ""}.`, { cause: error });
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
  const own = all.filter(([, one]) => one.account === account);
  const names = own.map(([name]) => name).join(", ");
  const [first] = own;
  if (first === undefined) {
    const accounts = [...new Set(all.map(([, one]) => one.account))].join(", ");
    throw new Failure(`No agent of the dial plan dials through ${account}. There is: ${accounts}.`);
  }
  if (agentId !== undefined) {
    const route = findAgentRoute(agentId, plan);
    if (route?.account === account) return { agentId, route };
    throw new Failure(`${agentId} has no route through ${account}. Those that have: ${names}.`);
  }
  const [name, route] = first;
  const isAmbiguous = own.some(([, one]) => JSON.stringify(one) !== JSON.stringify(route));
  if (isAmbiguous) throw new Failure(`Choose a route with --agent: ${names}.`);
  return { agentId: name, route };
}
