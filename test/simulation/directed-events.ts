import { call, type Directed, post, quiet } from "./directed.ts";
import { calmWeather, type Habits, type Receiving, wellBehaved } from "./scenario.ts";

/** Steps of noting and telling events, at which a function stands still or dies. */
const steps = [
  "write request",
  "settle",
  "result",
  "decide",
  "events: sendMany",
  "documents",
  "write receiver",
  "post",
  "write told-request",
  "remove",
]
  .flatMap((step) => [step, `${step} answers`])
  .map((step) => (step === "post answers" ? "a receiver answers" : step));
/** Pauses longer than the age of a message, and than the whole run: that is a crash. */
const pauseSeconds = [70, 200_000];

const receiver = (more: Partial<Receiving> = {}): Receiving => ({
  name: "*",
  isAllDelivered: true,
  requestsPerSecond: 20,
  habits: wellBehaved,
  downSeconds: 0,
  downBy: "failing",
  ...more,
});
const posts = [
  post(0, "known"),
  { ...post(1, "listed"), batch: [call("listed"), call("plain"), call("again")] },
];

/** One function stands still once or dies, at each step of each of its first turns, while the events of calls are told. */
export function* told(): Generator<Directed> {
  let seed = 0;
  for (const step of steps) {
    for (let times = 1; times <= 2; times++) {
      // Crashes at the second turn are left out to save time, and so are not tried here.
      for (const seconds of times === 1 ? pauseSeconds : pauseSeconds.slice(0, 1)) {
        seed += 1;
        const where = times === 1 ? step : `${step} #${times}`;
        const weather = seed % 3 === 0 ? { ...calmWeather, rejected: 0.5 } : calmWeather;
        yield {
          where: `${seconds} s at ${where}, seed ${seed}`,
          scenario: { ...quiet, seed, results: true, receivers: [receiver()], posts, weather },
          pauses: { [where]: seconds * 1000 },
          answersFirst: true,
        };
      }
    }
  }
}

const threeDaysSeconds = 3 * 86_400;

/** A receiver is down for three days, beside another one with each of its habits. */
export function* downForDays(): Generator<Directed> {
  const habits: (keyof Habits)[] = ["failing", "busy", "gone", "hanging", "breakingOff"];
  for (const [index, habit] of habits.entries()) {
    const downBy = index % 2 === 0 ? "hanging" : "failing";
    yield {
      where: `${downBy}, beside ${habit}`,
      scenario: {
        ...quiet,
        seed: index + 1,
        results: true,
        receivers: [
          receiver({ downSeconds: threeDaysSeconds, downBy }),
          receiver({ name: "second", habits: { ...wellBehaved, [habit]: 0.5 } }),
        ],
        posts: posts.flatMap((one) => [one, { ...one, token: "second" as const }]),
      },
      pauses: {},
      answersFirst: false,
    };
  }
}
