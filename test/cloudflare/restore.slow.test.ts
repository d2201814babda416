import { createR2EpochStore, createR2Journal } from "#shared/cloudflare/r2-stores.ts";
import { describeJournal } from "../contracts/journal.ts";
import { epochPrefix } from "#shared/ports/epoch-store.ts";
import { describeEpochStore } from "../contracts/epoch-store.ts";
import { describeRestore } from "../contracts/restore.ts";
import { createD1Stores, emptyD1 } from "./d1-stores.ts";
import { testEnv } from "./env.ts";

const { LEDGER, ENVELOPES } = testEnv;
const tables = ["calls", "documents"];
/** A stored value, as D1 takes it: it returns bytes as an array of numbers. */
const toBound = (value: unknown) => (Array.isArray(value) ? Uint8Array.from(value) : value);

async function emptyEpochs(): Promise<void> {
  const { objects } = await ENVELOPES.list({ prefix: epochPrefix });
  for (const { key } of objects) await ENVELOPES.delete(key);
}

describeRestore("D1", async (now) => {
  await emptyEpochs();
  return {
    ...(await createD1Stores(now)),
    epochStore: createR2EpochStore(ENVELOPES),
    journal: createR2Journal(ENVELOPES),
    async copy() {
      const copies = await Promise.all(
        tables.map(async (table) => {
          const { results } = await LEDGER.prepare(`SELECT * FROM ${table}`).all();
          const places = Object.keys(results[0] ?? {}).map(() => "?");
          const insert = LEDGER.prepare(`INSERT INTO ${table} VALUES (${places.join(", ")})`);
          return results.map((row) => insert.bind(...Object.values(row).map(toBound)));
        }),
      );
      return async () => {
        await emptyD1();
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
