import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { calleesMax, createSplitBench, type Step } from "./split-bench.ts";
import type { Weights } from "./split-model.ts";
import { armViolations, listRows } from "./split-rules.ts";

/** `npm run test:schedules` has more runs. */
const isLong = process.env["LONG"] === "1";

const weights: fc.Arbitrary<Weights> = fc.record({
  agent_a: fc.integer({ min: 1, max: 3 }),
  agent_b: fc.integer({ min: 1, max: 3 }),
});
const callees = fc.array(fc.nat(calleesMax - 1), { minLength: 10, maxLength: 60 });
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ post: callees }) },
  { weight: 3, arbitrary: fc.record({ pass: fc.integer({ min: 1, max: 40 }) }) },
  fc.record({ weights }),
  fc.constantFrom("deliver again" as const, "restart" as const, "judge twice" as const),
);
const steps = fc.array(step, { minLength: 2, maxLength: 8 });

interface Story {
  /** The weights at first, and the callees of the first calls: the backup has the split's key. */
  begun: Weights;
  first: readonly number[];
  before: readonly Step[];
  /** Steps of which the restored ledger knows nothing. */
  lost: readonly Step[];
  /** Callees of calls that come before an operator has confirmed the restore. */
  meanwhile: readonly number[];
  after: readonly Step[];
}
const stories: fc.Arbitrary<Story> = fc.record({
  begun: weights,
  first: callees,
  before: steps,
  lost: steps,
  meanwhile: callees,
  after: steps,
});

const everybody = Array.from({ length: calleesMax }, (_, index) => index);
/** The verdict is lost, and calls of all states were dialed since the backup. */
const lostVerdict: Story = {
  begun: { agent_a: 1, agent_b: 1 },
  first: everybody.slice(0, 30),
  before: [{ pass: 4 }],
  lost: [{ post: everybody }, { pass: 20 }, { pass: 20 }, "deliver again"],
  meanwhile: everybody,
  after: ["deliver again", { pass: 20 }, { post: everybody }, { pass: 60 }],
};
/** The backup has the weights of before. */
const lostRound: Story = {
  ...lostVerdict,
  first: everybody,
  lost: [{ weights: { agent_a: 1, agent_b: 3 } }, { post: everybody }, { pass: 40 }],
};

type SplitBench = ReturnType<typeof createSplitBench>;

/** Returns who was dialed twice, or by two arms under the same weights, in the lost time and in all others. */
function calleeViolations({ bench, model }: SplitBench): string[] {
  const found: string[] = [];
  const ids = bench.dialed.map(({ call }) => call.id);
  if (new Set(ids).size !== ids.length) found.push("somebody is dialed twice");
  const armOf = new Map<string, string>();
  for (const { call } of bench.dialed) {
    const { agent_id: arm, phone_number } = call.request;
    const callee = `${phone_number} under ${model.weightsOf.get(call.ancestors?.[0] ?? call.id)}`;
    if ((armOf.get(callee) ?? arm) !== arm) found.push(`${callee} has two arms`);
    armOf.set(callee, arm);
  }
  return found;
}

describe("a split whose ledger is restored", () => {
  it("dials nobody twice, keeps everybody's arm, and judges what the ledger has", async () => {
    const property = async ({ begun, first, before, lost, meanwhile, after }: Story) => {
      const split = createSplitBench(begun);
      const { bench, take, backUp } = split;
      bench.find = async ({ call: { id } }) =>
        bench.dialed.some(({ call }) => call.id === id)
          ? { by: "id", providerCallId: `CA_${id}` }
          : undefined;
      const found: string[] = [];
      for (const one of [{ post: first }, ...before]) found.push(...(await take(one)));
      const restore = await backUp();
      for (const one of [...lost, { pass: 2 }, { pass: 2 }]) found.push(...(await take(one)));
      found.push(...(await restore(meanwhile)));
      for (const one of [...after, { pass: 240 }]) found.push(...(await take(one)));
      const rows = await listRows(bench);
      const kept = new Set(rows.map(({ id }) => id));
      const dialed = bench.dialed.filter(({ call }) => kept.has(call.id));
      found.push(...armViolations(rows, { dialed }), ...calleeViolations(split));
      expect(found).toEqual([]);
    };
    await fc.assert(fc.asyncProperty(stories, property), {
      numRuns: isLong ? 30 : 4,
      examples: [[lostVerdict], [lostRound]],
    });
  });
});
