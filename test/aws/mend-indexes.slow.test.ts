import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startAwsEngines } from "../../infra/local/aws-engines.ts";
import { mendIndexes } from "../../infra/local/mend-indexes.ts";
import { createDynamoLedger } from "../../shared/aws/dynamodb-ledger.ts";
import { aRow, changed, idsOf, suiteNow } from "../support/call-rows.ts";
import { makeStateDirectory } from "../support/service.ts";

const table = "calls";

interface Store {
  iterator(): AsyncIterable<[string, object]>;
  del(key: string): Promise<void>;
  put(key: string, value: object): Promise<void>;
  close(): Promise<void>;
}

/** Runs `work` on the files of the local server, while it is not running. */
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

it("repairs index entries that a SIGKILL separated from their items", async () => {
  const directory = await makeStateDirectory();
  const backlog = '["crm","agent_sales"]';
  const [unmapped, unwritten, moved] = [3000, 2000, 1000].map((age) =>
    aRow({ acceptedAt: suiteNow - age, backlog, dueAt: suiteNow + 5000 }),
  );
  if (!unmapped || !unwritten || !moved) throw new Error("three rows");
  const start = async () => {
    const engines = await startAwsEngines(directory.path);
    await engines.createTable(table);
    const ledger = createDynamoLedger(engines.dynamo, table, {
      retentionMs: 0,
      now: () => suiteNow,
    });
    return { engines, ledger };
  };
  let { engines, ledger } = await start();
  await ledger.write([unmapped, unwritten, moved].map((next) => ({ next, seen: null })));
  await engines.stop();

  const before: [string, object][] = [];
  await inStore(directory.path, async (store) => {
    for (const [key] of await entriesIn(store, "index-", unmapped.id)) await store.del(key);
    for (const [key] of await entriesIn(store, "item-", unwritten.id)) await store.del(key);
    before.push(...(await entriesIn(store, "index-", moved.id)));
  });
  ({ engines, ledger } = await start());
  const later = changed(moved, { dueAt: suiteNow + 9000 });
  expect(await ledger.write([{ next: later, seen: moved.version }])).toEqual([true]);
  await engines.stop();
  await inStore(directory.path, async (store) => {
    for (const [key, value] of before) await store.put(key, value);
  });

  ({ engines, ledger } = await start());
  const due = async () => {
    const query = { backlogs: [{ key: backlog }], until: suiteNow + 10_000, each: 10 };
    return (await ledger.due(query)).flat().map(({ id, dueAt }) => [id, dueAt - suiteNow]);
  };
  expect(new Set(await due())).toEqual(
    new Set([
      [unwritten.id, 5000],
      [moved.id, 5000],
      [moved.id, 9000],
    ]),
  );
  await mendIndexes(engines.dynamo, table);
  expect(await due()).toEqual([
    [unmapped.id, 5000],
    [moved.id, 9000],
  ]);
  const listed = await ledger.list({ all: true, limit: 10 });
  expect(idsOf(listed.rows)).toEqual([moved.id, unmapped.id]);
  for (const row of [unmapped, later]) {
    const { rows } = await ledger.list({ numberHash: row.numberHash, limit: 10 });
    expect(rows).toEqual([row]);
  }
  expect((await ledger.list({ numberHash: unwritten.numberHash, limit: 10 })).rows).toEqual([]);
  expect((await ledger.read([moved.id])).rows.get(moved.id)).toEqual(later);
  await engines.stop();
  await directory.remove();
});
