import { labelNames } from "#shared/calls/labels.ts";
import * as z from "#shared/lib/zod.ts";
import { readUsageOfClient } from "../actions/read-usage.ts";
import {
  daysOf,
  labelFields,
  nameForClient,
  rowsLeftOut,
  toRangeView,
  toSums,
  toUsageRows,
  usageDays,
  usageRange,
  usageSums,
} from "../actions/usage-rows.ts";
import { answerUnprocessable } from "../http/problem.ts";
import { declareRoute } from "../http/route.ts";

/** Loose like all of /v1, as fields may be added. */
const rowSchema = z.looseObject({
  day: z.optional(z.iso.date()).check(z.describe("In UTC")),
  agent_id: z.optional(z.string()),
  ...labelFields("null: calls without one; `*other`: the rest where there are too many"),
  ...usageSums,
});

export const showUsage = declareRoute({
  operationId: "showUsage",
  summary: "Count your calls that were accepted, placed and answered, with their length and cost",
  description:
    "Counted when it happened, by the hour, and kept as long as calls are. Numbers may lag by some seconds.",
  method: "get",
  path: "/usage",
  query: z.strictObject({
    ...usageDays,
    group_by: z._default(z.enum(["day", "agent", ...labelNames]), "day"),
  }),
  answer: z.looseObject({
    ...usageRange,
    rows: z.array(rowSchema).check(z.describe("Days in order; others by accepted calls")),
    rows_left_out: rowsLeftOut,
    total: z.looseObject(usageSums),
  }),
  problems: [403],
  async handle({ c, deps: { documents, clock }, query }) {
    const days = daysOf(query, clock.now());
    if ("detail" in days) return answerUnprocessable(c, [days]);
    const by = query.group_by;
    const { client } = c.get("caller");
    const to = Math.min(days.to - 1, clock.now());
    const read = await readUsageOfClient({ client, from: days.from, to }, documents);
    const { rows, left_out } = toUsageRows(read.usage, by, (one) => nameForClient(one, by));
    return {
      ...toRangeView(days, read.from),
      rows,
      rows_left_out: left_out,
      total: toSums(read.usage),
    };
  },
});
