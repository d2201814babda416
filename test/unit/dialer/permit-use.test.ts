import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { permitUseOf, takeLeave, handOutPermits } from "#functions/dialer/record/permit-use.ts";
import { createDialerMemory, type PermitUse } from "#functions/dialer/runtime/memory.ts";
import { latePermitMsMax, lonePermitMsMax, permitWaitMsMax } from "#shared/lib/timing.ts";
import {
  grantPermits,
  listPermitTimes,
  type Pace,
  type PermitRequest,
  type TakenPermits,
  toPace,
} from "#shared/telephony/rate.ts";
import { perTier } from "#test/support/per-tier.ts";

const fresh = () => permitUseOf("a", createDialerMemory());
const start = Date.parse("2026-06-01T10:00Z");

/** A pace that processes take permits of. */
function createStore(pace: Pace) {
  let [arrivalUs, total] = [0, 0];
  const asked: number[] = [];
  const take = async (request: PermitRequest): Promise<TakenPermits> => {
    asked.push(request.count);
    const { granted, baseUs, ...after } = grantPermits(arrivalUs, pace, request);
    [arrivalUs, total] = [after.arrivalUs, total + granted];
    return { times: listPermitTimes(baseUs, pace, { granted, ...request }), total };
  };
  return {
    /** Counts of the permits that were asked for. */
    asked,
    /** Has another process take permits. */
    byOther: (now: number, count: number) =>
      take({ count, notBefore: now, notAfter: now + permitWaitMsMax }),
    /** Has a process take permits. */
    by: (use: PermitUse, at: number, count = 1, more: Pick<TakenPermits, "total"> = {}) =>
      handOutPermits(use, {
        pace,
        count,
        leadMs: 0,
        take: async (request) => ({ ...(await take(request)), ...more }),
        now: () => at,
      }),
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

  it("may do so for two seconds where it alone takes them, at nearly the pace", async () => {
    const use = await busy(createStore(pace));
    expect(leave(use, start - lonePermitMsMax)).toBe(start);
    expect(leave(use, start - lonePermitMsMax - 1)).toBeUndefined();
    for (let n = 1; n < 90; n++) expect(leave(use, start - 300)).toBe(start);
    expect(leave(use, start - 300)).toBe(start + 1_000);
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

  it("may for half a second once it knows of another", async () => {
    const store = createStore(pace);
    const use = await busy(store);
    await store.byOther(start, 1);
    expect(leave(use, start - latePermitMsMax - 1)).toBe(start);
    await store.by(use, start);
    expect(leave(use, start - latePermitMsMax - 1)).toBeUndefined();
    expect(leave(use, start - latePermitMsMax)).toBe(start);
    for (let at = start; at <= start + 3_100; at += 100) {
      await store.by(use, at);
      expect([at, leave(use, at - 600, at) !== undefined]).toEqual([at, at === start + 3_100]);
    }
  });

  it("may send what others leave of the pace", async () => {
    const store = createStore(pace);
    const use = await busy(store);
    // The other takes 60 a second.
    for (let at = start; at < start + 2_000; at += 50) {
      await store.byOther(at, 3);
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
      await store.by(use, at, 1, { total: 1 });
      expect(leave(use, at - 400, at)).toBeUndefined();
    }
  });

  it("does not know others after the count has begun anew", async () => {
    const use = await busy(createStore(pace));
    const anew = createStore(pace);
    await anew.byOther(start, 3);
    await anew.by(use, start + 10);
    expect(leave(use, start - 400, start + 10)).toBeUndefined();
  });
});

describe("a process that takes permits ahead", () => {
  const pace = toPace(500, 1);
  /** Has a process take permits for some calls, which leave at once. */
  async function sendAt(store: ReturnType<typeof createStore>, use: PermitUse, at: number) {
    for (const permitAt of await store.by(use, at, 5)) takeLeave(use, permitAt, { pace, now: at });
  }

  it("takes as many in all as it has used in a fifth of a second, once in that time", async () => {
    const [store, use] = [createStore(pace), fresh()];
    for (let at = start; at < start + 600; at += 20) await sendAt(store, use, at);
    // 10, 49 and 49 requests left in the fifth of a second before.
    expect(store.asked.filter((count) => count > 5)).toEqual([10, 49, 49]);
    expect(store.asked).toHaveLength(14);
  });

  it("hands them out first, while a request under them has time to leave", async () => {
    const [store, use] = [createStore(pace), fresh()];
    for (const at of [start, start + 1, start + 2]) await sendAt(store, use, at);
    expect(store.asked).toEqual([5, 5, 10]);
    const ahead = [30, 32, 34, 36, 38].map((ms) => start + ms);
    expect(await store.by(use, start + 230, 3)).toEqual(ahead.slice(0, 3));
    // That of 36 ms is too old by now.
    expect(await store.by(use, start + 237, 2)).toEqual([ahead.at(-1), start + 237]);
    expect(store.asked).toEqual([5, 5, 10, 1]);
  });

  it("takes none ahead where it uses nearly the pace, or others do", async () => {
    const [store, use] = [createStore(toPace(50, 1)), fresh()];
    for (let at = start; at < start + 3_000; at += 100) await sendAt(store, use, at);
    const before = store.asked.length;
    for (let at = start + 3_000; at < start + 6_000; at += 100) await sendAt(store, use, at);
    expect(new Set(store.asked.slice(before))).toEqual(new Set([5]));
    const [shared, other] = [createStore(pace), fresh()];
    for (let at = start; at < start + 3_000; at += 100) {
      await shared.byOther(at, 45);
      await sendAt(shared, other, at);
    }
    const counts = shared.asked.filter((count) => count !== 45);
    expect(new Set(counts)).toEqual(new Set([5]));
  });

  it("leaves calls without a permit where there are no more in time", async () => {
    const [store, use] = [createStore(pace), fresh()];
    await store.byOther(start, 3_499);
    expect(await store.by(use, start, 5)).toHaveLength(2);
  });
});

describe("permits that are used late", () => {
  it("let several processes send at most 1.5 times their pace in any second, or twice if they stall", () => {
    const aProcess = fc.record({
      fromMs: fc.integer({ min: 0, max: 6_000 }),
      untilMs: fc.integer({ min: 1_000, max: 12_000 }),
      lagMs: fc.constantFrom(0, 50, 300, 450, 1_000, 1_900),
      everyMs: fc.constantFrom(20, 50, 100, 300),
      share: fc.constantFrom(0.1, 0.3, 0.6, 1),
    });
    return fc.assert(
      fc.asyncProperty(
        fc.constantFrom(50, 300, 1_000),
        fc.array(aProcess, { minLength: 1, maxLength: 4 }),
        async (rate, drawn) => {
          const pace = toPace(rate, 1);
          const store = createStore(pace);
          const processes = drawn.map((one) => ({ ...one, use: fresh() }));
          const isStalled = drawn.some(({ lagMs }) => lagMs > 450);
          const asked: { use: PermitUse; permitAt: number; at: number }[] = [];
          const left: number[] = [];
          for (let ms = 0; ms < 14_000; ms += 10) {
            const now = start + ms;
            for (const { use, fromMs, untilMs, everyMs, share, lagMs } of processes) {
              if (ms < fromMs || ms > fromMs + untilMs || (ms - fromMs) % everyMs >= 10) continue;
              const count = Math.ceil((rate * share * everyMs) / 1_000);
              for (const permitAt of await store.by(use, now, count)) {
                asked.push({ use, permitAt, at: Math.max(now, permitAt) + lagMs });
              }
            }
            for (const one of asked.splice(0)) {
              if (one.at > now) asked.push(one);
              else
                left.push(
                  ...[takeLeave(one.use, one.permitAt, { pace, now })].flatMap((at) => at ?? []),
                );
            }
          }
          left.sort((a, b) => a - b);
          for (const [index, at] of left.entries()) {
            const most = Math.floor((isStalled ? 2 : 1.5) * rate) + 1;
            expect(at - (left[index - most] ?? -Infinity)).toBeGreaterThanOrEqual(1_000);
          }
        },
      ),
      { numRuns: perTier({ quick: 30, long: 300 }) },
    );
  });

  it("let two processes send at most twice their pace if one goes on after a stall as the other begins", async () => {
    const pace = toPace(100, 1);
    const store = createStore(pace);
    const [stalled, other] = [fresh(), fresh()];
    const waiting: number[] = [];
    const left: number[] = [];
    for (let ms = 0; ms < 8_000; ms += 10) {
      const now = start + ms;
      const permits = ms % 100 === 0 && ms <= 6_000 ? await store.by(stalled, now, 10) : [];
      waiting.push(...permits);
      const isStalled = ms > 5_000 && ms < 6_010;
      if (!isStalled) {
        for (const permitAt of waiting.splice(0))
          left.push(...[takeLeave(stalled, permitAt, { pace, now })].flatMap((at) => at ?? []));
      }
      if (ms >= 6_010) {
        for (const permitAt of await store.by(other, now, 1))
          left.push(...[takeLeave(other, permitAt, { pace, now })].flatMap((at) => at ?? []));
      }
    }
    left.sort((a, b) => a - b);
    const inSecond = (from: number) => left.filter((at) => at >= from && at < from + 1_000);
    const most = Math.max(...left.map((at) => inSecond(at).length));
    expect(most).toBeGreaterThan(150);
    expect(most).toBeLessThanOrEqual(201);
  });

  it("let a process send at most 1.1 times its pace in any second", () => {
    const aLag = fc.record({
      lagMs: fc.constantFrom(0, 20, 80, 300, 450, 900, 1_900),
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
