import { describe, expect, it } from "vitest";
import { createD1Ledger } from "../../shared/ledger/d1-ledger.ts";
import { describeCallLedger } from "../contracts/call-ledger.ts";
import { aCall } from "../support/calls.ts";
import { testEnv } from "./env.ts";

describeCallLedger("D1", async () => {
  const { LEDGER } = testEnv;
  await LEDGER.batch(
    ["calls", "idempotency_keys", "holds"].map((table) => LEDGER.prepare(`DELETE FROM ${table}`)),
  );
  return createD1Ledger(LEDGER);
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
    const route = { provider: "webhook", url: "https://example.com", idempotent: true } as const;
    const claimOf = (call = aCall()) => ({ call, ...trace, token: "t", route, at: 1, deadline: 2 });
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
});
