import type { D1Migration } from "@cloudflare/vitest-plugin";
import { env } from "cloudflare:workers";
import type { WorkerEnv } from "../../shared/platform/worker-env.ts";

/** Bindings from wrangler.toml and the test configuration. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the configuration has no types
export const testEnv = env as unknown as WorkerEnv & { TEST_MIGRATIONS: D1Migration[] };
