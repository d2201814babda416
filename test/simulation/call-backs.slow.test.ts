import { expect, it } from "vitest";
import { call, quiet } from "./directed.ts";
import { agents, calmWeather, people, type Scenario } from "./scenario.ts";
import { simulate } from "./simulate.ts";

/** Calls of agents whose callees ask to be called back, beside retries. */
function asking(seed: number, more: Partial<Scenario> = {}): Scenario {
  const post = (atSeconds: number) => ({
    atSeconds,
    token: "valid" as const,
    key: undefined,
    batch: people.map((_, person) => ({ ...call(person % 3 === 2 ? "plain" : "known"), person })),
    call: call("known"),
  });
  return {
    ...quiet,
    seed,
    results: true,
    retries: seed % 2 === 0,
    callBacks: true,
    posts: [post(0), post(600)],
    ...more,
  };
}

const storm = { kill: 0.01, freeze: 0.01, before: 0.05, after: 0.05, lost: 0.05, double: 0.2 };

async function run(scenarioOf: (seed: number) => Scenario): Promise<number> {
  let kept = 0;
  for (let seed = 1; seed <= 6; seed++) {
    const report = await simulate(scenarioOf(seed));
    expect(report.violations, `seed ${seed}`).toEqual([]);
    kept += report.promisesKept;
  }
  return kept;
}

it("calls callees back who asked for it, each once, at that time", async () => {
  expect(await run((seed) => asking(seed))).toBeGreaterThan(20);
});

it("ends the promised calls of a paused agent in time", async () => {
  const act = { act: "pause agent", seconds: 6 * 3600, errs: false } as const;
  const which = (seed: number) => agents.indexOf(seed % 2 === 0 ? "plain" : "known");
  await run((seed) => asking(seed, { acts: [{ ...act, atSeconds: 1200, which: which(seed) }] }));
});

it("calls back whatever goes wrong, only within calling hours and against no order", async () => {
  const acts = ["cancel call", "do not call", "pause agent", "cancel request"] as const;
  const kept = await run((seed) =>
    asking(seed, {
      hours: true,
      lagSeconds: seed % 3,
      clocks: seed % 2 === 0 ? "same" : "apart",
      weather: { ...calmWeather, ...storm, mute: 0.1 },
      acts: acts.map((act, n) => ({
        atSeconds: 900 + 700 * n + seed * 60,
        act,
        which: seed + n,
        seconds: 600,
        errs: false,
      })),
    }),
  );
  expect(kept).toBeGreaterThan(5);
});

it("calls nobody twice for one wish after a restore of the ledger", async () => {
  const kept = await run((seed) =>
    asking(seed, {
      lifeSeconds: 120,
      weather: { ...calmWeather, ...storm },
      restore: {
        toSeconds: 400 + 300 * seed,
        atSeconds: 1600 + 300 * seed,
        confirmedSeconds: 2200 + 300 * seed,
      },
    }),
  );
  expect(kept).toBeGreaterThan(5);
});

it("dials no retry twice for a wish that is read before and after a restore", async () => {
  const restore = { toSeconds: 1000, atSeconds: 1400, confirmedSeconds: 1500 };
  const kept = await run((seed) => asking(seed, { retries: true, lifeSeconds: 120, restore }));
  expect(kept).toBeGreaterThan(5);
});
