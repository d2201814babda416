import type { Environment } from "../settings/settings.ts";
import { asSubrequests } from "./invocation.ts";

/** Bindings of both Workers, named as in wrangler.toml, together with variables and secrets. */
export interface WorkerEnv {
  CALLS: Queue;
  EVENTS: Queue;
  LEDGER: D1Database;
  ENVELOPES: R2Bucket;
}

/** Bindings whose calls count as subrequests. The ledger's adapters count by themselves. */
const countedBindings = ["CALLS", "EVENTS", "ENVELOPES", "ASSETS"] as const;

/**
 * Returns the environment with bindings that count. A missing binding stays missing: requests that do not need it are
 * still answered.
 */
export function withCountedBindings<Env extends WorkerEnv & { ASSETS?: Fetcher }>(env: Env): Env {
  const counted = { ...env };
  for (const name of countedBindings) {
    const binding = env[name];
    if (binding !== undefined) Object.assign(counted, { [name]: asSubrequests(binding) });
  }
  return counted;
}

/** Returns the variables and secrets of a Worker. */
export function toStrings(env: WorkerEnv): Environment {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => typeof value === "string"));
}

/**
 * Merges token entries with separate secrets, such as `API_TOKENS_CRM`, into the one variable that is parsed.
 * Cloudflare never shows a secret again, so nobody could add an entry to a list in one secret. A separate entry
 * replaces one of the same id in the list. Text that is no JSON is passed on, so that its parser refuses all tokens.
 */
export function withGatheredTokens(environment: Environment): Environment {
  return {
    ...environment,
    ...gathered(environment, "API_TOKENS"),
    ...gathered(environment, "OPERATOR_TOKENS"),
  };
}

function gathered(environment: Environment, variable: string): Environment {
  const own = Object.keys(environment)
    .filter((name) => name.startsWith(`${variable}_`))
    .toSorted();
  if (own.length === 0) return {};
  const byId = new Map<unknown, unknown>();
  for (const name of [variable, ...own]) {
    const text = environment[name];
    if (!text) continue;
    try {
      for (const entry of [JSON.parse(text) as unknown].flat()) byId.set(idOf(entry), entry);
    } catch {
      return { [variable]: text };
    }
  }
  return { [variable]: JSON.stringify([...byId.values()]) };
}

/** Returns an entry's id. Without one, returns the entry itself, which equals no other, so that the parser refuses it. */
function idOf(entry: unknown): unknown {
  return typeof entry === "object" && entry !== null && "id" in entry ? entry.id : entry;
}
