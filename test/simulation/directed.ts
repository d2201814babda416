import { type Act, calmWeather, type PostedCall, type Scenario } from "./scenario.ts";
import { simulate } from "./simulate.ts";

/** A schedule that random simulation would seldom find. */
export interface Directed {
  where: string;
  scenario: Scenario;
  pauses: Record<string, number>;
  delays?: Record<string, number>;
  answersFirst: boolean;
}

/** The callee, who lives at UTC, so that calling hours equal the clock's. */
export const person = 7;
const minutesToClosing = 8 * 60;
export const call = (agent: PostedCall["agent"]): PostedCall => ({ agent, person, bad: false });

export const quiet: Scenario = {
  seed: 1,
  startMinutes: 0,
  capped: false,
  hours: false,
  lifeSeconds: 900,
  consumers: 2,
  batchSize: 1,
  visibilitySeconds: 3600,
  attemptsMax: 100,
  lateSeconds: 0,
  sweepLost: 0,
  lagSeconds: 0,
  clocks: "same",
  isKnown: true,
  endsIdle: true,
  expireHours: 30,
  oldPlanSeconds: 0,
  later: 0,
  weather: calmWeather,
  posts: [],
  acts: [],
  outages: [],
  results: false,
  receivers: [],
};

export const post = (atSeconds: number, agent: PostedCall["agent"]) => ({
  atSeconds,
  token: "valid" as const,
  key: undefined,
  batch: undefined,
  call: call(agent),
});

const steps = ["read", "documents", "write cap", "permits pace", "claim", "settle"]
  .flatMap((step) => [step, `${step} answers`])
  .concat("a provider answers", "sleep");
const agents = ["plain", "again", "command", "listed"] as const;
/** Pauses longer than a claim's age, its deadline, the review time, and an operator's action after that. */
const pauseSeconds = [12, 70, 400, 1500];

/** Returns what every third or fifth schedule has otherwise: its accounts are new, and a dispatcher runs at all times. */
const traitsOf = (seed: number) => ({ seed, isKnown: seed % 3 > 0, endsIdle: seed % 5 > 0 });

/** Actions of an operator while a function stands still. */
export const meanwhile = {
  "is redialed": { act: "redial", atSeconds: 900, errs: false },
  "is redialed by mistake": { act: "redial", atSeconds: 900, errs: true },
  "is closed by mistake": { act: "resolve", atSeconds: 900, errs: true },
  "is never to be called": { act: "do not call", atSeconds: 20, errs: false },
  "is cancelled with its agent's": { act: "cancel agent", atSeconds: 20, errs: false },
  "is paused with its agent's": { act: "pause agent", atSeconds: 20, errs: false },
} as const;

/**
 * One function stands still once, at each step and for each duration, while an operator acts and two more
 * calls to the same person, who may be called twice a day, are posted.
 */
export function* standingStill(
  act: (typeof meanwhile)[keyof typeof meanwhile],
): Generator<Directed> {
  let seed = 0;
  for (const [which, agent] of agents.entries()) {
    for (const step of steps) {
      for (const seconds of pauseSeconds) {
        for (const answersFirst of [true, false]) {
          seed += 1;
          const done: Act = {
            ...act,
            which: act.act === "do not call" ? person : which,
            seconds: 600,
          };
          const posts = [post(0, agent), post(40, "plain"), post(41, "plain")];
          yield {
            where: `${agent}, ${seconds} s at ${step}, answers first: ${answersFirst}, seed ${seed}`,
            scenario: { ...quiet, ...traitsOf(seed), capped: true, posts, acts: [done] },
            pauses: { [step]: seconds * 1000 },
            answersFirst,
          };
        }
      }
    }
  }
}

/**
 * The schedules of `standingStill` for three calls to one account with a pace, also while they wait for their
 * permits.
 */
