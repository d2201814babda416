import type { D1Migration } from "@cloudflare/vitest-plugin";
import { env } from "cloudflare:workers";
import type { ApiWorkerEnv } from "#functions/api/cloudflare.ts";

/** Bindings from wrangler.toml and the test configuration. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the configuration has no types
export const testEnv = env as unknown as ApiWorkerEnv & {
  TEST_MIGRATIONS: D1Migration[];
  TEST_LIMIT: RateLimit;
  /** A queue that delivers nothing while a test lasts. */
  IDLE: Queue;
};
