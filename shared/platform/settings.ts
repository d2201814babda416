import {
  type DialPlan,
  malformedSecrets,
  missingSecrets,
  parseDialPlan,
} from "../dial-plan/dial-plan.ts";
import type { Log } from "./log.ts";
import type { Route } from "../providers/index.ts";
import { createSchedule, type Schedule } from "../schedule/schedule.ts";
import { type Caller, callerOf, parseTokens } from "./tokens.ts";

/** Variables and secrets as the platform hands them over. */
export type Environment = Record<string, string | undefined>;

/** Settings that are right, or what is wrong with them, in words that quote no value. */
export type Settings<Value> = { value: Value } | { problem: string };

export interface ApiSettings {
  plan: DialPlan;
  schedule: Schedule;
  hashKey: string;
}

/** What the API needs besides its tokens. With a problem, it answers 503 and accepts nothing. */
export function readApiSettings(environment: Environment, bundledPlan: unknown, log: Log) {
  return read(log, () => apiSettings(environment, bundledPlan, log));
}

function apiSettings(environment: Environment, bundledPlan: unknown, log: Log): ApiSettings {
  const plan = parseDialPlan(bundledPlan, environment);
  return { plan, schedule: createSchedule(plan, log), hashKey: hashKeyIn(environment) };
}

/** What the dialer needs. With a problem, it dials nobody and hands every delivery back. */
export function readDialerSettings<ProviderOf>(
  environment: Environment,
  bundledPlan: unknown,
  createProviders: (routes: Route[]) => ProviderOf,
  log: Log,
): Settings<ApiSettings & { providerOf: ProviderOf }> {
  return read(log, () => {
    const settings = apiSettings(environment, bundledPlan, log);
    const missing = missingSecrets(settings.plan, environment);
    if (missing.length > 0) throw new Error(`the dial plan needs ${missing.join(", ")}`);
    const malformed = malformedSecrets(settings.plan, environment);
    if (malformed.length > 0) {
      throw new Error(`${malformed.join(", ")} must be printable ASCII without spaces`);
    }
    const providerOf = createProviders(Object.values(settings.plan.agents));
    return { ...settings, providerOf };
  });
}

/**
 * Whose a token is, by `API_TOKENS`. Missing or unreadable, it is nobody's: every request is answered 401.
 */
export function readTokens({ API_TOKENS }: Environment, log: Log) {
  return callersOf("API_TOKENS", API_TOKENS, log);
}

/** Whose an operator's token is, by `OPERATOR_TOKENS`; undefined where that is not set: there is no operator then. */
export function readOperators({ OPERATOR_TOKENS, API_TOKENS }: Environment, log: Log) {
  if (!OPERATOR_TOKENS) return undefined;
  return callersOf("OPERATOR_TOKENS", OPERATOR_TOKENS, log, API_TOKENS);
}

/** @param others tokens of which none may be among these: none is for both */
function callersOf(
  name: "API_TOKENS" | "OPERATOR_TOKENS",
  json: string | undefined,
  log: Log,
  others?: string,
) {
  const tokens = read(log, () => {
    if (!json) throw new Error(`${name} is not set: every request is answered 401`);
    const parsed = parseTokens(json, name);
    const both = parsed.find(({ sha256 }) => others?.toLowerCase().includes(sha256.toLowerCase()));
    if (both !== undefined) throw new Error(`${name}: ${both.id} is a token of API_TOKENS too`);
    return parsed;
  });
  return (token: string, now: number): Caller | undefined =>
    "value" in tokens ? callerOf(token, tokens.value, now) : undefined;
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

/** Keys the hashes of numbers and the fingerprints of requests. */
function hashKeyIn({ HASH_KEY }: Environment): string {
  if (!HASH_KEY) throw new Error("HASH_KEY is not set: 32 random bytes in hex");
  if (!/^[0-9a-f]{64}$/i.test(HASH_KEY)) throw new Error("HASH_KEY must be 32 bytes in hex");
  return HASH_KEY;
}
