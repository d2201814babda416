import { secretsOf } from "../providers/index.ts";
import type { DialPlan } from "./plan-schema.ts";

/** Returns the names of the secrets that the plan's providers need and `environment` lacks. */
export function missingSecrets(
  plan: DialPlan,
  environment: Record<string, string | undefined>,
): string[] {
  const needed = new Set(Object.values(plan.agents).flatMap(secretsOf));
  return [...needed].filter((name) => !environment[name]);
}

/** Returns the names of the secrets that no header can carry: every request with them would fail before it leaves. */
export function malformedSecrets(
  plan: DialPlan,
  environment: Record<string, string | undefined>,
): string[] {
  const needed = new Set(Object.values(plan.agents).flatMap(secretsOf));
  return [...needed].filter((name) => !/^[\x21-\x7e]*$/.test(environment[name] ?? ""));
}
