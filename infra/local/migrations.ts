import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Miniflare } from "miniflare";
import { unstable_splitSqlQuery as splitStatements } from "wrangler";

type Database = Awaited<ReturnType<Miniflare["getD1Database"]>>;

const folder = resolve(import.meta.dirname, "../d1");

/**
 * Applies the migrations that a local database has not had, and notes them in the table in which wrangler notes them, so
 * that either goes on where the other one stopped. Wrangler itself would take a process of seconds.
 */
export async function applyMigrations(database: Database): Promise<void> {
  await database
    .prepare(
      "CREATE TABLE IF NOT EXISTS d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, " +
        "applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)",
    )
    .run();
  const { results } = await database
    .prepare("SELECT name FROM d1_migrations")
    .all<{ name: string }>();
  const applied = new Set(results.map(({ name }) => name));
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql"));
  for (const name of names.toSorted()) {
    if (applied.has(name)) continue;
    const statements = splitStatements(await readFile(join(folder, name), "utf8"));
    const noted = database.prepare("INSERT INTO d1_migrations (name) VALUES (?)").bind(name);
    await database.batch([...statements.map((sql) => database.prepare(sql)), noted]);
  }
}
