import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { describeOrders } from "../describe-orders.ts";
import { explorations, isShort } from "../explorations.ts";
import { calmWeather, scenarios } from "../scenario.ts";
import { runSeeds, textOf } from "../seeds.ts";
import { simulate } from "../simulate.ts";
import { firstOf } from "#test/support/first-of.ts";

describe("the simulation", () => {
  it("keeps every promise, whatever goes wrong", async () => {
    const { totals, failure } = await runSeeds(1, 4, { isShrunk: true });
    if (failure !== undefined) expect.fail(textOf(failure));
    // A run without faults would prove nothing.
    for (const count of Object.values(totals)) expect(count).toBeGreaterThan(2);
  });

  it("has every call placed, where nothing goes wrong and nobody wants otherwise", async () => {
    for (const scenario of fc.sample(scenarios, { seed: 5, numRuns: 5 })) {
      const calm = {
        weather: calmWeather,
        acts: [],
        outages: [],
        hours: false,
        capped: false,
        retries: false,
        callBacks: false,
        checks: undefined,
        expireHours: 30,
        later: 0,
      };
      const { posts: sampled } = scenario;
      // The office may be closed for the weekend.
      const isOffice = ({ agent }: { agent: string }) => agent === "office";
      const posts = sampled.filter(
        ({ token, batch, call, key }) =>
          token === "valid" && key?.reuses !== true && !(batch ?? [call]).some(isOffice),
      );
      const report = await simulate({ ...scenario, ...calm, posts, sweepLost: 0 });
      expect(report.violations).toEqual([]);
      expect(report.placed).toBe(report.accepted);
      expect(report.needsReview + report.unknown).toBe(0);
    }
  });

  it("ends the same for the same scenario", async () => {
    const weather = {
      ...calmWeather,
      kill: 0.02,
      freeze: 0.02,
      before: 0.1,
      lost: 0.2,
      double: 0.2,
    };
    const sampled = firstOf(fc.sample(scenarios, { seed: 3, numRuns: 1 }));
    const scenario = { ...sampled, weather };
    const first = await simulate(scenario, { traced: true });
    expect(first.trace.length).toBeGreaterThan(20);
    expect(await simulate(scenario, { traced: true })).toEqual(first);
    expect((await simulate({ ...scenario, seed: 2 }, { traced: true })).trace).not.toEqual(
      first.trace,
    );
  });
});

// The gate tries calls that stand as rows and are not tried again, as most do. `npm run test:schedules` tries the others too.
describeOrders(
  explorations.filter(
    (one) => isShort(one) && one.agent !== "again" && (one.isRow || one.agent === "known"),
  ),
);
