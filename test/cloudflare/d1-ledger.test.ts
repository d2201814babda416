import { describe, expect, it } from "vitest";
import { createD1Ledger } from "../../shared/ledger/d1-ledger.ts";
import { describeCallLedger } from "../contracts/call-ledger.ts";
import { aCall } from "../support/calls.ts";
import { testEnv } from "./env.ts";

const tables =
  "calls idempotency_keys holds paces counted_calls sweeps state_counts orders do_not_call operator_acts".split(
    " ",
  );

describeCallLedger("D1", async () => {
  const { LEDGER } = testEnv;
  await LEDGER.batch(tables.map((table) => LEDGER.prepare(`DELETE FROM ${table}`)));
  return {
    ledger: createD1Ledger(LEDGER),
    async stored() {
      const all = await LEDGER.batch(
        tables.map((table) => LEDGER.prepare(`SELECT * FROM ${table}`)),
      );
      return JSON.stringify(all.map(({ results }) => results));
    },
  };
});

describe("D1 as a call ledger", () => {
  it("reads as many rows for a claim, a settlement and a deferral however many there are", async () => {
    const { LEDGER } = testEnv;
    let rowsRead = 0;
    const counting: Pick<D1Database, "prepare" | "batch"> = {
      prepare: (sql) => LEDGER.prepare(sql),
      async batch<Row>(statements: D1PreparedStatement[]) {
        const results = await LEDGER.batch<Row>(statements);
        rowsRead += results.reduce((sum, { meta }) => sum + meta.rows_read, 0);
        return results;
      },
    };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the two methods that are called
    const ledger = createD1Ledger(counting as D1Database);
    const trace = { numberHash: "hash", numberTail: "23" };
    const route = {
      provider: "webhook",
      type: "webhook",
      url: "https://example.com",
      idempotent: true,
    } as const;
    const claimOf = (call = aCall()) => ({
      call,
      ...trace,
      token: "t",
      route,
      attempt: 1,
      at: 1,
      deadline: 2,
    });
    const settlementOf = (id: string, state: "UNKNOWN" | "PLACED") =>
      ({ id, token: "t", state, reason: "x", at: 3, dueAt: 3 }) as const;

    async function rowsReadByOneCall(): Promise<number> {
      const [call, waiting] = [aCall(), aCall()];
      const deferral = { call: waiting, ...trace, state: "DEFERRED", reason: "x", at: 1 } as const;
      const before = rowsRead;
      await ledger.claim([claimOf(call)]);
      await ledger.settle([settlementOf(call.id, "UNKNOWN")]);
      await ledger.claim([{ ...claimOf(call), token: "u", resendOf: "t" }]);
      await ledger.defer([{ ...deferral, dueAt: 5, seenDueAt: null }]);
      await ledger.defer([{ ...deferral, dueAt: 6, seenDueAt: 5 }]);
      return rowsRead - before;
    }
    const withFew = await rowsReadByOneCall();
    const many = Array.from({ length: 2000 }, () => claimOf());
    await ledger.claim(many);
    await ledger.settle(many.slice(1000).map(({ call }) => settlementOf(call.id, "UNKNOWN")));
    expect(await rowsReadByOneCall()).toBe(withFew);
    expect(withFew).toBeLessThan(60);
  });

  it("reads a line's head, the lines and what is due without reading what else waits", async () => {
    const { LEDGER } = testEnv;
    let rowsRead = 0;
    interface Counted {
      bind(...values: unknown[]): Counted;
      all<Row>(): Promise<D1Result<Row>>;
    }
    const counted = (statement: D1PreparedStatement): Counted => ({
      bind: (...values) => counted(statement.bind(...values)),
      async all<Row>() {
        const result = await statement.all<Row>();
        rowsRead += result.meta.rows_read;
        return result;
      },
    });
    const counting = { prepare: (sql: string) => counted(LEDGER.prepare(sql)) };
    await LEDGER.prepare("DELETE FROM calls").run();
    const waitIn = (line: string | undefined, count: number) =>
      createD1Ledger(LEDGER).defer(
        Array.from({ length: count }, (_, n) => ({
          call: aCall(),
          numberHash: "hash",
          numberTail: "23",
          reason: "pace",
          at: 1,
          seenDueAt: null,
          state: "DEFERRED" as const,
          dueAt: 1000 + n,
          ...(line === undefined ? {} : { line }),
        })),
      );
    await waitIn("webhook:a", 1500);
    await waitIn("webhook:b", 500);
    await waitIn(undefined, 1);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the one method that is called
    const ledger = createD1Ledger(counting as unknown as D1Database);
    expect(await ledger.lines()).toEqual(["webhook:a", "webhook:b"]);
    expect(await ledger.due({ line: "webhook:b", until: 9000, limit: 1 })).toHaveLength(1);
    expect(await ledger.due({ until: 9000, limit: 500 })).toHaveLength(1);
    expect(rowsRead).toBeGreaterThan(0);
    expect(rowsRead).toBeLessThan(20);
  });
});
