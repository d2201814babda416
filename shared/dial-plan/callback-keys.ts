import { getOrMake } from "../lib/get-or-make.ts";
import type { KeyObject } from "node:crypto";
import { parseSigningKey } from "../lib/standard-webhooks.ts";
import type { DialPlan } from "./plan-schema.ts";
import { type RouteKinds, secretName } from "./route-kinds.ts";

type Environment = Record<string, string | undefined>;

/** Names the secret of a webhook's account, which signs its requests and its callbacks: `WEBHOOK_SECRET`. */
const secretOfAccount = (account: string) => secretName(account, "SECRET");

/** Returns the names of the secrets of a plan's webhooks. A webhook on this machine may lack its secret. */
export function callbackSecrets({ agents }: Pick<DialPlan, "agents">): string[] {
  const webhooks = Object.values(agents).filter(({ provider }) => provider === "webhook");
  return [...new Set(webhooks.map(({ account }) => secretOfAccount(account)))];
}

/**
 * Creates a function that returns the key with which a webhook account's callbacks are verified. It returns undefined
 * if the account has no secret and all its routes lead to this machine; callbacks then need no signature.
 *
 * The function throws an Error that names the secret if that is missing or malformed.
 */
export function createCallbackKeys(
  { agents }: Pick<DialPlan, "agents">,
  environment: Environment,
  kinds: Pick<RouteKinds, "listSecrets">,
): (account: string) => KeyObject | undefined {
  const keys = new Map<string, KeyObject>();
  return (account) => {
    const variable = secretOfAccount(account);
    const secret = environment[variable];
    if (!secret) {
      const routes = Object.values(agents).filter((one) => one.account === account);
      const isLocal =
        routes.length > 0 && routes.every((one) => kinds.listSecrets(one, false).length === 0);
      if (isLocal) return undefined;
      throw new Error(`${variable} is not set`);
    }
    return getOrMake(keys, account, () => parseSigningKey(secret, variable));
  };
}
