import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseDialPlan } from "#shared/dial-plan/parse-dial-plan.ts";
import { parsePlanFile } from "#shared/dial-plan/parse-plan-file.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import { createToken } from "#shared/settings/tokens.ts";
import { routeKinds } from "#shared/providers/routes.ts";
import { checkValue, checkWebhooks } from "./secret-commands.ts";
import { type PlatformName, providerSecretsOf, readersOf } from "./secret-names.ts";
import { DeployError, type Tools } from "./tools.ts";

/** Reads infra/dial-plan.json. @throws DeployError if it is not JSON, or names something twice */
export async function readBundledPlan(): Promise<unknown> {
  const text = await readFile(resolve(import.meta.dirname, "../../dial-plan.json"), "utf8");
  try {
    return parsePlanFile(text);
  } catch (error) {
    throw new DeployError(`infra/dial-plan.json ${error instanceof Error ? error.message : ""}`);
  }
}

/** Parses infra/dial-plan.json. @throws DeployError with what is wrong in it */
export function planOf(bundledPlan: unknown): DialPlan {
  try {
    return parseDialPlan(bundledPlan, {}, routeKinds);
  } catch (error) {
    throw new DeployError(`infra/dial-plan.json: ${error instanceof Error ? error.message : ""}`);
  }
}

/** Describes a secret by who reads it. */
export const described = (name: string) =>
  `${name}, for the dialer${readersOf(name).includes("api") ? " and the API" : ""}`;

/**
 * Takes the secrets that the plan needs and the deployment lacks from the environment, or asks for them.
 *
 * @param standing names of those that all of their readers have
 */
export async function askForSecrets(
  tools: Tools,
  plan: DialPlan,
  { platform, current }: { platform: PlatformName; current: readonly string[] },
): Promise<Record<string, string>> {
  checkWebhooks("infra/dial-plan.json", plan);
  const found: Record<string, string> = {};
  const missing: string[] = [];
  for (const name of providerSecretsOf(plan, platform)) {
    if (current.includes(name)) continue;
    const value = tools.environment[name] ?? (await tools.askSecret(described(name)));
    if (value) found[name] = value;
    else missing.push(name);
  }
  if (missing.length > 0) {
    throw new DeployError(
      `infra/dial-plan.json needs ${missing.join(", ")}. Put each into the environment for this one run. ` +
        "For your own webhook, or a receiver of events, npm run secrets -- webhook makes a secret.",
    );
  }
  for (const [name, value] of Object.entries(found)) checkValue(name, value);
  return found;
}

/**
 * Makes the first token and prints it, before it is set: an interruption may leave a token that is not valid, never
 * a valid one that nobody has seen. Where the output is logged, as in CI, none is made.
 */
export function firstToken({
  environment,
  print,
}: Tools): { entry: string; sha256: string } | undefined {
  if (environment["CI"]) {
    print(
      "No token is made here, as this output is logged: npm run token -- --id ID --install does.",
    );
    return undefined;
  }
  const { token, sha256 } = createToken();
  print(`First token, shown only now and valid once this has ended: ${token}`);
  return { entry: JSON.stringify({ id: "first", sha256 }), sha256 };
}

/**
 * Returns PUBLIC_URL as it is to be set: where the plan asks for results, providers are given the service's own address,
 * unless a person has set another.
 *
 * @param names the settings and secrets that stand
 */
export function publicUrlFor(
  { results }: DialPlan,
  names: readonly string[],
  url: string,
): Record<string, string> {
  return results === undefined || names.includes("PUBLIC_URL") ? {} : { PUBLIC_URL: url };
}

/** The last lines of a deployment: the address, a call as it may be pasted, and what to enter in a monitor. */
export const farewell = (url: string) => `
The service is at ${url}. With a token in TOKEN:

curl -i ${url}/v1/calls -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\
  -d '{"phone_number": "+12025550123", "agent_id": "agent_sales"}'

For an uptime monitor, once a minute: GET ${url}/readyz must answer 200. It answers 503 while nobody is dialed, also in
the first minutes of a new deployment.`;
