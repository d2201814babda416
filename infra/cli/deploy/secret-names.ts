import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import { routeKinds } from "#shared/providers/routes.ts";
import { isEventsKey, listEventsKeys } from "#shared/settings/events-keys.ts";
import { isReceiverSecret } from "#shared/dial-plan/receivers.ts";
import { neededSecrets } from "#shared/dial-plan/secrets.ts";

/** The two functions of the service. */
export type FunctionName = "api" | "dialer";

/** Variables that hold the entries of tokens. */
export const tokenVariables = ["API_TOKENS", "OPERATOR_TOKENS"] as const;
export type TokenVariable = (typeof tokenVariables)[number];

/** True for the name of a secret that holds entries of tokens, such as `API_TOKENS` or `OPERATOR_TOKENS_ADA`. */
export const holdsTokens = (name: string): boolean =>
  tokenVariables.some((variable) => name.startsWith(variable));

/**
 * True while a deployment has to make the first token. Operators' tokens are use of it too, as operators make other
 * tokens. But the API is given its first EVENTS_KEY together with the first token: without one, the operators' tokens
 * were only installed after a first run that was cut off.
 *
 * @param names the API's secrets that are set
 */
export function lacksFirstToken(names: readonly string[]): boolean {
  if (names.some((name) => name.startsWith(tokenVariables[0]))) return false;
  return listEventsKeys(names).length === 0 || !names.some(holdsTokens);
}

/** Returns the functions that read a secret: each is given no other. */
export function readersOf(secret: string): FunctionName[] {
  if (["DIAL_PLAN", "HASH_KEY", "PUBLIC_URL"].includes(secret) || isEventsKey(secret)) {
    return ["dialer", "api"];
  }
  if (holdsTokens(secret)) return ["api"];
  return isWebhookSecret(secret) ? ["dialer", "api"] : ["dialer"];
}

/**
 * True for the name of a webhook's secret, such as `WEBHOOK_SECRET`, by which the API verifies callbacks. No other type
 * of account has one that ends so but LiveKit's `API_SECRET`.
 */
export function isWebhookSecret(name: string): boolean {
  return (
    /^[A-Z0-9_]+_SECRET$/.test(name) && !name.endsWith("_API_SECRET") && !isReceiverSecret(name)
  );
}

/** The platforms that the service is deployed to. */
export type PlatformName = "aws" | "cloudflare";

/** Returns the names of the secrets that the accounts of a dial plan need on a platform. */
export function providerSecretsOf(plan: DialPlan, platform: PlatformName): string[] {
  return neededSecrets(plan, hasRole(platform), routeKinds);
}

/** True if the dialer has an AWS role there, which signs requests in place of an account's secrets. */
const hasRole = (platform: PlatformName): boolean => platform === "aws";

/** The secrets of one deployment, wherever its platform keeps them. */
export interface SecretStore {
  /** Returns the names of the secrets that are set. */
  names(): Promise<string[]>;
  /** Returns a secret's value; a platform that never shows a secret lacks this method. */
  read?(name: string): Promise<string | undefined>;
  /**
   * Sets these secrets for every function that reads them.
   *
   * @param options.replaces true if another HASH_KEY may be lost by it, or only one that no token has brought into use
   * @param options.keeps names of those that stay as they are where somebody has set them meanwhile
   */
  set(
    values: Record<string, string>,
    options?: { replaces?: boolean | "if unused"; keeps?: readonly string[] },
  ): Promise<void>;
  /**
   * Sets a secret to what follows from its value, on a platform that shows secrets.
   *
   * @param toNext is called again with the new value if somebody else sets the secret meanwhile
   */
  change?(name: string, toNext: (value: string | undefined) => string): Promise<void>;
  /** Returns the names of the secrets that all functions which read them have, on a platform that sets them one by one. */
  wholeNames?(): Promise<string[]>;
  /** Returns the names of the keys that are in use, on a platform that never shows a secret. */
  keyNames?(): Promise<string[]>;
  /**
   * Does what reads secrets and then sets them while no other run does, on a platform that overwrites without a condition.
   *
   * @param work is given the store whose `set` belongs to it
   */
  alone?<Value>(work: (store: SecretStore) => Promise<Value>): Promise<Value>;
  /** Deletes secrets, of each function that has them. */
  remove(names: readonly string[]): Promise<void>;
}

/** Does something with a store while no other run does, where the platform needs that. */
export function alone<Value>(
  store: SecretStore,
  work: (held: SecretStore) => Promise<Value>,
): Promise<Value> {
  return store.alone?.(work) ?? work(store);
}
