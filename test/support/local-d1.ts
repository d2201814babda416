import { glob } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const busyMsMax = 10_000;

/**
 * Opens the SQLite file of a local D1 beside the service that runs on it.
 * Through `wrangler d1 execute` each read would take seconds, longer than some states last.
 *
 * @param stateDirectory the service's folder, of which wrangler makes its `--persist-to`
 * @throws if no file there has the ledger's table
 */
export async function openLocalD1(stateDirectory: string): Promise<DatabaseSync> {
  for await (const path of glob(join(stateDirectory, "v3/d1/**/*.sqlite"))) {
    const database = new DatabaseSync(path, { timeout: busyMsMax });
    const find = database.prepare("SELECT name FROM sqlite_master WHERE name = 'calls'");
    if (find.get() !== undefined) return database;
    database.close();
  }
  throw new Error("the local D1 has no file with calls");
}
