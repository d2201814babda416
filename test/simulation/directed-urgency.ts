import { call, type Directed, post, quiet } from "./directed.ts";

/** Urgent calls come in, at once or by their Call-Not-Before, while others of their agent wait for its account's pace. */
export function* urgentWhileOthersWait(): Generator<Directed> {
  for (let seed = 1; seed <= 8; seed++) {
    const agent = seed % 2 === 0 ? "command" : "listed";
    const batchOf = (count: number) => Array.from({ length: count }, () => call(agent));
    const laterSeconds = seed % 4 < 2 ? undefined : 8;
    const posts = [
      { ...post(1, agent), batch: batchOf(25) },
      { ...post(2, agent), token: "second" as const, batch: batchOf(10) },
      { ...post(5, agent), batch: batchOf(4), timing: { laterSeconds, isUrgent: true } },
    ];
    yield {
      where: `urgent calls of ${agent}, ${laterSeconds ?? 0} s later, seed ${seed}`,
      scenario: { ...quiet, seed, isKnown: seed % 3 > 0, endsIdle: seed < 5, posts },
      pauses: {},
      answersFirst: false,
    };
  }
}
