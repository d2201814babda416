import { call, type Directed, post, quiet } from "./directed.ts";
import { agents, calmWeather } from "./scenario.ts";

/** Writes and sends that take effect after the caller has given them up. */
export function* landingLate(): Generator<Directed> {
  let seed = 0;
  const steps = ["claim", "settle", "write cap", "decide", "send", "permits pace"];
  for (const agent of agents) {
    for (const step of steps) {
      for (const seconds of [6, 20, 55, 65, 130, 400]) {
        for (const times of ["", " #2"]) {
          seed += 1;
          yield {
            where: `${agent}, ${step}${times} lands ${seconds} s late, seed ${seed}`,
            scenario: {
              ...quiet,
              seed,
              capped: seed % 2 === 0,
              weather: { ...calmWeather, vanished: 0.2, lost: 0.2, busy: 0.2 },
              posts: [post(0, agent), post(30, agent)],
              acts: [{ act: "redial", atSeconds: 1500, which: 0, seconds: 0, errs: false }],
            },
            pauses: {},
            delays: { [`${step}${times}`]: seconds * 1000 },
            answersFirst: true,
          };
        }
      }
    }
  }
}

/** Calls that an operator, who may err, redials repeatedly. */
export function* redialedAgain(): Generator<Directed> {
  let seed = 0;
  const steps = ["a provider answers", "settle", "claim answers", "read #4", "send #2"];
  for (const agent of ["plain", "again", "known", "listed"] as const) {
    for (const step of steps) {
      for (const errs of [false, true]) {
        seed += 1;
        yield {
          where: `${agent}, standing still at ${step}, errs: ${errs}, seed ${seed}`,
          scenario: {
            ...quiet,
            seed,
            weather: { ...calmWeather, vanished: 0.3, lost: 0.3, rejected: 0.2 },
            posts: [post(0, agent)],
            acts: [700, 1400, 2100, 2800].map((atSeconds) => ({
              act: "redial",
              atSeconds,
              which: 0,
              seconds: 0,
              errs,
            })),
          },
          pauses: { [step]: 2400_000 },
          answersFirst: true,
        };
      }
    }
  }
}

/** Many calls in one delivery to one person, who may be called twice a day. */
export function* overTheCap(): Generator<Directed> {
  for (let seed = 1; seed <= 40; seed++) {
    const agent = agents[seed % 5] ?? "plain";
    yield {
      where: `${agent}, seed ${seed}`,
      scenario: {
        ...quiet,
        seed,
        capped: true,
        batchSize: 20,
        weather: {
          ...calmWeather,
          after: seed % 2 === 0 ? 0.1 : 0,
          busy: seed % 3 === 0 ? 0.4 : 0,
          lost: 0.2,
          vanished: 0.2,
        },
        posts: [
          { ...post(0, agent), batch: Array.from({ length: 6 }, () => call(agent)) },
          { ...post(1, "plain"), batch: Array.from({ length: 3 }, () => call("plain")) },
        ],
      },
      pauses: seed % 4 === 0 ? { "write cap": 700_000 } : {},
      answersFirst: seed % 8 === 0,
    };
  }
}

/** A request whose first send fails and that is repeated, under the same ids, once its calls' time is over. */
export function* repeatedLate(): Generator<Directed> {
  for (let seed = 1; seed <= 12; seed++) {
    const key = { repeats: 1, reuses: false, hoursLater: seed % 2 === 0 ? 5 : 10, isPatient: true };
    const batch = Array.from({ length: 3 }, () => call("plain"));
    yield {
      where: `seed ${seed}`,
      scenario: {
        ...quiet,
        seed,
        expireHours: 3,
        posts: [{ ...post(0, "plain"), key, batch }],
        outages: [{ of: "queue", atSeconds: 0, seconds: seed % 3 === 0 ? 0 : 60 }],
      },
      pauses: {},
      answersFirst: false,
    };
  }
}

/** A dialer that runs the previous plan, without the agent, beside one that runs the new plan. */
export function* oldPlan(): Generator<Directed> {
  for (let seed = 1; seed <= 12; seed++) {
    yield {
      where: `seed ${seed}`,
      scenario: {
        ...quiet,
        seed,
        oldPlanSeconds: 3600,
        later: 0.5,
        weather: { ...calmWeather, lost: 0.2, vanished: 0.2 },
        posts: (["known", "plain", "known"] as const).map((agent, index) =>
          post(index * 30, agent),
        ),
      },
      pauses: {},
      answersFirst: false,
    };
  }
}
