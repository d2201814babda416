import { call, type Directed, person, post, quiet } from "./directed.ts";
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

/** A pause whose removal lands after the operator has paused again. */
export function* removalLandingLate(): Generator<Directed> {
  let seed = 0;
  for (const act of ["pause agent", "pause account"] as const) {
    for (const lateSeconds of [40, 65, 130, 400]) {
      seed += 1;
      const which = act === "pause agent" ? agents.indexOf("plain") : 0;
      const paused = { act, which, errs: false };
      yield {
        where: `${act}, ${lateSeconds} s late, seed ${seed}`,
        scenario: {
          ...quiet,
          seed,
          posts: [post(100, "plain"), post(600, "plain")],
          acts: [
            { ...paused, atSeconds: 5, seconds: 30 },
            { ...paused, atSeconds: 60, seconds: 1800 },
          ],
        },
        pauses: {},
        delays: { remove: lateSeconds * 1000 },
        answersFirst: false,
      };
    }
  }
}

/** Steps of dialing at which a process may be stopped, by agent: `office` makes a request before the one that rings. */
const dialingSteps = {
  plain: ["a connection"],
  office: ["an agent is dispatched", "a connection"],
} as const;
/** The opening and the closing of `office`, in minutes after the plan's start. */
const officeOpens = 65;
const officeCloses = 5 * 60;

/** A process that stands still in the midst of dialing, while an operator acts, the claim lapses, or hours close. */
export function* dialingInSteps(): Generator<Directed> {
  let seed = 0;
  for (const agent of ["plain", "office"] as const) {
    for (const step of dialingSteps[agent]) {
      for (const act of ["redial", "cancel agent", "pause agent", "do not call", "none"] as const) {
        for (const seconds of [45, 1500]) {
          seed += 1;
          const which = act === "do not call" ? person : agents.indexOf(agent);
          const atSeconds = act === "redial" ? 900 : 5;
          const done = { act, atSeconds, which: act === "redial" ? 0 : which, seconds: 1200 };
          const isClosing = act === "none" && agent === "office";
          yield {
            where: `${act}, ${agent}, ${seconds} s at ${step}, seed ${seed}`,
            scenario: {
              ...quiet,
              seed,
              startMinutes: isClosing ? officeCloses - 5 : officeOpens,
              posts: [post(0, agent)],
              acts: done.act === "none" ? [] : [{ ...done, act: done.act, errs: false }],
            },
            pauses: { [step]: seconds * 1000 },
            answersFirst: seed % 2 === 0,
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
