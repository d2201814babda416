import { createR2Journal } from "../../shared/cloudflare/r2-journal.ts";
import { describeJournal } from "../contracts/journal.ts";
import { createD1Documents } from "../../shared/cloudflare/d1-documents.ts";
import { createR2EpochStore } from "../../shared/cloudflare/r2-epoch-store.ts";
import { epochPrefix } from "../../shared/policy/controls.ts";
import { createD1Ledger } from "../../shared/cloudflare/d1-ledger.ts";
import { randomVersion } from "../../shared/lib/random.ts";
import { describeEpochStore } from "../contracts/epoch-store.ts";
import { describeRestore } from "../contracts/restore.ts";
import { testEnv } from "./env.ts";

const { LEDGER, ENVELOPES } = testEnv;
/** The tables' columns, without those that D1 generates. */
const tables = {
  calls: ["id", "version", "number_hash", "row"],
  documents: ["kind", "key", "version", "expires_at", "value"],
};

async function empty(): Promise<void> {
  for (const table of Object.keys(tables)) await LEDGER.prepare(`DELETE FROM ${table}`).run();
}

async function emptyEpochs(): Promise<void> {
  const { objects } = await ENVELOPES.list({ prefix: epochPrefix });
  for (const { key } of objects) await ENVELOPES.delete(key);
}

describeRestore("D1", async (now) => {
  await empty();
  await emptyEpochs();
  return {
    ledger: createD1Ledger(LEDGER),
    documents: createD1Documents(LEDGER, { now, freshVersion: randomVersion }),
    epochStore: createR2EpochStore(ENVELOPES),
    journal: createR2Journal(ENVELOPES),
    async copy() {
      const copies = await Promise.all(
        Object.entries(tables).map(async ([table, columns]) => {
          const names = columns.join(", ");
          const { results } = await LEDGER.prepare(`SELECT ${names} FROM ${table}`).all();
          const places = columns.map(() => "?").join(", ");
          const insert = LEDGER.prepare(`INSERT INTO ${table} (${names}) VALUES (${places})`);
          return results.map((row) => insert.bind(...columns.map((name) => row[name])));
        }),
      );
      return async () => {
        await empty();
        const statements = copies.flat();
        if (statements.length > 0) await LEDGER.batch(statements);
      };
    },
  };
});

describeEpochStore("R2", async () => {
  await emptyEpochs();
  return createR2EpochStore(ENVELOPES);
});

describeJournal("R2", async () => createR2Journal(ENVELOPES));
