import { createD1Documents } from "#shared/cloudflare/d1-documents.ts";
import { createD1Ledger } from "#shared/cloudflare/d1-ledger.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { testEnv } from "./env.ts";

const { LEDGER } = testEnv;

/** Removes all rows of the calls and the documents. */
export async function emptyD1(): Promise<void> {
  for (const table of ["calls", "documents"]) await LEDGER.prepare(`DELETE FROM ${table}`).run();
}

/** Returns an empty ledger and empty documents. */
export async function createD1Stores(now: () => number) {
  await emptyD1();
  return {
    ledger: createD1Ledger(LEDGER),
    documents: createD1Documents(LEDGER, { now, freshVersion: randomVersion }),
  };
}
