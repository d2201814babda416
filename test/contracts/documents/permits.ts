import * as fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import type { Documents } from "#shared/ports/documents.ts";
import { grantPermits, listPermitTimes, type Pace, toPace } from "#shared/telephony/rate.ts";
import { suiteNow } from "#test/support/call-rows.ts";
import type { CreateDocuments } from "#test/support/documents.ts";
import { perTier } from "#test/support/per-tier.ts";

export function describePermits(
  name: string,
  create: CreateDocuments,
  { runs }: { runs: number },
): void {
  describe(`${name} as documents: permits`, () => {
    let documents: Documents;
    let now = suiteNow;
    let accounts = 0;
    beforeEach(async () => {
      now = suiteNow;
      documents = await create(() => now);
    });
    const take: (...asked: Parameters<Documents["takePermits"]>) => Promise<number[]> = async (
      ...asked
    ) => (await documents.takePermits(...asked)).times;
    const anAccount = () => ({ kind: "pace", key: `account ${++accounts}` }) as const;

    it("grants what grantPermits grants, to takers one after another", async () => {
      await fc.assert(
        fc.asyncProperty(paces, takes, async (pace, sequence) => {
          const account = anAccount();
          now = suiteNow;
          let arrivalUs: number | undefined;
          let total = 0;
          for (const { pauseMs, aheadMs, lengthMs, count } of sequence) {
            now += pauseMs;
            const window = { notBefore: now + aheadMs, notAfter: now + aheadMs + lengthMs };
            const expected = grantPermits(arrivalUs, pace, { ...window, count });
            const { granted, baseUs } = expected;
            const taken = await documents.takePermits(account, pace, { ...window, count });
            const { notBefore } = window;
            expect(taken.times).toEqual(listPermitTimes(baseUs, pace, { granted, notBefore }));
            total += granted;
            expect(taken.total).toBe(granted > 0 ? total : undefined);
            if (granted > 0) arrivalUs = expected.arrivalUs;
          }
          const stored = (await documents.read([account])).get("pace", account.key);
          expect(stored?.value.arrivalUs).toBe(arrivalUs);
        }),
        { numRuns: runs },
      );
    });

    it("never grants a permit twice, nor more than the rate, to many takers at once", async () => {
      const takers = perTier({ quick: 10, long: 50 });
      const asked = Array.from({ length: takers }, (_, taker) => 1 + (taker % 3)).reduce(
        (sum, count) => sum + count,
      );
      for (const [pace, lengthMs] of [
        [toPace(100, 1), 5000], // the window holds all permits
        [toPace(7, 1), 3000], // the window holds a fifth of them
        [toPace(20, 10), 1000],
      ] as const) {
        for (const idleMs of [0, 60_000]) {
          const account = anAccount();
          const window = { notBefore: now, notAfter: now + lengthMs };
          // Permits were taken before: recently, or long ago.
          await documents.takePermits(account, pace, {
            notBefore: now - idleMs,
            notAfter: now - idleMs,
            count: 1,
          });
          const taken = await Promise.all(
            Array.from({ length: takers }, (_, taker) =>
              documents.takePermits(account, pace, { ...window, count: 1 + (taker % 3) }),
            ),
          );
          const permitTimes = taken.flatMap(({ times }) => times).toSorted((a, b) => a - b);
          expect(permitTimes.length).toBeGreaterThan(0);
          expectWithin(permitTimes, pace, window);
          if (pace.burst === 1) expect(new Set(permitTimes).size).toBe(permitTimes.length);
          if (lengthMs === 5000) expect(permitTimes).toHaveLength(asked);
          // Permits that were not granted remain for later takers.
          const totals = taken.map(({ times, total = 0 }) => (times.length > 0 ? total : 0));
          expect(Math.max(...totals)).toBe(permitTimes.length + 1);
          const rest = await documents.takePermits(account, pace, { ...window, count: 1000 });
          expectWithin(
            [...permitTimes, ...rest.times].toSorted((a, b) => a - b),
            pace,
            window,
          );
          const last = await documents.takePermits(account, pace, { ...window, count: 1 });
          expect(last).toEqual({ times: [] });
        }
      }
    });

    it("grants none if the window ends before the next permit, and writes nothing then", async () => {
      const account = anAccount();
      const pace = toPace(1, 1);
      const window = { notBefore: now, notAfter: now };
      expect(await take(account, pace, { ...window, count: 1 })).toEqual([now]);
      const before = (await documents.read([account])).get("pace", account.key);
      expect(await take(account, pace, { ...window, count: 1 })).toEqual([]);
      expect(await take(account, pace, { ...window, count: 0 })).toEqual([]);
      const later = { notBefore: now, notAfter: now + 1000 };
      expect((await documents.read([account])).get("pace", account.key)).toEqual(before);
      expect(await take(account, pace, { ...later, count: 5 })).toEqual([now + 1000]);
      const after = (await documents.read([account])).get("pace", account.key);
      expect(after?.version).not.toBe(before?.version);
    });

    it("keeps accounts apart", async () => {
      const [one, other] = [anAccount(), anAccount()];
      const pace = toPace(1, 1);
      const window = { notBefore: now, notAfter: now };
      for (const document of [one, other]) {
        expect(await take(document, pace, { ...window, count: 1 })).toEqual([now]);
      }
    });

    it("forgets a pace that was not used for days", async () => {
      const account = anAccount();
      const slow = { intervalUs: 10 * 86_400_000_000, burst: 1 };
      const takeOne = () => take(account, slow, { notBefore: now, notAfter: now + 1000, count: 1 });
      expect(await takeOne()).toEqual([now]);
      expect(await takeOne()).toEqual([]);
      now += 3 * 86_400_000;
      expect((await documents.read([account])).get("pace", account.key)).toBeUndefined();
      expect(await takeOne()).toEqual([now]);
      expect(await takeOne()).toEqual([]);
    });
  });
}

const paces = fc
  .record({ rate: fc.constantFrom(0.1, 0.7, 1, 3, 50, 900), burst: fc.integer({ min: 1, max: 5 }) })
  .map(({ rate, burst }): Pace => toPace(rate, burst));

const takes = fc.array(
  fc.record({
    pauseMs: fc.constantFrom(0, 0, 1, 30, 1000, 20_000),
    aheadMs: fc.constantFrom(0, 0, 200, 5000),
    lengthMs: fc.constantFrom(0, 100, 2000, 75_000),
    count: fc.integer({ min: 1, max: 40 }),
  }),
  { minLength: 1, maxLength: 12 },
);

/** Expects ordered times to lie in the window, no two of them closer than the pace allows (ITU-T I.371). */
function expectWithin(permitTimes: number[], { intervalUs, burst }: Pace, window: Window): void {
  for (const [index, permitAt] of permitTimes.entries()) {
    expect(permitAt).toBeGreaterThanOrEqual(window.notBefore);
    expect(permitAt).toBeLessThanOrEqual(window.notAfter);
    const before = permitTimes[index - burst];
    if (before === undefined) continue;
    // Times are whole milliseconds, so two of them may be closer by one.
    expect((permitAt - before + 1) * 1000).toBeGreaterThanOrEqual(intervalUs);
  }
}

interface Window {
  notBefore: number;
  notAfter: number;
}
