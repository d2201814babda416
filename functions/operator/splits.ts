import { findCallBacks, findRetry } from "#shared/dial-plan/dial-plan.ts";
import { findSplit, type Split } from "#shared/dial-plan/splits.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import * as z from "#shared/lib/zod.ts";
import { type RoundResults, readRound } from "#shared/policy/split-rounds.ts";
import { compareArms } from "#shared/policy/split-verdict.ts";
import type { RouteDeps } from "../api/http/context.ts";
import { time, toIsoTime } from "../api/http/fields.ts";
import { declareRoute } from "../api/http/route.ts";

const share = z.nullable(z.number()).check(z.describe("Share of `ended`; null before the verdict"));
/** Counts by which arms differ are not shown before the verdict: who looks often finds a difference by chance. */
const shownLater = z.nullable(z.int());
const differenceSchema = z
  .strictObject({ difference: z.number(), low: z.number(), high: z.number() })
  .check(
    z.describe(
      "The share of this arm minus the share of the first arm, with the bounds of its confidence interval (Newcombe)",
    ),
  );

const splitSchema = z.strictObject({
  agent_id: z.string().check(z.describe("The split's name")),
  since: z
    .nullable(time)
    .check(
      z.describe("The first call under today's weights and `detectPoints`; null: none has come"),
    ),
  detect_points: z
    .number()
    .check(
      z.describe("The smallest difference between arms that it can find, in percentage points"),
    ),
  size: z
    .int()
    .check(
      z.describe(
        "How many calls of each arm must have ended, with all their tries, before the verdict",
      ),
    ),
  arms: z.array(
    z.strictObject({
      agent_id: z.string(),
      weight: z.int(),
      ended: z
        .int()
        .check(z.describe("Calls with all their tries that ended with a known result, since then")),
      answered: shownLater.check(
        z.describe("Answered by a person or a machine; null before the verdict"),
      ),
      completed: shownLater.check(z.describe("Null before the verdict")),
      answered_share: share,
      completed_share: share,
      missing: z.int().check(z.describe("How many more of its calls must end before the verdict")),
    }),
  ),
  differs: z
    .array(z.string())
    .check(z.describe("Fields of the plan in which the arms differ: they may be the cause")),
  verdict: z
    .nullable(
      z.strictObject({
        at: time,
        confidence: z.literal(0.95).check(z.describe("Of all comparisons together")),
        first: z.string().check(z.describe("The arm with which the others are compared")),
        arms: z.array(
          z.strictObject({
            agent_id: z.string(),
            answered: differenceSchema,
            completed: differenceSchema,
            completes: z
              .enum(["more", "fewer", "not_shown"])
              .check(z.describe("`not_shown`: a difference may be there, and was not shown")),
          }),
        ),
      }),
    )
    .check(z.describe("Given once, when `size` calls of every arm have ended; null before")),
});
const splitsSchema = z.strictObject({ splits: z.array(splitSchema) });
export type SplitView = z.infer<typeof splitSchema>;

const listSplits = declareRoute({
  operationId: "listSplits",
  summary: "The plan's splits: their arms, the outcome of each one's calls, and the verdict",
  method: "get",
  path: "/splits",
  answer: splitsSchema,
  async handle({ deps }) {
    const { plan, documents } = deps;
    const splits: SplitView[] = [];
    for (const name of Object.keys(plan.splits)) {
      const split = findSplit(name, plan);
      if (split === undefined) continue;
      const results = await readRound({ name, split }, documents);
      splits.push(toView({ name, split, results }, deps));
    }
    return { splits };
  },
});

export const splitRoutes = [listSplits];

function toView(
  { name, split, results }: { name: string; split: Split; results: RoundResults },
  { plan }: Pick<RouteDeps, "plan">,
): SplitView {
  const { round, size } = results;
  const verdict = toVerdict(round?.value.verdict);
  const later = (value: number) => (verdict === null ? null : value);
  return {
    agent_id: name,
    since: round === undefined ? null : toIsoTime(round.value.since),
    detect_points: split.detectPoints,
    size,
    arms: results.arms.map(({ arm, weight, ended, answered, completed }) => ({
      agent_id: arm,
      weight,
      ended,
      answered: later(answered),
      completed: later(completed),
      answered_share: ended === 0 ? null : later(answered / ended),
      completed_share: ended === 0 ? null : later(completed / ended),
      missing: weight === 0 ? 0 : Math.max(0, size - ended),
    })),
    differs: differencesOf(
      results.arms.flatMap(({ arm, weight }) => (weight > 0 ? arm : [])),
      plan,
    ),
    verdict,
  };
}

type Stored = NonNullable<RoundResults["round"]>["value"]["verdict"];

function toVerdict(stored: Stored): SplitView["verdict"] {
  if (stored === undefined) return null;
  const results = Object.entries(stored.arms).map(([arm, counters]) => {
    const { ended = 0, answered = 0, completed = 0 } = counters;
    return { arm, ended, answered, completed };
  });
  return {
    at: toIsoTime(stored.at),
    confidence: 0.95,
    first: results[0]?.arm ?? "",
    arms: compareArms(results).map(({ arm, ...compared }) => ({ agent_id: arm, ...compared })),
  };
}

/** Names the plan's fields in which agents differ, such as their hours, or the account with its pace. */
function differencesOf(agents: readonly string[], plan: DialPlan): SplitView["differs"] {
  const routes = agents.map((agent): Record<string, unknown> => {
    const { account: provider, ...route } = plan.agents[agent] ?? { account: undefined };
    return {
      ...route,
      provider,
      retry: findRetry(agent, plan),
      callBacks: findCallBacks(agent, plan),
    };
  });
  const fields = [...new Set(routes.flatMap((route) => Object.keys(route)))];
  const textOf = (value: unknown) => JSON.stringify(value ?? null);
  return fields
    .filter((field) => new Set(routes.map((route) => textOf(route[field]))).size > 1)
    .toSorted();
}
