import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRequestProgress } from "#functions/api/actions/count-request.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { aCall, aRequestId } from "#test/support/calls.ts";
import { createTestApi } from "#test/support/api.ts";
import { tokens } from "#test/support/environment.ts";
import { createMemoryLedger } from "#test/support/memory-ledger.ts";
import { rowIn } from "#test/support/rows.ts";
import { inSlowTier, perTier } from "#test/support/per-tier.ts";

/** Creates a memory of counts over a ledger that counts what is read from it, and may fail. */
function createBench() {
  const ledger = createMemoryLedger();
  const bench = { now: 0, read: 0, readAt: 0, isDown: false };
  const read: typeof ledger.read = (ids) => {
    bench.read += ids.length;
    bench.readAt = bench.now;
    return bench.isDown ? Promise.reject(new Error("down")) : ledger.read(ids);
  };
  const clock = { now: () => bench.now };
  return { bench, ledger, progress: createRequestProgress({ ledger: { read }, clock }) };
}

describe("the counts of a request", () => {
  it("cost a thousand rows a second at most, and are as many milliseconds old as it has calls", async () => {
    const steps = fc.array(fc.integer({ min: 0, max: 4000 }), { minLength: 5, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 3000 }), steps, async (total, waits) => {
        const { bench, progress } = createBench();
        for (const wait of waits) {
          bench.now += wait;
          await Promise.all([progress.of("R", total), progress.of("R", total)]);
          expect(bench.now - bench.readAt).toBeLessThanOrEqual(total);
        }
        expect(bench.read).toBeLessThanOrEqual(total + bench.now);
      }),
      { numRuns: perTier({ quick: 3, long: 30 }) },
    );
  });

  it("are read anew once they are forgotten, and where reading failed", async () => {
    const { bench, progress } = createBench();
    bench.isDown = true;
    await expect(progress.of("R", 2000)).rejects.toThrow("down");
    bench.isDown = false;
    bench.read = 0;
    await progress.of("R", 2000);
    await progress.of("R", 2000);
    expect(bench.read).toBe(2000);
    progress.forget("R");
    await progress.of("R", 2000);
    expect(bench.read).toBe(4000);
  });

  it("are each request's own, and are remembered of a thousand", inSlowTier, async () => {
    const { bench, progress } = createBench();
    for (let n = 0; n <= 1000; n++) await progress.of(`R${n}`, 1000);
    bench.read = 0;
    await progress.of("R1", 1000);
    expect(bench.read).toBe(0);
    await progress.of("R0", 1000);
    expect(bench.read).toBe(1000);
  });
});

it("lets nobody have a large request counted again and again", inSlowTier, async () => {
  const total = 2000;
  let now = Date.now();
  const ledger = createMemoryLedger();
  const requestId = aRequestId(now);
  const rows = Array.from({ length: total }, (_, index) => {
    const call = { ...aCall({ requestId, batchCalls: total, acceptedAt: now }) };
    return rowIn("PLACED", { ...call, id: toCallId(requestId, index) });
  });
  await ledger.write(rows.map((next) => ({ next, seen: null })));
  let read = 0;
  const counted: typeof ledger = {
    ...ledger,
    read(ids) {
      read += ids.length;
      return ledger.read(ids);
    },
  };
  const { app } = createTestApi({ ledger: counted, now: () => now });
  const headers = { authorization: `Bearer ${tokens.crmDesk}` };
  const ask = async () => {
    const response = await app.request(`/v1/requests/${requestId}?limit=1`, { headers });
    return JSON.parse(await response.text());
  };
  const asks = 30;
  const whole = { counts: { by_state: { PLACED: total } }, finished: true };
  for (const answer of await Promise.all(Array.from({ length: asks }, ask))) {
    expect(answer).toMatchObject(whole);
  }
  for (let wait = 0; wait < 9; wait++) {
    now += 200;
    expect(await ask()).toMatchObject(whole);
  }
  expect(read).toBe(total + asks + 9);
  now += 200;
  await ask();
  expect(read).toBe(2 * total + asks + 10);
});
