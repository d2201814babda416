import { expect, it } from "vitest";
import { person, quiet } from "./directed.ts";
import { calmWeather, type Post, type Scenario } from "./scenario.ts";
import { simulate } from "./simulate.ts";

const agents = ["known", "listed"] as const;

/** Requests of several calls of agents with `retry`, in a storm of crashes, lost answers and operators' acts. */
function stormy(seed: number): Scenario {
  const post = (atSeconds: number): Post => ({
    atSeconds,
    token: "valid",
    key: undefined,
    batch: [0, 1, 2, 3].map((n) => ({
      agent: agents[n % 2] ?? "known",
      person: n + 4,
      bad: false,
    })),
    call: { agent: "known", person, bad: false },
  });
  const weather = {
    kill: 0.01,
    freeze: 0.01,
    before: 0.05,
    after: 0.05,
    lost: 0.05,
    forbidden: 0.02,
  };
  return {
    ...quiet,
    seed,
    results: true,
    retries: true,
    lagSeconds: seed % 3,
    weather: { ...calmWeather, ...weather, rejected: 0.05, double: 0.2, mute: 0.1 },
    posts: [post(0), post(60), post(120)],
    acts: (["redial", "resolve", "cancel call", "cancel request"] as const).map((act, n) => ({
      atSeconds: 400 + 500 * n + (seed % 7) * 60,
      act,
      which: seed + n,
      seconds: 60,
      errs: false,
    })),
  };
}

it("tries calls again within their budget, one try at a time, whatever goes wrong", async () => {
  let triedAgain = 0;
  for (let seed = 1; seed <= 8; seed++) {
    const report = await simulate(stormy(seed));
    expect(report.violations, `seed ${seed}`).toEqual([]);
    triedAgain += report.triedAgain;
  }
  expect(triedAgain).toBeGreaterThan(10);
});
