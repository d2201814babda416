import { randomBytes } from "node:crypto";
import { readPublicUrl } from "#shared/settings/callback-url.ts";
import { callbackSecrets } from "#shared/dial-plan/callback-keys.ts";
import { parseDialPlan } from "#shared/dial-plan/parse-dial-plan.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import { isReceiverSecret } from "#shared/dial-plan/receivers.ts";
import { isPrintable } from "#shared/dial-plan/secrets.ts";
import { readBaseUrl } from "#shared/lib/https-url.ts";
import { parseSigningKey, parseSigningKeys } from "#shared/lib/standard-webhooks.ts";
import { routeKinds } from "#shared/providers/routes.ts";
import { checkEventsKey, isEventsKey } from "#shared/settings/events-keys.ts";
import { isEmptyList } from "#shared/settings/settings.ts";
import { createToken, parseNewTokens } from "#shared/settings/tokens.ts";
import { parseJsonText } from "#shared/lib/json-fault.ts";
import * as z from "#shared/lib/zod.ts";
import { endpointVariable, headersVariable } from "#shared/traces/variables.ts";
import { checkHashKey, hashKeyStays, mayFollow } from "./hash-key.ts";
import {
  holdsTokens,
  isWebhookSecret,
  providerSecretsOf,
  readersOf,
  type SecretStore,
  type TokenVariable,
  tokenVariables,
} from "./secret-names.ts";
import { DeployError } from "./tools.ts";

/** An entry of API_TOKENS or OPERATOR_TOKENS, which holds a token's hash. */
export interface TokenEntry {
  id: string;
  sha256: string;
  client?: string | undefined;
  agents?: string[] | undefined;
  /** Checked with the whole entry. */
  rights?: string[] | undefined;
  /** Likewise. */
  mode?: string | undefined;
  /** Likewise. */
  roles?: string[] | undefined;
  notAfter?: string | undefined;
}

/**
 * Sets a secret of a deployment.
 *
 * @param change.replaces true if another HASH_KEY may be overwritten, without which what it has hashed cannot be read
 * @throws DeployError if the value cannot be right, or there is no such deployment
 */
export async function setSecret(
  store: SecretStore,
  name: string,
  { value, replaces }: { value: string; replaces: boolean },
): Promise<void> {
  if (!/^[A-Z][A-Z0-9_]*$/.test(name)) {
    throw new DeployError("A secret's name is in capitals, such as WEBHOOK_SECRET.");
  }
  if (value === "") throw new DeployError(`${name} is empty: give its value on stdin.`);
  checkValue(name, value);
  const variable = tokenVariables.find((one) => name.startsWith(one));
  if (variable !== undefined && name !== variable && store.read !== undefined) {
    const words = variable === "OPERATOR_TOKENS" ? "--operator --install" : "--install";
    throw new DeployError(
      `${name} would not be read: on AWS, ${variable} holds all entries. Make a token and add it: npm run token -- --id ID ${words} --platform aws`,
    );
  }
  // Where operators make all tokens, API_TOKENS is empty.
  if (variable !== undefined && !(name === "API_TOKENS" && isEmptyList(value)))
    check(name, () => {
      const json = parseJsonText(value, name);
      parseNewTokens(JSON.stringify(name === variable ? json : [json]), variable);
    });
  const names = await namesOf(store);
  if (name === "DIAL_PLAN") {
    checkWebhooks(name, readPlan(value));
    requireSecretsOf(readPlan(value), names, store);
  }
  if (name === "HASH_KEY" && names.includes(name) && !replaces) {
    const current = (await store.read?.(name)) ?? "";
    if (!mayFollow(current, value)) throw new DeployError(hashKeyStays);
  }
  await store.set({ [name]: value }, { replaces });
}

/** Secrets that no header carries whole, beside tokens and EVENTS_KEY. */
const withSpaces = new Set(["DIAL_PLAN", "HASH_KEY", headersVariable]);

/** Checks a secret whose wrong value would stop all dialing. @throws DeployError with what is wrong, which quotes nothing */
export function checkValue(name: string, value: string): void {
  const mayHaveSpaces = holdsTokens(name) || isEventsKey(name) || withSpaces.has(name);
  if (!mayHaveSpaces && !isPrintable(value)) {
    throw new DeployError(`${name} must be printable ASCII without spaces.`);
  }
  if (name === "HASH_KEY") checkHashKey(value);
  if (isEventsKey(name)) check(name, () => checkEventsKey(value, name));
  if (name === "PUBLIC_URL") check(name, () => readPublicUrl({ PUBLIC_URL: value }));
  if (name === "DIAL_PLAN") check(name, () => readPlan(value));
  if (name === endpointVariable) check(name, () => readBaseUrl(name, value));
  if (isReceiverSecret(name)) check(name, () => parseSigningKeys(value, name));
  if (isWebhookSecret(name)) check(name, () => parseSigningKey(value, name));
}

const readPlan = (DIAL_PLAN: string) => parseDialPlan({}, { DIAL_PLAN }, routeKinds);

/** @throws DeployError if the API would not get the secret by which it verifies a webhook's callbacks */
export function checkWebhooks(source: string, plan: DialPlan): void {
  const unread = callbackSecrets(plan).find((name) => !readersOf(name).includes("api"));
  if (unread === undefined) return;
  throw new DeployError(
    `${source}: give the webhook's account another name, as ${unread} looks like another type's.`,
  );
}

