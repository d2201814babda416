import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Miniflare } from "miniflare";

type Database = Awaited<ReturnType<Miniflare["getD1Database"]>>;

const folder = resolve(import.meta.dirname, "../d1");

/** A migration of D1: the name of its file, and its statements. */
export interface Migration {
  name: string;
  statements: string[];
}

/** Reads the migrations of infra/d1, the oldest first. */
export async function readMigrations(): Promise<Migration[]> {
  // Loading wrangler takes most of a second.
  const { unstable_splitSqlQuery: split } = await import("wrangler");
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).toSorted();
  const read = names.map(async (name) => {
    const statements = split(await readFile(join(folder, name), "utf8"));
    return { name, statements };
  });
  return Promise.all(read);
}

/**
 * Applies the migrations that a local database has not had, and notes them in the table in which wrangler notes them, so
 * that either continues where the other one stopped. Wrangler itself would take a process of seconds.
 */
export async function applyMigrations(
  database: Database,
  migrations: readonly Migration[],
): Promise<void> {
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
  for (const { name, statements } of migrations) {
    if (applied.has(name)) continue;
    const noted = database.prepare("INSERT INTO d1_migrations (name) VALUES (?)").bind(name);
    await database.batch([...statements.map((sql) => database.prepare(sql)), noted]);
  }
}
