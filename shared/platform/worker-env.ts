import type { Environment } from "./settings.ts";

/** The bindings of both Workers, as their wrangler.toml names them; variables and secrets stand beside them. */
export interface WorkerEnv {
  CALLS: Queue;
  LEDGER: D1Database;
  ENVELOPES: R2Bucket;
}

/** The variables and secrets of a Worker. */
export function stringsOf(env: WorkerEnv): Environment {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => typeof value === "string"));
}
