import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { calleesMax, createSplitBench, type Step, words } from "./split-bench.ts";
import type { Weights } from "./split-model.ts";
import { armViolations, listRows } from "./split-rules.ts";

/** `npm run test:schedules` has more runs. */
const isLong = process.env["LONG"] === "1";

const weights: fc.Arbitrary<Weights> = fc
  .tuple(fc.nat(2), fc.nat(2), fc.nat(2), fc.boolean())
  .map(([a, b, c, hasThird]) => ({ agent_a: a, agent_b: b, ...(hasThird && { agent_c: c }) }))
  .filter((arms) => Object.values(arms).some((weight) => weight > 0));
const callees = fc.oneof(
  fc.array(fc.nat(calleesMax - 1), { minLength: 20, maxLength: 60 }),
  fc.array(fc.nat(calleesMax - 1), { minLength: 1, maxLength: 4 }),
);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ post: callees }) },
  fc.record({ test: callees }),
  { weight: 6, arbitrary: fc.record({ pass: fc.integer({ min: 1, max: 30 }) }) },
  fc.record({ weights }),
  fc.constantFrom(...words),
);
type Example = [Weights, Step[]];
const everybody = Array.from({ length: calleesMax }, (_, index) => index);
/** Rounds that begin while calls of the one before are in progress, or while it is judged. */
const severalRounds: Example = [
  { agent_a: 1, agent_b: 1 },
  [
    { post: everybody },
    { pass: 10 },
    { post: everybody },
    { weights: { agent_a: 1, agent_b: 2, agent_c: 0 } },
    { pass: 30 },
    { post: everybody },
    "freeze",
    { post: everybody },
    { pass: 20 },
    "thaw",
    { weights: { agent_a: 1, agent_b: 1, agent_c: 1 } },
    { test: everybody },
    { post: everybody },
    "judge twice",
    { pass: 20 },
    { weights: { agent_a: 2, agent_b: 1 } },
    { post: [...everybody, ...everybody] },
    "freeze",
    { weights: { agent_a: 1, agent_b: 1 } },
    { post: everybody },
    "thaw",
  ],
];
/** Calls are posted singly, so that an arm has each number of chains once. */
const oneByOne: Example = [
  { agent_a: 1, agent_b: 1 },
  everybody.slice(0, 50).flatMap((one) => [{ post: [one] }, { pass: 3 }]),
];

describe("the verdict on a split", () => {
  it("is spoken once a round, of the chains that were posted in it, and stands", async () => {
    const property = async (begun: Weights, steps: readonly Step[]): Promise<void> => {
      const { bench, take } = createSplitBench(begun);
      const all: Step[] = [...steps, { pass: 240 }, "thaw", { pass: 5 }];
      const found: string[] = [];
      for (const one of all) found.push(...(await take(one)));
      found.push(...armViolations(await listRows(bench), bench));
      expect(found).toEqual([]);
    };
    await fc.assert(
      fc.asyncProperty(weights, fc.array(step, { minLength: 8, maxLength: 20 }), property),
      { numRuns: isLong ? 40 : 4, examples: [severalRounds, oneByOne] },
    );
  });
});
