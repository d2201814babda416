import { findRole } from "../lib/aws-role.ts";
import { endpointVariable } from "../traces/variables.ts";
import type { DialPlan } from "./plan-schema.ts";
import { checkSecrets } from "./checks.ts";
import { receiverSecrets } from "./receivers.ts";
import type { RouteKinds } from "./route-kinds.ts";

type Kinds = Pick<RouteKinds, "listSecrets">;
type Environment = Record<string, string | undefined>;

/**
 * Returns the names of the secrets that the plan's providers, receivers of events, checks and traces need.
 *
 * @param hasRole true for a Lambda function, whose role may replace secrets
 */
export function neededSecrets(plan: DialPlan, hasRole: boolean, kinds: Kinds): string[] {
  const routes = Object.values(plan.agents);
  const ofProviders = routes.flatMap((route) => kinds.listSecrets(route, hasRole));
  const ofTraces = plan.traces === undefined ? [] : [endpointVariable];
  return [
    ...new Set([...ofProviders, ...receiverSecrets(plan), ...checkSecrets(plan), ...ofTraces]),
  ];
}

/** Returns the names of the needed secrets that `environment` lacks. */
export function missingSecrets(plan: DialPlan, environment: Environment, kinds: Kinds): string[] {
  return neededIn(plan, environment, kinds).filter((name) => !environment[name]);
}

/** Returns the names of secrets that no HTTP header can carry, so that every request with them would fail. */
export function malformedSecrets(plan: DialPlan, environment: Environment, kinds: Kinds): string[] {
  return neededIn(plan, environment, kinds).filter((name) => !isPrintable(environment[name] ?? ""));
}

/** True for a text that every HTTP header can carry. */
export function isPrintable(text: string): boolean {
  return /^[\x21-\x7e]*$/.test(text);
}

function neededIn(plan: DialPlan, environment: Environment, kinds: Kinds): string[] {
  return neededSecrets(plan, findRole(environment) !== undefined, kinds);
}