export function* waitingForPace(): Generator<Directed> {
  let seed = 0;
  const stepsOfPace = ["permits pace", "permits pace answers", "sleep"].flatMap((step) =>
    [1, 2, 3, 4].map((times) => (times === 1 ? step : `${step} #${times}`)),
  );
  for (const act of ["do not call", "erase", "cancel agent", "pause agent"] as const) {
    for (const agent of ["command", "listed"] as const) {
      for (const step of stepsOfPace) {
        for (const seconds of [90, 400]) {
          seed += 1;
          const which = act === "do not call" || act === "erase" ? person : agents.indexOf(agent);
          const batch = Array.from({ length: 3 }, () => call(agent));
          yield {
            where: `${act}, ${agent}, ${seconds} s at ${step}, seed ${seed}`,
            scenario: {
              ...quiet,
              seed,
              batchSize: 20,
              posts: [{ ...post(0, agent), batch }],
              acts: [{ act, atSeconds: 20, which, seconds: 1200, errs: false }],
            },
            pauses: { [step]: seconds * 1000 },
            answersFirst: true,
          };
        }
      }
    }
  }
}

/** Two calls of unknown outcome to one person, by a provider whose records know numbers alone. */
export function* lookedUpByNumber(): Generator<Directed> {
  let seed = 0;
  for (let gapSeconds = 0; gapSeconds <= 60; gapSeconds += 3) {
    for (let run = 0; run < 6; run++) {
      seed += 1;
      yield {
        where: `${gapSeconds} s apart, seed ${seed}`,
        scenario: {
          ...quiet,
          seed,
          weather: { ...calmWeather, lost: 0.25, vanished: 0.35, late: 0.35 },
          posts: [post(0, "listed"), post(gapSeconds, "listed")],
        },
        pauses: {},
        answersFirst: false,
      };
    }
  }
}

/** A function stands still while it resends a call of unknown outcome, and the sweep runs sooner or later. */
export function* sentOnceMore(): Generator<Directed> {
  let seed = 0;
  for (const agent of ["again"] as const) {
    for (const step of ["claim #2", "claim answers #2", "a provider answers #2", "settle #2"]) {
      for (let phase = 0; phase < 24; phase++) {
        seed += 1;
        yield {
          where: `${agent}, at ${step}, seed ${seed}`,
          scenario: {
            ...quiet,
            seed,
            weather: { ...calmWeather, lost: 1 },
            posts: [post(0, agent)],
          },
          pauses: { [step]: 90_000 },
          answersFirst: phase % 2 === 0,
        };
      }
    }
  }
}

/** A delivery full of calls whose provider hangs, begun seconds before the calling hours close. */
export function* closing(): Generator<Directed> {
  for (let seconds = 45; seconds > 12; seconds -= 3) {
    const batch = Array.from({ length: 60 }, () => call("plain"));
    yield {
      where: `${seconds} s before closing`,
      scenario: {
        ...quiet,
        seed: seconds,
        hours: true,
        startMinutes: minutesToClosing - seconds / 60,
        batchSize: 100,
        weather: { ...calmWeather, lost: 1 },
        posts: [{ ...post(0, "plain"), batch }],
      },
      pauses: {},
      answersFirst: false,
    };
  }
}

/**
 * Runs schedules until one breaks a promise. Resolves to the number of pauses that took effect, and the
 * broken promises.
 */
export async function runDirected(
  schedules: Iterable<Directed>,
): Promise<{ runs: number; frozen: number; broken?: string[] }> {
  let runs = 0;
  let frozen = 0;
  for (const { where, scenario, pauses, delays = {}, answersFirst } of schedules) {
    const options = { traced: true, pauses, delays, answersFirst };
    const report = await simulate(scenario, options);
    runs += 1;
    frozen += report.frozen;
    if (report.violations.length > 0) {
      return { runs, frozen, broken: [...report.violations, where, ...report.trace] };
    }
  }
  return { runs, frozen };
}
