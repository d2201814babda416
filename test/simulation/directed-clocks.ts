import { call, type Directed, post, quiet } from "./directed.ts";

/** Time for which the clocks are wrong, and seconds before its end at which calls come in. */
const opposedSeconds = 900;

/**
 * One process that sweeps and dispatches is an hour ahead, another one an hour behind, and others are right. What the first one has
 * leased must not stop the work until its lease ends.
 */
export function* clocksOpposed(): Generator<Directed> {
  for (let seed = 1; seed <= 8; seed++) {
    const batch = Array.from({ length: 8 }, () => call(seed % 2 === 0 ? "plain" : "listed"));
    const times = [60, 400 + seed * 10, opposedSeconds - 30, opposedSeconds + 90];
    yield {
      where: `clocks ahead and behind, seed ${seed}`,
      scenario: {
        ...quiet,
        seed,
        isKnown: false,
        endsIdle: seed % 3 > 0,
        lifeSeconds: seed % 4 < 2 ? 120 : 900,
        clocks: "stepping",
        opposedSeconds,
        posts: times.map((at) => ({ ...post(at, "plain"), batch })),
      },
      pauses: {},
      answersFirst: false,
    };
  }
}
