import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { recordTake, takeLeave } from "#functions/dialer/record/permit-use.ts";
import { latePermitMsMax } from "#shared/lib/timing.ts";
import type { PermitUse } from "#functions/dialer/runtime/memory.ts";
import { grantPermits, listPermitTimes, type Pace, toPace } from "#shared/telephony/rate.ts";
import { perTier } from "#test/support/per-tier.ts";

const fresh = (): PermitUse => ({ leftAt: [], takes: [] });
const start = Date.parse("2026-06-01T10:00Z");

/** A pace that processes take permits of. */
function createStore(pace: Pace) {
  let [arrivalUs, total] = [0, 0];
  const takeAt = (now: number, count: number) => {
    const request = { count, notBefore: now, notAfter: now + 7_000 };
    const { granted, baseUs, ...after } = grantPermits(arrivalUs, pace, request);
    [arrivalUs, total] = [after.arrivalUs, total + granted];
    return { times: listPermitTimes(baseUs, pace, { granted, notBefore: now }), total };
  };
  return {
    takeAt,
    /** Has a process take permits. */
    by: (use: PermitUse, at: number, count = 1) =>
      recordTake(use, { take: async () => takeAt(at, count), now: () => at }),
  };
}

describe("a process that uses permits late", () => {
  const pace = toPace(100, 1);
  const leave = (use: PermitUse, permitAt: number, now = start) =>
    takeLeave(use, permitAt, { pace, now });
  /** Has a process take a permit each 10 ms, from six seconds before. */
  async function busy(store: ReturnType<typeof createStore>): Promise<PermitUse> {
    const use = fresh();
    for (let at = start - 6_000; at <= start; at += 10) await store.by(use, at);
    return use;
  }

  it("may do so within half a second where it alone takes them, at nearly the pace", async () => {
    const use = await busy(createStore(pace));
    expect(leave(use, start - latePermitMsMax)).toBe(start);
    expect(leave(use, start - latePermitMsMax - 1)).toBeUndefined();
    for (let n = 1; n < 90; n++) expect(leave(use, start - 300)).toBe(start);
    expect(leave(use, start - 300)).toBeUndefined();
    // One that is on time may leave in any case.
    expect(leave(use, start - 100)).toBe(start);
  });

  it("may from the first permit on that was ever taken, and else once it knows for a while what others take", async () => {
    const [first, second] = [fresh(), fresh()];
    const store = createStore(pace);
    await store.by(first, start);
    expect(leave(first, start - 400)).toBe(start);
    await store.by(second, start);
    expect(leave(second, start - 400)).toBeUndefined();
    expect(leave(second, start - 100)).toBe(start);
    for (let at = start; at < start + 1_600; at += 100) await store.by(second, at);
    expect(leave(second, start + 1_000, start + 1_499)).toBeUndefined();
    expect(leave(second, start + 1_200, start + 1_600)).toBe(start + 1_600);
  });

  it("may send what others leave of the pace", async () => {
    const store = createStore(pace);
    const use = await busy(store);
    // The other takes 60 a second.
    for (let at = start; at < start + 2_000; at += 50) {
      store.takeAt(at, 3);
      await store.by(use, at);
    }
    const now = start + 2_000;
    const left = Array.from({ length: 30 }, () => leave(use, now - 300, now));
    // 110 less 90 of one and a half seconds.
    expect(left.filter((at) => at === now).length).toBeGreaterThanOrEqual(15);
    expect(left.filter((at) => at === now).length).toBeLessThanOrEqual(20);
    expect(leave(use, now, now)).toBe(now);
  });

  it("may not half a second after its last take", async () => {
    const use = await busy(createStore(pace));
    expect(leave(use, start + 300, start + 500)).toBe(start + 500);
    expect(leave(use, start + 300, start + 501)).toBeUndefined();
  });

  it("may not at a slow pace", async () => {
    const slow = toPace(10, 1);
    const use = await busy(createStore(slow));
    expect(takeLeave(use, start - 50, { pace: slow, now: start })).toBe(start);
    expect(takeLeave(use, start - 51, { pace: slow, now: start })).toBeUndefined();
  });

  it("does not know others while an earlier version takes permits without a count", async () => {
    const store = createStore(pace);
    const use = await busy(store);
    for (let at = start + 10; at < start + 3_000; at += 50) {
      // Each write of the other leaves no count, so that this process's own is the first one again.
      await recordTake(use, {
        take: async () => ({ ...store.takeAt(at, 1), total: 1 }),
        now: () => at,
      });
      expect(leave(use, at - 400, at)).toBeUndefined();
    }
  });

  it("does not know others after the count has begun anew", async () => {
    const use = await busy(createStore(pace));
    const anew = createStore(pace);
    anew.takeAt(start, 3);
    await anew.by(use, start + 10);
    expect(leave(use, start - 400, start + 10)).toBeUndefined();
  });
});

describe("permits that are used late", () => {
  it("let a process send at most 1.1 times its pace in any second", () => {
    const aLag = fc.record({
      lagMs: fc.constantFrom(0, 20, 80, 300, 450, 900),
      takes: fc.integer({ min: 1, max: 30 }),
      count: fc.constantFrom(1, 5, 25, 100),
      everyMs: fc.constantFrom(0, 5, 20, 100, 400),
    });
    return fc.assert(
      fc.asyncProperty(
        fc.constantFrom(20, 50, 300, 1_000),
        fc.constantFrom(1, 5),
        fc.array(aLag, { minLength: 1, maxLength: 8 }),
        async (rate, burst, lags) => {
          const pace = toPace(rate, burst);
          const store = createStore(pace);
          const use = fresh();
          let now = start;
          const asked: { permitAt: number; at: number }[] = [];
          for (const { lagMs, takes, count, everyMs } of lags) {
            for (let take = 0; take < takes; take++) {
              now += everyMs;
              for (const permitAt of await store.by(use, now, count)) {
                asked.push({ permitAt, at: Math.max(now, permitAt) + lagMs });
              }
            }
          }
          asked.sort((one, other) => one.at - other.at);
          const left = asked.flatMap(
            ({ permitAt, at }) => takeLeave(use, permitAt, { pace, now: at }) ?? [],
          );
          left.sort((a, b) => a - b);
          const most = Math.floor(1.1 * rate) + burst;
          for (const [index, at] of left.entries()) {
            expect(at - (left[index - most] ?? -Infinity)).toBeGreaterThanOrEqual(1_000);
          }
        },
      ),
      { numRuns: perTier({ quick: 30, long: 300 }) },
    );
  });
});
