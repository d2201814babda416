/**
 * Schemas of what answers and events show of a call; `views.ts` makes it. They stand apart, as the dialer makes events and
 * needs no schema of them. Loose like all of /v1, as fields may be added.
 */
import * as z from "../lib/zod.ts";
import { resultStatuses } from "./call-result.ts";
import { labelViews } from "./labels.ts";
import { callStates } from "./states.ts";
import { callBackRefusals } from "./tries.ts";

const time = z.iso.datetime();

/** The result of a placed call, as answers and events show it. Times are ISO 8601. */
export const resultViewSchema = z
  .looseObject({
    status: z
      .enum(resultStatuses)
      .check(
        z.describe(
          "`unknown`: the provider did not report it, or by a word that is not known here",
        ),
      ),
    human: z.nullable(z.boolean()).check(z.describe("Null unless the provider says who answered")),
    word: z.nullable(z.string()).check(z.describe("The provider's own word")),
    answered_at: z.nullable(time),
    ended_at: z.nullable(time),
    seconds: z.nullable(z.number()),
    cost: z
      .optional(z.looseObject({ amount: z.string(), currency: z.string() }))
      .check(
        z.describe(
          "Price by the provider's record: a decimal, and a currency by ISO 4217; absent where it has none",
        ),
      ),
  })
  .check(z.meta({ id: "Result" }));
export type ResultView = z.infer<typeof resultViewSchema>;

/** The headers of a call's request, as answers and events show them. Absent: not sent. */
export const headersView = {
  not_before: z
    .optional(time)
    .check(z.describe("Call-Not-Before of its request; absent where none was sent")),
  urgent: z
    .optional(z.literal(true))
    .check(z.describe("Call-Priority of its request; absent where none was sent")),
  ...labelViews,
};

/** The field of calls' views and events that names a split. */
export const splitView = {
  split: z
    .optional(z.string())
    .check(z.describe("The split that the call was posted to, of which `agent_id` is an arm")),
};

/** The field of calls' views and events that says whether the service calls a callee back. */
export const callBackView = z
  .looseObject({
    at: z.nullable(time).check(z.describe("The time for which the call was promised")),
    call_id: z
      .nullable(z.string())
      .check(z.describe("The promised call, by which it is cancelled")),
    by: z
      .enum(["service", "nobody"])
      .check(z.describe("`service`: do not post a call of your own. `nobody`: none is promised")),
    reason: z
      .nullable(z.enum(callBackRefusals))
      .check(z.describe("Why none is promised; null where one is")),
  })
  .check(z.meta({ id: "CallBack" }));
export type CallBackView = z.infer<typeof callBackView>;

/** Counts of a request's calls, as answers and events show them. */
export const countsViewSchema = z.looseObject({
  by_state: z.partialRecord(z.enum(callStates), z.int()),
  by_result: z
    .partialRecord(z.enum(resultStatuses), z.int())
    .check(z.describe("Of the placed calls whose result is known")),
  promised: z
    .optional(z.int())
    .check(z.describe("Calls whose callee was promised a call-back; absent where none was")),
});

/** The field of clients' views and events by which they know test calls. */
export const testView = {
  test: z
    .optional(z.literal(true))
    .check(z.describe("Of test calls, by a token of mode `test`: nobody was phoned")),
};
