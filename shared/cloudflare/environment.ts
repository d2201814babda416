import type { Environment } from "../settings/settings.ts";

/** Bindings of both Workers, named as in wrangler.toml, together with variables and secrets. */
export interface WorkerEnv {
  CALLS: Queue;
  EVENTS: Queue;
  LEDGER: D1Database;
  ENVELOPES: R2Bucket;
}

/** Returns the variables and secrets of a Worker. */
export function toStrings(env: WorkerEnv): Environment {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => typeof value === "string"));
}
