import * as z from "../../shared/lib/zod.ts";
import { countHolders } from "./forecast/expected-ends.ts";
import { readWaitingNow } from "./forecast/waiting-now.ts";
import { time, toIsoTime } from "../api/http/fields.ts";
import { declareRoute } from "../api/http/route.ts";

/** Maximum holders of one answer. */
const holdersMax = 50;

const waitingSchema = z.strictObject({
  at: time.check(z.describe("When the calls were read, at most five seconds ago")),
  calls: z.int().check(z.describe("Calls that wait")),
  is_whole: z.boolean().check(z.describe("False where more wait than are read: 50,000")),
  rows_read: z
    .int()
    .check(
      z.describe(
        "Calls whose rows were read: all, or up to 1,000 that lie evenly over all backlogs",
      ),
    ),
  holders: z
    .array(
      z.strictObject({
        reason: z
          .string()
          .check(
            z.describe(
              "What holds the calls now: as in a row, such as `paused`, `breaker_open`, `hours`, `not_before`, `max_calls`, `live_calls`, `pace`, `turn`",
            ),
          ),
        name: z
          .string()
          .check(
            z.describe("The pause, breaker, rule of the plan, account or check; may be empty"),
          ),
        calls: z.int(),
        is_exact: z
          .boolean()
          .check(
            z.describe(
              "False where some of the calls count like the nearest one before them whose row was read",
            ),
          ),
      }),
    )
    .check(z.describe(`The most calls first, at most ${holdersMax}`)),
});
export type WaitingByReason = z.infer<typeof waitingSchema>;

const countWaiting = declareRoute({
  operationId: "countWaiting",
  summary: "Why calls wait: what holds them now, in calls",
  method: "get",
  path: "/waiting",
  answer: waitingSchema,
  async handle({ deps }) {
    const { at, calls, rowsRead, agentsCut, isCut } = await readWaitingNow(deps);
    return {
      at: toIsoTime(at),
      calls: calls.length,
      is_whole: agentsCut.size === 0 && !isCut,
      rows_read: rowsRead,
      holders: countHolders(calls)
        .slice(0, holdersMax)
        .map(({ isExact: is_exact, ...holder }) => ({ ...holder, is_exact })),
    };
  },
});

export const waitingRoutes = [countWaiting];
