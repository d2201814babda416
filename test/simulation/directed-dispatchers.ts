import { call, type Directed, post, quiet } from "./directed.ts";

/** Steps of a dispatcher at which it stands still: it takes them when nothing is due yet, and again for the calls. */
const steps = [
  "documents",
  "list documents",
  "dialing",
  "due",
  "read",
  "sendMany",
  "write dispatcher",
  "write account",
].flatMap((step) => [step, `${step} answers`]);
/** Pauses longer than a beat, than the time between two dispatchers, and than the life of one. */
const pauseSeconds = [12, 70, 800];

/** A dispatcher stands still once, at each step, while calls of accounts that are new come in. Another one must follow. */
export function* dispatcherStandingStill(): Generator<Directed> {
  let seed = 0;
  for (const step of steps) {
    for (const times of ["", " #2", " #4", " #9", " #25"]) {
      seed += 1;
      const seconds = pauseSeconds[seed % pauseSeconds.length] ?? 12;
      const batch = Array.from({ length: 8 }, () => call(seed % 2 === 0 ? "plain" : "listed"));
      yield {
        where: `dispatch: ${step}${times}, ${seconds} s, seed ${seed}`,
        scenario: {
          ...quiet,
          seed,
          isKnown: false,
          endsIdle: seed % 4 > 0,
          lifeSeconds: seed % 8 < 4 ? 120 : 900,
          posts: [{ ...post(60, "plain"), batch }, post(90, "again"), post(160, "plain")],
        },
        pauses: { [`dispatch: ${step}${times}`]: seconds * 1000 },
        answersFirst: seed % 2 === 0,
      };
    }
  }
}
