import { expect, it } from "vitest";
import { createD1Ledger } from "../../shared/ledger/d1-ledger.ts";
import { traceOfNumber } from "../../shared/phone-number.ts";
import { apiEnvironment } from "../support/environment.ts";
import { readsOfFirstPages } from "../support/operator-reads.ts";
import { testEnv } from "./env.ts";

const { LEDGER } = testEnv;

/** The database, and how many rows it says that it has read. */
function countingD1() {
  let rowsRead = 0;
  const rawOf = new Map<unknown, D1PreparedStatement>();
  const counted = (raw: D1PreparedStatement) => {
    const all = async <Row>() => {
      const result = await raw.all<Row>();
      rowsRead += result.meta.rows_read;
      return result;
    };
    const statement = {
      bind: (...values: unknown[]) => counted(raw.bind(...values)),
      all,
      run: all,
      first: async <Row>() => (await all<Row>()).results[0] ?? null,
    };
    rawOf.set(statement, raw);
    return statement;
  };
  const database = {
    prepare: (sql: string) => counted(LEDGER.prepare(sql)),
    async batch<Row>(statements: D1PreparedStatement[]) {
      const results = await LEDGER.batch<Row>(statements.map((one) => rawOf.get(one) ?? one));
      rowsRead += results.reduce((sum, { meta }) => sum + meta.rows_read, 0);
      return results;
    },
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the two methods that are called
  return { database: database as unknown as D1Database, rowsRead: () => rowsRead };
}

it("reads a bounded number of rows for any first page, with 100,000 calls in the ledger", async () => {
  await LEDGER.prepare("DELETE FROM calls").run();
  const { numberHash } = traceOfNumber("+12025550123", apiEnvironment.HASH_KEY);
  const hour = 3_600_000;
  // A tenth of them wait, ten are parked, a tenth are of one request, a twentieth to one number.
  await LEDGER.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
     INSERT INTO calls (id, state, reason, attempt, due_at, call, route, request_id, client, agent_id,
       number_hash, number_tail, accepted_at, updated_at)
     SELECT 'call_' || i,
       CASE WHEN i % 10000 = 0 THEN 'PARKED' WHEN i % 10 = 1 THEN 'DEFERRED' ELSE 'PLACED' END,
       'r', 1, iif(i % 10 = 1, 4000000000000, NULL), '{}', '{}', iif(i % 10 = 2, 'req_much', 'req_' || i), 'crm',
       'agent_' || i % 7, iif(i % 20 = 3, ?1, 'hash_' || i), '23', ?2 - i * 1000, ?2 - i * 1000 FROM n`,
  )
    .bind(numberHash, Date.now() - hour)
    .run();
  const { database, rowsRead } = countingD1();
  const reads = await readsOfFirstPages(createD1Ledger(database), rowsRead);
  expect(Math.max(...Object.values(reads))).toBeLessThanOrEqual(1100);
  expect(reads["/calls?state=DEFERRED"]).toBeLessThanOrEqual(110);
  expect(reads["/calls?state=PARKED"]).toBeLessThanOrEqual(30);
  expect(reads["/counts"]).toBeLessThanOrEqual(1100); // what stands is counted up to 500 of a state
  expect(reads["/calls/call_1"]).toBeLessThanOrEqual(5);
}, 60_000);
