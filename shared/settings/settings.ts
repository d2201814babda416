import type { KeyObject } from "node:crypto";
import { createCallbackKeys } from "../dial-plan/callback-keys.ts";
import { parseDialPlan } from "../dial-plan/parse-dial-plan.ts";
import type { DialPlan } from "../dial-plan/plan-schema.ts";
import type { RouteKinds } from "../dial-plan/route-kinds.ts";
import { readPublicUrl } from "./callback-url.ts";
import { permitsLoopback } from "./loopback.ts";
import { malformedSecrets, missingSecrets } from "../dial-plan/secrets.ts";
import { readEventsKeys } from "./events-keys.ts";
import type { Log } from "../lib/log.ts";
import { createKeyedHashes, type KeyedHashes } from "../lib/keyed-hashes.ts";
import { type RotatedKeys, parseKeys } from "../lib/rotated-keys.ts";
import { createIssuedIds, type IssuedIds } from "../calls/issued-ids.ts";
import { createNumberHasher, type NumberHasher } from "../telephony/number-hashes.ts";
import { armsKeysUnder } from "../dial-plan/splits.ts";
import { createRouteTable, type RouteTable } from "../dial-plan/route-table.ts";
import { createSchedule, type Schedule } from "../dial-plan/schedule.ts";
import {
  type AgentsByClient,
  readAgentsByClient,
  hasTokenOf,
  type Caller,
  findCaller,
  type ClientRight,
  clientRights,
  parseTokens,
} from "./tokens.ts";

/** Variables and secrets as provided by the platform. */
export type Environment = Record<string, string | undefined>;

/** Valid settings, or a description of the problem that quotes no value. */
export type Settings<Value> = { value: Value } | { problem: string };

export interface ApiSettings {
  plan: DialPlan;
  /** Routes and accounts of the plan. */
  table: RouteTable;
  schedule: Schedule;
  hashKeys: RotatedKeys;
  /** Hash numbers, and of the API's requests anything else, under these keys. */
  numbers: NumberHasher;
  hashes: KeyedHashes;
  issuedIds: IssuedIds;
  /** Returns the key by which a split chooses arms in its first round: see `armsKeysUnder`. */
  armsKeyOf: (split: string) => string;
  /** Keys of the secrets of clients' own receivers. */
  eventsKeys: RotatedKeys;
  /** Address under which providers reach the API, without a slash at its end. Absent: there are no callbacks. */
  publicUrl?: string | undefined;
  /** True in a local run, where clients' own receivers may be on this machine. */
  permitsLoopback?: boolean | undefined;
  /**
   * Returns the key that verifies a webhook account's callbacks; undefined if they need not be signed.
   *
   * @throws an Error that names the secret if it is missing or malformed
   */
  callbackKeyOf(account: string): KeyObject | undefined;
}

/** Returns valid settings. @throws an Error with the problem otherwise */
export function valueOf<Value>(settings: Settings<Value>): Value {
  if ("problem" in settings) throw new Error(settings.problem);
  return settings.value;
}

/** Values that only the entry of a function can bring: the plan of its bundle, and the kinds of providers. */
export interface Bundled {
  bundledPlan: unknown;
  kinds: RouteKinds;
}

/** Reads the API's settings other than its tokens. If there is a problem, the API answers 503 and accepts nothing. */
export function readApiSettings(environment: Environment, bundled: Bundled, log: Log) {
  return read(log, (): ApiSettings => {
    const settings = bothSettings(environment, bundled, log);
    return { ...settings, hashes: createKeyedHashes(settings) };
  });
}

/** The settings of the dialer, too. */
type BothSettings = Omit<ApiSettings, "hashes">;

function bothSettings(
  environment: Environment,
  { bundledPlan, kinds }: Bundled,
  log: Log,
): BothSettings {
  const plan = parseDialPlan(bundledPlan, environment, kinds);
  const hashKeys = readHashKeys(environment);
  const eventsKeys = readEventsKeys(environment);
  const publicUrl = readPublicUrl(environment);
  const callbackKeyOf = createCallbackKeys(plan, environment, kinds);
  const table = createRouteTable(plan, kinds);
  const schedule = createSchedule(table, log);
  const isLocal = permitsLoopback(environment);
  const keys = { ...withHashKeys(hashKeys), eventsKeys, callbackKeyOf };
  return { plan, table, schedule, ...keys, publicUrl, permitsLoopback: isLocal };
}

/**
 * Reads the dialer's settings. If there is a problem, the dialer dials nobody and retries every delivery.
 *
 * @param build.connect creates the clients of the plan's providers and receivers
 */
