import { describe, expect, it } from "vitest";
import { deliverBoth, dispatchBoth } from "#test/gate/delivered.ts";
import { compare } from "#test/gate/judged.ts";
import { frozen, today } from "#test/gate/sides.ts";
import { perTier } from "#test/support/per-tier.ts";
import { forecastBoth } from "#test/gate/forecast.ts";

/** Number of random calls that are judged; `npm run test:as-before` judges 100,000. A delivery takes as long as 25. */
const cases = Number(process.env["CASES"] ?? perTier({ quick: 2_000, slow: 3_000 }));
const seed = Number(process.env["SEED"] ?? 1);
/** A guard against hanging, in milliseconds. */
const timeout = 120_000 + 20 * cases;
const sides = { was: frozen, is: today };

describe("the rules in modules of their own", () => {
  it("judge every call as before", { timeout }, async () => {
    const { difference, answers } = await compare(seed, cases, sides);
    expect(difference).toBeUndefined();
    // Cases of which too few are dialed, or all of which end alike, would say nothing.
    expect(answers.get("decide dial")).toBeGreaterThan(cases / 200);
    expect(answers.size).toBeGreaterThan(70);
  });

  it(
    "leave the same rows, documents, requests and logs after a delivery",
    { timeout },
    async () => {
      let requests = 0;
      const deliveries = cases / 50;
      for (let index = 0; index < deliveries; index++) {
        const delivery = seed * 1_000_003 + index;
        const { was, is, requests: sent } = await deliverBoth(delivery, sides);
        // Since then, what was taken is given back only after all takes have settled.
        if (!was.includes("not_checked")) expect(is, `seed ${delivery}`).toBe(was);
        requests += sent;
      }
      expect(requests).toBeGreaterThan(deliveries / 2);
    },
  );

  it("dispatch the same calls", { timeout }, async () => {
    let sent = 0;
    const worlds = cases / 100;
    for (let index = 0; index < worlds; index++) {
      const world = seed * 1_000_003 + index;
      const both = await dispatchBoth(world, sides);
      expect(both.is, `seed ${world}`).toBe(both.was);
      sent += both.sent;
    }
    expect(sent).toBeGreaterThan(worlds / 2);
  });

  it("forecast the same ends, and name what holds calls now", { timeout }, async () => {
    for (let index = 0; index < cases / 25; index++) {
      const world = seed * 1_000_003 + index;
      const { was, is } = await forecastBoth(world, sides);
      expect(is, `seed ${world}`).toBe(was);
    }
  });
});
