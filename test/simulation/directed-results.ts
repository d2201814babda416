import { type Directed, post, quiet } from "./directed.ts";
import { calmWeather } from "./scenario.ts";

/** Steps of learning a result, at which a function stands still. */
const steps = ["settle", "settle answers", "a record answers", "result", "result answers", "due"];
/** Pauses longer than a record may take, and than the time between two askings. */
const pauseSeconds = [70, 2_400];

/**
 * One function stands still once while the results of two calls are asked for and called back about, at each step, in
 * each of its first turns.
 */
export function* askedAbout(): Generator<Directed> {
  let seed = 0;
  for (const step of steps) {
    for (let times = 1; times <= 6; times++) {
      for (const seconds of pauseSeconds) {
        seed += 1;
        const where = times === 1 ? step : `${step} #${times}`;
        yield {
          where: `${seconds} s at ${where}, seed ${seed}`,
          scenario: {
            ...quiet,
            seed,
            consumers: 1 + (seed % 2),
            results: true,
            posts: [post(0, "known"), post(1, "listed")],
          },
          pauses: { [where]: seconds * 1000 },
          answersFirst: true,
        };
      }
    }
  }
}

/** Steps of trying a call again, at which a function stands still. */
const stepsAgain = [
  "result",
  "result answers",
  "decide",
  "decide answers",
  "claim",
  "settle",
  "read",
];

/** One function stands still once while calls are tried again, at each step, in each of its first turns. */
export function* triedAgain(): Generator<Directed> {
  let seed = 500;
  for (const step of stepsAgain) {
    for (let times = 1; times <= 5; times++) {
      seed += 1;
      const where = times === 1 ? step : `${step} #${times}`;
      const posts = [post(0, "known"), post(1, "listed"), post(2, "known"), post(3, "listed")];
      const seconds = pauseSeconds[seed % 2] ?? 70;
      yield {
        where: `${seconds} s at ${where}, seed ${seed}`,
        scenario: { ...quiet, seed, consumers: 2, results: true, retries: true, posts },
        pauses: { [where]: seconds * 1000 },
        answersFirst: true,
      };
    }
  }
}

/**
 * Calls whose answers are lost and whose records are out of reach until a person must decide, or which last until
 * their results are unknown: some providers call back after that.
 */
export function* calledBackLate(): Generator<Directed> {
  for (let seed = 1; seed <= 120; seed++) {
    const isLost = seed % 2 === 0;
    yield {
      where: `${isLost ? "lost" : "answered"}, seed ${seed}`,
      scenario: {
        ...quiet,
        seed,
        results: true,
        weather: isLost ? { ...calmWeather, lost: 1, mute: 1 } : calmWeather,
        posts: [post(0, "known"), post(1, "known"), post(2, "listed")],
      },
      pauses: {},
      answersFirst: false,
    };
  }
}