/** @throws DeployError if the plan needs secrets that are not set: nobody at all would be dialed */
function requireSecretsOf(plan: DialPlan, names: readonly string[], store: SecretStore): void {
  const platform = store.change === undefined ? "cloudflare" : "aws";
  const missing = providerSecretsOf(plan, platform).filter((one) => !names.includes(one));
  if (missing.length === 0) return;
  throw new DeployError(
    `The plan needs ${missing.join(", ")}. Set each first, as in npm run secrets -- set ${missing[0]}`,
  );
}

/** Returns the names of a deployment's secrets. @throws DeployError if there are none: it is not there */
async function namesOf(store: SecretStore): Promise<string[]> {
  const names = await store.names();
  if (names.length === 0) {
    throw new DeployError("There is no deployment of this name with secrets: deploy it first.");
  }
  return names;
}

/** Parses entries. @throws DeployError with what is wrong, which quotes none of them */
function checkEntries(variable: TokenVariable, json: string): void {
  check(variable, () => parseNewTokens(json, variable));
}

/** Parses a value. @throws DeployError with what is wrong with it */
function check(name: string, parse: () => unknown): void {
  try {
    parse();
  } catch (error) {
    throw new DeployError(error instanceof Error ? error.message : `wrong ${name}`);
  }
}

/**
 * Creates a token and its entry. An id has small letters, digits and hyphens alone: `crm.1` and `crm-1` would have one
 * secret's name, and one would be revoked in the other's place.
 *
 * @throws DeployError if a field of it is wrong
 */
export function createEntry(
  fields: Omit<TokenEntry, "sha256">,
  variable: TokenVariable,
): { token: string; entry: TokenEntry } {
  const { token, sha256 } = createToken();
  const { id, ...others } = fields;
  if (!isTokenId(id)) throw new DeployError(tokenIdRule);
  const entry = { id, sha256, ...others };
  checkEntries(variable, JSON.stringify([entry]));
  return { token, entry };
}

const isTokenId = (id: string) => /^[a-z0-9]+(-[a-z0-9]+)*$/.test(id);
const tokenIdRule =
  "The id of a token has lowercase letters, digits and single hyphens between them, such as crm-1.";

/** Name of the secret that holds one entry, on a platform that never shows a secret again. */
const secretOf = (variable: TokenVariable, id: string) =>
  `${variable}_${id.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")}`;

/**
 * Lets a token in: its entry is added to the others.
 *
 * @param token.show prints the token. It is called last before the token is valid: an interruption may leave one that is
 * not valid, never a valid one that nobody has seen
 * @throws DeployError if one of its id is there
 */
export async function installToken(
  store: SecretStore,
  variable: TokenVariable,
  { entry, show }: { entry: TokenEntry; show: () => void },
): Promise<void> {
  const names = await namesOf(store);
  if (store.change === undefined) {
    const name = secretOf(variable, entry.id);
    if (names.includes(name)) {
      throw new DeployError(
        `${name} is set: choose another --id, with the same --client, and revoke the old one later.`,
      );
    }
    show();
    await store.set({ [name]: JSON.stringify(entry) });
    return;
  }
  let isShown = false;
  await store.change(variable, (list) => {
    const entries = JSON.stringify([...entriesIn(variable, list), entry]);
    checkEntries(variable, entries);
    if (!isShown) show();
    isShown = true;
    return entries;
  });
}

/** Returns an entry that lets nobody in, and replaces one of its id in the list. */
function endedEntry(id: string): TokenEntry {
  return { id, sha256: randomBytes(32).toString("hex"), notAfter: "2000-01-01" };
}

/**
 * Lets a token in no longer.
 *
 * @returns a note for the person if nobody can know whether there was a token of this id
 * @throws DeployError if no token has this id
 */
export async function revokeToken(
  store: SecretStore,
  variable: TokenVariable,
  id: string,
): Promise<string | undefined> {
  const names = await namesOf(store);
  if (store.change === undefined) {
    // A list that was set as a whole may have entries of other ids.
    if (!isTokenId(id)) {
      throw new DeployError(
        `${tokenIdRule} A token of another id is revoked by setting its list without it: npm run secrets -- set ${variable}.`,
      );
    }
    const name = secretOf(variable, id);
    const isInstalled = names.includes(name);
    if (!names.includes(variable)) {
      if (!isInstalled) throw new DeployError(`There is no ${name}.`);
      await store.remove([name]);
      return undefined;
    }
    // The list, which cannot be read, may have an entry of the id: this one replaces it.
    await store.set({ [name]: JSON.stringify(endedEntry(id)) });
    return isInstalled
      ? undefined
      : `It had no secret ${name} of its own. If ${variable} lists a token of this id, that one is revoked now; Cloudflare shows no list, so check the id.`;
  }
  await store.change(variable, (list) => {
    const entries = entriesIn(variable, list);
    const others = entries.filter((entry) => entry.id !== id);
    if (others.length === entries.length) throw new DeployError(`${variable} has no token ${id}.`);
    return JSON.stringify(others);
  });
  return undefined;
}

const entriesSchema = z.array(z.looseObject({ id: z.string(), sha256: z.string() }));

function entriesIn(variable: TokenVariable, list = ""): TokenEntry[] {
  return list === "" ? [] : entriesSchema.parse(parseJsonText(list, variable));
}

/** Creates the secret of a webhook, as Standard Webhooks have it: `whsec_` and 32 random bytes in base64. */
export function createWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
}
