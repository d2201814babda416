import { isTestClient } from "#shared/calls/ids.ts";
import { labelNames } from "#shared/calls/labels.ts";
import * as z from "#shared/lib/zod.ts";
import { readUsage, readUsageOfClient } from "../api/actions/read-usage.ts";
import {
  daysOf,
  labelFields,
  nameForOperator,
  rowsLeftOut,
  toRangeView,
  toSums,
  toUsageCsv,
  toUsageRows,
  usageDays,
  usageRange,
  usageSums,
} from "../api/actions/usage-rows.ts";
import { anyName } from "../api/http/fields.ts";
import { answerUnprocessable } from "../api/http/problem.ts";
import { declareRoute } from "../api/http/route.ts";

const usageSchema = z.strictObject({
  ...usageRange,
  rows: z
    .array(
      z.strictObject({
        client: z.optional(z.string()),
        day: z.optional(z.iso.date()),
        agent_id: z.optional(z.string()),
        ...labelFields("null: none was sent; `*other`: the rest of a client with too many"),
        test: z.boolean().check(z.describe("True for calls of tokens of the mode `test`")),
        ...usageSums,
      }),
    )
    .check(z.describe("Days in order; others by accepted calls")),
  rows_left_out: rowsLeftOut,
  total: z.strictObject(usageSums).check(z.describe("Without tests")),
});

const showUsage = declareRoute({
  operationId: "showOperatorUsage",
  summary:
    "Calls accepted, placed and answered, their length and cost, by client, day, agent or campaign",
  method: "get",
  path: "/usage",
  query: z.strictObject({
    ...usageDays,
    group_by: z._default(z.enum(["client", "day", "agent", ...labelNames]), "client"),
    client: z
      .optional(anyName)
      .check(z.describe("Only of this client; `test:NAME` for the tests of a client")),
    format: z
      .optional(z.enum(["json", "csv"]))
      .check(z.describe("`csv` for spreadsheets, as by `Accept: text/csv`; `json` by default")),
  }),
  answer: usageSchema,
  alsoCsv: true,
  async handle({ c, deps: { documents, clock }, query }) {
    const days = daysOf(query, clock.now());
    if ("detail" in days) return answerUnprocessable(c, [days]);
    const { group_by: by, client } = query;
    const range = { from: days.from, to: Math.min(days.to - 1, clock.now()) };
    const read = await (client === undefined
      ? readUsage(range, documents)
      : readUsageOfClient({ client, ...range }, documents));
    const { rows, left_out } = toUsageRows(read.usage, by, (one) => nameForOperator(one, by));
    const view = toRangeView(days, read.from);
    const isCsv =
      query.format === "csv" ||
      (query.format === undefined && /\btext\/csv\b/.test(c.req.header("accept") ?? ""));
    if (isCsv) {
      return c.body(toUsageCsv(rows, by), 200, {
        "content-type": "text/csv; charset=utf-8",
        "content-disposition": `attachment; filename="usage-${view.from}-${view.to}-by-${by}.csv"`,
      });
    }
    return {
      ...view,
      rows: rows.map(({ test = false, ...row }) => ({ ...row, test })),
      rows_left_out: left_out,
      total: toSums(read.usage.filter((one) => !isTestClient(one.client) || client !== undefined)),
    };
  },
});

export const usageRoutes = [showUsage];
