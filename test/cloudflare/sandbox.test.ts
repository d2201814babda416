import { createD1Documents } from "../../shared/cloudflare/d1-documents.ts";
import { createD1Ledger } from "../../shared/cloudflare/d1-ledger.ts";
import { randomVersion } from "../../shared/lib/random.ts";
import { describeSandbox } from "../contracts/sandbox.ts";
import { testEnv } from "./env.ts";

const { LEDGER } = testEnv;

describeSandbox("D1", async (now) => {
  for (const table of ["calls", "documents"]) await LEDGER.prepare(`DELETE FROM ${table}`).run();
  return {
    ledger: createD1Ledger(LEDGER),
    documents: createD1Documents(LEDGER, { now, freshVersion: randomVersion }),
  };
});
