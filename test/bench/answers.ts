/** Response times of the simulated provider. */

/** Order of a provider's answers: `together`, all that are under way at once, or `apart`, each at its own time. */
export type Answers = "together" | "apart";

export const apartMs = { least: 50, most: 250 };

/** Returns a generator of response times in milliseconds, uniform at random, the same ones for the same seed. */
export function createAnswerTimes(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0; // a linear congruential generator
    return apartMs.least + (state / 2 ** 32) * (apartMs.most - apartMs.least);
  };
}

/** Returns the time at which the last of these jobs ends, `width` at once, each begun as soon as another has ended. */
export function makespan(durations: readonly number[], width: number): number {
  const ends = Array.from({ length: width }, () => 0);
  for (const duration of durations) {
    const first = ends.indexOf(Math.min(...ends));
    ends[first] = (ends[first] ?? 0) + duration;
  }
  return Math.max(...ends);
}