export function readDialerSettings<Connected extends object>(
  environment: Environment,
  { connect, ...bundled }: Bundled & { connect: (plan: DialPlan) => Connected },
  log: Log,
): Settings<BothSettings & Connected> {
  return read(log, () => {
    const settings = bothSettings(environment, bundled, log);
    const missing = missingSecrets(settings.plan, environment, bundled.kinds);
    if (missing.length > 0) throw new Error(`the dial plan needs ${missing.join(", ")}`);
    const malformed = malformedSecrets(settings.plan, environment, bundled.kinds);
    if (malformed.length > 0) {
      throw new Error(`${malformed.join(", ")} must be printable ASCII without spaces`);
    }
    return { ...settings, ...connect(settings.plan) };
  });
}

/**
 * Reads `API_TOKENS` and returns functions that resolve a token to its caller, and list the clients with the agents of
 * their tokens. If the variable is missing or unreadable, none of its tokens is valid. It may be `[]` where there are
 * operators, who can make tokens.
 */
export function readTokens({ API_TOKENS, OPERATOR_TOKENS }: Environment, log: Log) {
  const isEmpty = isEmptyList(API_TOKENS) && Boolean(OPERATOR_TOKENS);
  const tokens: ReturnType<typeof tokensIn> = isEmpty
    ? { value: [] }
    : tokensIn("API_TOKENS", { json: API_TOKENS }, log);
  const listed = "value" in tokens ? tokens.value : [];
  // An unreadable list may have an entry that locks a made token out.
  const isUnreadable = "problem" in tokens && Boolean(API_TOKENS);
  return {
    listedTokens: isUnreadable ? undefined : new Set(listed.map(({ id }) => id)),
    isListedClient: (client: string, now: number) => hasTokenOf(client, listed, now),
    callerOf: callersOf(tokens),
    agentsByClient: async (now: number): Promise<AgentsByClient> => readAgentsByClient(listed, now),
  };
}

/** True if the text of API_TOKENS says that operators make all tokens. */
export function isEmptyList(json: string | undefined): boolean {
  return json !== undefined && /^\s*\[\s*\]\s*$/.test(json);
}

/**
 * Reads `OPERATOR_TOKENS` and returns a function that resolves an operator's token. Undefined if the variable
 * is not set, which disables the operator API.
 */
export function readOperators({ OPERATOR_TOKENS, API_TOKENS }: Environment, log: Log) {
  if (!OPERATOR_TOKENS) return undefined;
  return callersOf(tokensIn("OPERATOR_TOKENS", { json: OPERATOR_TOKENS, others: API_TOKENS }, log));
}

/** Reads the rights that the deployment permits to clients' tokens. On AWS the API's function has only these. */
export function readClientRights({ CLIENT_RIGHTS = "" }: Environment): ClientRight[] {
  const names = CLIENT_RIGHTS.split(",");
  return clientRights.filter((right) => names.includes(right));
}

/** @param values.others tokens that must not appear among these: no token serves both purposes */
function tokensIn(
  name: "API_TOKENS" | "OPERATOR_TOKENS",
  { json, others }: { json: string | undefined; others?: string | undefined },
  log: Log,
) {
  return read(log, () => {
    if (!json) throw new Error(`${name} is not set: none of its tokens lets anybody in`);
    const parsed = parseTokens(json, name);
    const both = parsed.find(({ sha256 }) => others?.toLowerCase().includes(sha256.toLowerCase()));
    if (both !== undefined) throw new Error(`${name}: ${both.id} is a token of API_TOKENS too`);
    return parsed;
  });
}

function callersOf(tokens: ReturnType<typeof tokensIn>) {
  return (token: string, now: number): Caller | undefined =>
    "value" in tokens ? findCaller(token, tokens.value, now) : undefined;
}

function read<Value>(log: Log, parse: () => Value): Settings<Value> {
  try {
    return { value: parse() };
  } catch (error) {
    const problem = error instanceof Error ? error.message : "unreadable settings";
    log("alarm", "settings.invalid", { problem });
    return { problem };
  }
}

/** Returns the settings that follow from HASH_KEY. */
export function withHashKeys(
  hashKeys: RotatedKeys,
): Pick<ApiSettings, "hashKeys" | "numbers" | "issuedIds" | "armsKeyOf"> {
  return {
    hashKeys,
    numbers: createNumberHasher(hashKeys),
    issuedIds: createIssuedIds(hashKeys),
    armsKeyOf: armsKeysUnder(hashKeys.current),
  };
}

/** Returns the keys for the hashes of numbers, the fingerprints of requests and the addresses of callbacks. */
export function readHashKeys({ HASH_KEY }: Environment): RotatedKeys {
  if (!HASH_KEY) throw new Error("HASH_KEY is not set: 32 random bytes in hex");
  return parseKeys(HASH_KEY, "HASH_KEY");
}
