import { applyD1Migrations } from "cloudflare:test";
import { testEnv } from "./env.ts";

await applyD1Migrations(testEnv.LEDGER, testEnv.TEST_MIGRATIONS);
