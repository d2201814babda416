import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startAwsEngines } from "../../infra/local/aws-engines.ts";
import { mendIndexes } from "../../infra/local/mend-indexes.ts";
import { createDynamoLedger } from "../../shared/ledger/dynamodb-ledger.ts";
import { aCall } from "../support/calls.ts";
import { makeStateDirectory } from "../support/service.ts";

const table = "calls";

interface Store {
  iterator(): AsyncIterable<[string, object]>;
  del(key: string): Promise<void>;
  put(key: string, value: object): Promise<void>;
  close(): Promise<void>;
}

/** Runs `work` on what the local server keeps on disk, while it is not running. */
async function inStore(directory: string, work: (store: Store) => Promise<void>): Promise<void> {
  const ours = createRequire(import.meta.url);
  const { Level } = createRequire(ours.resolve("dynalite"))("level");
  const store: Store = new Level(join(directory, "dynalite"), { valueEncoding: "json" });
  await work(store);
  await store.close();
}

async function entriesIn(store: Store, prefix: string, id: string): Promise<[string, object][]> {
  const found: [string, object][] = [];
  for await (const entry of store.iterator()) {
    if (entry[0].startsWith(prefix) && JSON.stringify(entry[1]).includes(id)) found.push(entry);
  }
  return found;
}

it("puts right what a SIGKILL tore between an item and its index entries", async () => {
  const directory = await makeStateDirectory();
  const [unlisted, unwritten, moved] = [1000, 2000, 3000].map((acceptedAt) =>
    aCall({ acceptedAt }),
  );
  if (!unlisted || !unwritten || !moved) throw new Error("three calls");
  const write = (dueAt: number, seenDueAt: number | null) => (call: typeof moved) => ({
    call,
    numberHash: `hash ${call.id}`,
    numberTail: "23",
    state: "DEFERRED" as const,
    reason: "test",
    dueAt,
    at: 1,
    seenDueAt,
  });
  let engines = await startAwsEngines(directory.path);
  await engines.createTable(table);
  let ledger = createDynamoLedger(engines.dynamo, table, 0);
  await ledger.defer([unlisted, unwritten, moved].map(write(5000, null)));
  await engines.stop();

  const before: [string, object][] = [];
  await inStore(directory.path, async (store) => {
    for (const [key] of await entriesIn(store, "index-", unlisted.id)) await store.del(key);
    for (const [key] of await entriesIn(store, "item-", unwritten.id)) await store.del(key);
    before.push(...(await entriesIn(store, "index-", moved.id)));
  });
  engines = await startAwsEngines(directory.path);
  ledger = createDynamoLedger(engines.dynamo, table, 0);
  expect(await ledger.defer([write(9000, 5000)(moved)])).toEqual([true]);
  await engines.stop();
  await inStore(directory.path, async (store) => {
    for (const [key, value] of before) await store.put(key, value);
  });

  engines = await startAwsEngines(directory.path);
  ledger = createDynamoLedger(engines.dynamo, table, 0);
  const due = async () =>
    (await ledger.due({ until: 10_000, limit: 10 })).map(({ id, dueAt }) => [id, dueAt]);
  expect(new Set(await due())).toEqual(
    new Set([
      [unwritten.id, 5000],
      [moved.id, 5000],
      [moved.id, 9000],
    ]),
  );
  await mendIndexes(engines.dynamo, table);
  expect(await due()).toEqual([
    [unlisted.id, 5000],
    [moved.id, 9000],
  ]);
  const listed = await ledger.list({ state: "DEFERRED", limit: 10 });
  expect(listed.map(({ id }) => id)).toEqual([moved.id, unlisted.id]);
  expect((await ledger.read([moved.id])).get(moved.id)).toMatchObject({ dueAt: 9000, call: moved });
  await engines.stop();
  await directory.remove();
});
