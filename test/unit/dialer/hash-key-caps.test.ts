import { withHashKeys } from "#shared/settings/settings.ts";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createCaps } from "#functions/dialer/record/number-caps.ts";
import type { Documents } from "#shared/ports/documents.ts";
import { findAgentRoute } from "#shared/dial-plan/dial-plan.ts";
import { hashNumber } from "#shared/telephony/number-hashes.ts";
import { aCallNow, documentOf } from "#test/support/dialer-calls.ts";
import {
  createRotationBench,
  currentKey,
  formerKey,
  type Holder,
  holders,
  type RotationBench,
} from "#test/support/rotation-bench.ts";
import { rowIn } from "#test/support/rows.ts";
import { perTier } from "#test/support/per-tier.ts";

const number = "+12025550123";
const dayMs = 86_400_000;
const capped = (count: number) => createRotationBench({ maxCalls: { count, days: 1 } });

const entriesUnder = async ({ bench }: RotationBench, key: string) =>
  (await documentOf(bench, "cap", hashNumber(number, key).numberHash))?.value.entries ?? [];

describe("a frequency cap while HASH_KEY is rotated", () => {
  it("counts calls from before, and its own for those who come after", async () => {
    const rotation = capped(2);
    expect((await rotation.dial("before", number))?.state).toBe("PLACED");
    expect((await rotation.dial("during", number))?.state).toBe("PLACED");
    for (const holder of ["before", "during", "after"] as const) {
      expect((await rotation.dial(holder, number))?.reason).toBe("max_calls");
    }
    rotation.bench.advance(dayMs);
    expect((await rotation.dial("after", number))?.state).toBe("PLACED");
  });

  it("has no entry under either key for a call that surely was not placed", async () => {
    const rotation = capped(1);
    rotation.bench.answer = async () => ({ kind: "rejected", code: "http_422" });
    await rotation.dial("during", number);
    for (const key of [formerKey, currentKey])
      expect(await entriesUnder(rotation, key)).toEqual([]);
    expect(rotation.bench.dialed).toHaveLength(1);
  });
});

/** Processes that run at the same time. Those of one key alone never meet: the former one must have been ended. */
const together: readonly (readonly Holder[])[] = [
  ["before", "during"],
  ["during"],
  ["during", "after"],
];

it("a cap holds for any processes at once, in any order of their reads and writes, under lost writes", async () => {
  const work = fc.record({
    who: fc.nat(1),
    lost: fc.constantFrom("none", "before", "after"),
    nth: fc.nat(1),
    leaves: fc.boolean(),
  });
  const calls = fc.array(work, { minLength: 2, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.nat(2),
      fc.integer({ min: 1, max: 3 }),
      calls,
      async (scheduler, stage, room, some) => {
        const rotation = capped(room);
        const { bench } = rotation;
        const { settings } = bench.deps;
        const route = findAgentRoute("agent_sales", settings.plan);
        if (route === undefined) throw new Error("the plan has no such route");
        let counted = 0;
        let most = 0;
        const held = together[stage] ?? [];
        const count = async ({ who, lost, nth, leaves }: (typeof some)[number]) => {
          const holder = held[who % held.length] ?? "during";
          let left = nth;
          const documents: Documents = {
            ...bench.documents,
            read: (keys) => scheduler.schedule(bench.documents.read(keys)),
            async write(changes) {
              await scheduler.schedule(Promise.resolve());
              const isLost = lost !== "none" && left-- === 0;
              if (isLost && lost === "before") throw new Error("no answer");
              const written = await bench.documents.write(changes);
              if (isLost) throw new Error("no answer");
              return written;
            },
          };
          const caps = createCaps({
            ...bench.deps,
            documents,
            settings: { ...settings, ...withHashKeys(holders[holder]) },
          });
          const call = aCallNow(bench, { phone_number: number, timezone: "UTC" });
          const row = rowIn("DIALING", call, { at: bench.now() });
          const claimed = { row, version: row.version };
          const permit = Promise.resolve({ permitAt: bench.now() });
          const result = await caps.count(claimed, route, permit).catch(() => undefined);
          if (result?.isCounted !== true) return;
          counted += 1;
          most = Math.max(most, counted);
          if (!leaves) return;
          // It surely was not placed, so that its room is free again.
          counted -= 1;
          await caps.release(claimed, route);
        };
        const all = Promise.all(some.map(count));
        await scheduler.waitFor(all);
        expect(most).toBeLessThanOrEqual(room);
      },
    ),
    { numRuns: perTier({ quick: 12, long: 150 }) },
  );
});
