import { resultStatuses } from "#shared/calls/call-result.ts";
import { labelNames, type LabelName } from "#shared/calls/labels.ts";
import { callStates } from "#shared/calls/states.ts";
import * as z from "#shared/lib/zod.ts";
import { dayMs, hourMs, minuteMs } from "#shared/lib/units.ts";
import { endsIn, slotMinutes } from "#shared/policy/usage-ends.ts";
import { readUsage, type Usage } from "../api/actions/read-usage.ts";
import { labelFields } from "../api/actions/usage-rows.ts";
import { measures, sumUsage } from "../api/actions/sum-usage.ts";
import { anyName, instant, time, toIsoTime } from "../api/http/fields.ts";
import { answerUnprocessable } from "../api/http/problem.ts";
import { declareRoute } from "../api/http/route.ts";

/** Maximum time between `from` and `to`. */
const rangeMsMax = 31 * dayMs;
/** Time up to which ends are counted by five minutes. */
const shortMs = 3 * hourMs;
/** Maximum rows of an answer: those with the most placed calls. */
const rowsMax = 200;

/** Outcomes with which calls end: states, and results of polled calls. */
const outcome = z.enum([...callStates, ...resultStatuses]);
const rowSchema = z.strictObject({
  client: z.optional(z.string()),
  agent_id: z.optional(z.string()),
  ...labelFields("null: none was sent; `*other`: the rest of a client with too many"),
  hour: z.optional(time),
  ...measures,
});
const resultsSchema = z.strictObject({
  from: time.check(z.describe("Later than asked for if there is too much to read")),
  to: time,
  rows: z
    .array(rowSchema)
    .check(z.describe(`The ${rowsMax} with the most placed calls; hours in order`)),
  rows_left_out: z.int(),
  total: z.strictObject(measures),
  minutes: z.int().check(z.describe("Length of the parts of `ends`")),
  ends: z
    .array(z.strictObject({ at: time, outcome, count: z.int() }))
    .check(
      z.describe(
        "Each call once, when it ended: by its state, or by its result where results are polled",
      ),
    ),
});
export type Results = z.infer<typeof resultsSchema>;

const listResults = declareRoute({
  operationId: "listResults",
  summary:
    "Count the outcomes of calls: results, lengths and opt-outs, by agent, client, campaign or hour",
  method: "get",
  path: "/results",
  query: z.strictObject({
    from: z.optional(instant).check(z.describe("Whole hours; a day before `to` by default")),
    to: z.optional(instant).check(z.describe("Now by default")),
    by: z._default(z.enum(["agent", "client", ...labelNames, "hour"]), "agent"),
    client: z.optional(anyName),
    agent_id: z.optional(anyName),
    campaign: z.optional(anyName),
  }),
  answer: resultsSchema,
  async handle({ c, deps: { clock, documents }, query }) {
    const to = query.to ?? clock.now();
    const from = query.from ?? to - dayMs + hourMs;
    if (from > to || to - from > rangeMsMax) {
      const detail = "must be before `to`, by 31 days at most";
      return answerUnprocessable(c, [{ pointer: "/from", detail }]);
    }
    const read = await readUsage({ from, to }, documents);
    const { client, agent_id, campaign } = query;
    const usage = read.usage.filter(
      (one) =>
        (client === undefined || one.client === client) &&
        (agent_id === undefined || one.agentId === agent_id) &&
        (campaign === undefined || one.labels.campaign === campaign),
    );
    const rows = groupBy(usage, query.by);
    const minutes = to - from <= shortMs ? slotMinutes : 60;
    return {
      from: toIsoTime(read.from),
      to: toIsoTime(to),
      rows: rows.slice(0, rowsMax),
      rows_left_out: Math.max(0, rows.length - rowsMax),
      total: sumUsage(usage),
      minutes,
      ends: sumEnds(usage, minutes),
    };
  },
});

export const resultRoutes = [listResults];

type By = "agent" | "client" | "hour" | LabelName;
type Row = z.infer<typeof rowSchema>;

function nameOf({ client, agentId, labels, hour }: Usage, by: By) {
  if (by === "agent") return { agent_id: agentId };
  if (by === "client") return { client };
  if (by === "hour") return { hour: toIsoTime(hour) };
  return { client, [by]: labels[by] ?? null };
}

function groupBy(usage: readonly Usage[], by: By): Row[] {
  const groups = Map.groupBy(usage, (one) => JSON.stringify(nameOf(one, by)));
  const rows = [...groups.values()].flatMap((own) =>
    own[0] === undefined ? [] : { ...nameOf(own[0], by), ...sumUsage(own) },
  );
  return by === "hour"
    ? rows.toReversed()
    : rows.toSorted((one, other) => other.placed - one.placed || other.accepted - one.accepted);
}

/** Counts the ends of calls by time and outcome, the earliest first. */
function sumEnds(usage: readonly Usage[], minutes: number): Results["ends"] {
  const stepMs = minutes * minuteMs;
  const ends = usage.flatMap(({ hour, counters }) => endsIn(hour, counters));
  const groups = Map.groupBy(ends, ({ at, outcome: one }) => `${at - (at % stepMs)} ${one}`);
  const sums = [...groups].flatMap(([name, own]) => {
    const [at = "", text = ""] = name.split(" ");
    const parsed = outcome.safeParse(text);
    if (!parsed.success) return [];
    return {
      at: Number(at),
      outcome: parsed.data,
      count: own.reduce((sum, { count }) => sum + count, 0),
    };
  });
  return moveReplaced(sums.toSorted((one, other) => one.at - other.at)).map((one) => ({
    ...one,
    at: toIsoTime(one.at),
  }));
}

interface Ends {
  at: number;
  outcome: z.infer<typeof outcome>;
  count: number;
}

/** Takes ends that others have replaced since from the bars before that have them: no bar is negative. */
function moveReplaced(sums: readonly Ends[]): Ends[] {
  const replaced = new Map<string, number>();
  const left = sums.toReversed().map((one) => {
    const count = one.count + (replaced.get(one.outcome) ?? 0);
    replaced.set(one.outcome, Math.min(0, count));
    return { ...one, count };
  });
  return left.toReversed().filter(({ count }) => count > 0);
}
