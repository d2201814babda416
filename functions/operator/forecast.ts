import { mapInSlices } from "#shared/lib/slices.ts";
import { readDialPlan } from "#shared/dial-plan/parse-dial-plan.ts";
import type { PlanWithSchedule } from "./forecast/queued.ts";
import { readControls } from "./forecast/read-controls.ts";
import { createRouteTable } from "#shared/dial-plan/route-table.ts";
import { createSchedule } from "#shared/dial-plan/schedule.ts";
import { readCallAt } from "../api/calls/call-errors.ts";
import type { RouteDeps } from "../api/http/context.ts";
import { forecastCalls, type Posted } from "./forecast/forecast-calls.ts";
import { forecastRequestSchema, forecastSchema } from "./forecast/forecast-schema.ts";
import { countManyZones } from "./forecast/many-zones.ts";
import { describeItems, summarize } from "./forecast/summarize.ts";
import { toPointer, type ProblemError, answerUnprocessable } from "../api/http/problem.ts";
import { recordAction } from "../api/actions/audit-log.ts";
import { declareRoute } from "../api/http/route.ts";
import { toIsoTime } from "../api/http/fields.ts";
import { refuseListCheck, refuseOtherKey } from "./look-up.ts";

/** Maximum body: a batch of 4 MiB, and a plan. */
const bytesMax = 5 * 1024 * 1024;
/** Maximum size of a plan, in bytes of its JSON. */
const planBytesMax = 256 * 1024;
/** Maximum errors of a plan that an answer lists. */
const planErrorsMax = 100;

/** Writes nothing but the audit log, queues nothing, and sends no request to providers. */
const forecastRoute = declareRoute({
  operationId: "forecast",
  summary:
    "Forecast when calls would be dialed if they were posted, or why not; no call is stored or queued",
  description:
    "It shows which numbers are on the do-not-call list, so it is recorded by their count. A token forecasts at most 200 lists in an hour.",
  method: "post",
  role: "see",
  path: "/forecast",
  bytesMax,
  // The calls and a plan, whose agents, hours and zones lie deeper.
  structure: {
    levels: [100, 20_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000].map((most) => [
      most,
      "members",
    ]),
  },
  body: forecastRequestSchema,
  answer: forecastSchema,
  problems: [409, 429],
  async handle({ c, deps, body }) {
    const now = deps.clock.now();
    const { client, at = now, items } = body;
    const agents = [...((await deps.agentsByClient(at)).get(client) ?? [])];
    const sent = planIn(body.plan, deps);
    const errors: ProblemError[] = [
      ...(at < now ? [{ pointer: "/at", detail: "must not have passed" }] : []),
      ...(agents.length === 0
        ? [{ pointer: "/client", detail: "has no valid token that may place calls" }]
        : []),
      ...("errors" in sent ? sent.errors : []),
    ];
    if (errors.length > 0 || "errors" in sent) return answerUnprocessable(c, errors);
    const refused = await refuseListCheck(c, "forecast", deps);
    if (refused !== undefined) return refused;
    const count = body.calls.length;
    await recordAction(c, { action: "forecast", target: `client ${client}`, count }, deps);
    const calls = await mapInSlices(body.calls, readCallAt);
    const posted: Posted = { calls, client, agents, at };
    const deployed: PlanWithSchedule = deps.settings;
    const { plan = deployed } = sent;
    const requests = posted.calls.flatMap((one) => ("request" in one ? one.request : []));
    const read = await readControls({ requests, client }, [...new Set([plan, deployed])], deps);
    if (read.unread !== undefined) return refuseOtherKey(c);
    const under = (one: PlanWithSchedule) =>
      forecastCalls(posted, one, { now, read, armsKeyOf: deps.settings.armsKeyOf });
    const forecast = await under(plan);
    const others = plan === deployed ? undefined : await under(deployed);
    return {
      at: toIsoTime(at),
      calls: posted.calls.length,
      ...(await countManyZones(requests)),
      ...(await summarize(forecast, read)),
      ...(others === undefined ? {} : { deployed: await summarize(others, read) }),
      ...(items === undefined ? {} : { items: describeItems(forecast.posted, items) }),
    };
  },
});

export const forecastRoutes = [forecastRoute];

/** Reads the plan in a request, if there is one. */
function planIn(
  value: unknown,
  { log, settings }: RouteDeps,
): { plan?: PlanWithSchedule } | { errors: ProblemError[] } {
  if (value === undefined) return {};
  if (Buffer.byteLength(JSON.stringify(value)) > planBytesMax) {
    return { errors: [{ pointer: "/plan", detail: `must be at most ${planBytesMax} bytes` }] };
  }
  const { kinds } = settings.table;
  const read = readDialPlan(value, kinds);
  if ("plan" in read) {
    const { plan } = read;
    const table = createRouteTable(plan, kinds);
    return { plan: { plan, table, schedule: createSchedule(table, log) } };
  }
  const errors = read.problems.slice(0, planErrorsMax).map(({ path, message }) => ({
    pointer: toPointer(["plan", ...path]),
    detail: message,
  }));
  return { errors };
}
