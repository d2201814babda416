import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";

/** A D1 database whose engine, SQLite, runs in this process. It answers at once, so that a simulated clock can run. */
export interface SqliteD1 {
  database: D1Database;
  /** Statements run so far, and the time that they took. */
  statements(): number;
  busyMs(): number;
  /** Bytes of all tables and indexes, in whole pages, without the free pages that the next rows take. */
  bytes(): number;
}

/** Creates an empty ledger in memory, with the schema that is deployed. */
export function createSqliteD1(): SqliteD1 {
  const sqlite = new DatabaseSync(":memory:");
  sqlite.exec(readFileSync(join(import.meta.dirname, "../../infra/d1/0001_ledger.sql"), "utf8"));
  const compiled = new Map<string, ReturnType<DatabaseSync["prepare"]>>();
  let statements = 0;
  let busyMs = 0;
  const run = ({ sql, values }: { sql: string; values: SQLInputValue[] }) => {
    let statement = compiled.get(sql);
    if (statement === undefined) compiled.set(sql, (statement = sqlite.prepare(sql)));
    statements += 1;
    // D1 numbers parameters by ?1, ?2: one may stand more than once, and one that is not named is left out.
    const named = [...new Set(sql.match(/\?\d+/g))].map((name) => Number(name.slice(1)));
    const most = Math.max(0, ...named);
    const startedAt = performance.now();
    const results = statement.all(...values.slice(0, most));
    busyMs += performance.now() - startedAt;
    return { results };
  };
  const prepared = (sql: string, values: SQLInputValue[] = []) => ({
    sql,
    values,
    bind: (...bound: SQLInputValue[]) => prepared(sql, bound),
    all: async () => run({ sql, values }),
    run: async () => run({ sql, values }),
    first: async (column?: string) => {
      const [row] = run({ sql, values }).results;
      return (column === undefined ? row : row?.[column]) ?? null;
    },
  });
  const reached = {
    prepare: (sql: string) => prepared(sql),
    async batch(all: { sql: string; values: SQLInputValue[] }[]) {
      sqlite.exec("BEGIN");
      try {
        const results = all.map(run);
        sqlite.exec("COMMIT");
        return results;
      } catch (error) {
        sqlite.exec("ROLLBACK");
        throw error;
      }
    },
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has the methods that are called
  const asD1 = reached as unknown as D1Database;
  return {
    database: asD1,
    statements: () => statements,
    busyMs: () => busyMs,
    bytes: () => Number(sqlite.prepare("SELECT sum(pgsize) AS bytes FROM dbstat").get()?.["bytes"]),
  };
}
