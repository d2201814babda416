import type { KeyObject } from "node:crypto";
import { parseSigningKey } from "../lib/standard-webhooks.ts";
import { secretName, listSecrets } from "../providers/routes.ts";
import type { DialPlan } from "./plan-schema.ts";

type Environment = Record<string, string | undefined>;

/** Names the secret of a webhook's account, which signs its requests and its callbacks: `WEBHOOK_SECRET`. */
const secretOfAccount = (account: string) => secretName(account, "SECRET");

/** Returns the names of the secrets of a plan's webhooks. One to this machine need not be given, and is used if it is. */
export function callbackSecrets({ agents }: Pick<DialPlan, "agents">): string[] {
  const webhooks = Object.values(agents).filter(({ type }) => type === "webhook");
  return [...new Set(webhooks.map(({ provider }) => secretOfAccount(provider)))];
}

/**
 * Creates a function that returns the key of a webhook's account, by which its callbacks are verified. Undefined where
 * no secret is given and each of its routes leads to this machine: then a callback need not be signed.
 *
 * The function throws an Error that names the secret if that is missing or malformed.
 */
export function createCallbackKeys(
  { agents }: Pick<DialPlan, "agents">,
  environment: Environment,
): (account: string) => KeyObject | undefined {
  const keys = new Map<string, KeyObject>();
  return (account) => {
    const variable = secretOfAccount(account);
    const secret = environment[variable];
    if (!secret) {
      const routes = Object.values(agents).filter(({ provider }) => provider === account);
      const isLocal =
        routes.length > 0 && routes.every((one) => listSecrets(one, false).length === 0);
      if (isLocal) return undefined;
      throw new Error(`${variable} is not set`);
    }
    const key = keys.get(account) ?? parseSigningKey(secret, variable);
    keys.set(account, key);
    return key;
  };
}
