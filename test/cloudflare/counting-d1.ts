/** A database that counts the rows that it bills. */
export interface CountingD1 {
  database: D1Database;
  /** Returns the rows read and written by `work`, and its number of statements. */
  cost(
    work: () => Promise<unknown>,
  ): Promise<{ read: number; written: number; statements: number }>;
}

export function countingD1(database: D1Database): CountingD1 {
  const total = { read: 0, written: 0, statements: 0 };
  const count = <Result extends D1Result>(result: Result): Result => {
    total.read += result.meta.rows_read;
    total.written += result.meta.rows_written;
    total.statements += 1;
    return result;
  };
  const counted = (raw: D1PreparedStatement) => ({
    raw,
    bind: (...values: unknown[]) => counted(raw.bind(...values)),
    all: async () => count(await raw.all()),
  });
  const counting = {
    prepare: (sql: string) => counted(database.prepare(sql)),
    batch: async (statements: { raw: D1PreparedStatement }[]) =>
      (await database.batch(statements.map(({ raw }) => raw))).map(count),
  };
  return {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has the methods that the adapters call
    database: counting as unknown as D1Database,
    async cost(work) {
      const before = { ...total };
      await work();
      return {
        read: total.read - before.read,
        written: total.written - before.written,
        statements: total.statements - before.statements,
      };
    },
  };
}
