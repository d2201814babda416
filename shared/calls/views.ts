import { type Labels, labelViews } from "./labels.ts";
import { parseSplitMark } from "./split-mark.ts";
import * as z from "../lib/zod.ts";
import type { CallRow } from "./call-row.ts";
import type { Mode } from "./ids.ts";
import { type CallResult, resultStatuses } from "./call-result.ts";
import { callStates } from "./states.ts";
import { type CallBack, callBackRefusals } from "./tries.ts";

const time = z.iso.datetime();

/** The result of a placed call, as answers and events show it. Times are ISO 8601. */
export const resultViewSchema = z
  .strictObject({
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
      .optional(z.strictObject({ amount: z.string(), currency: z.string() }))
      .check(
        z.describe(
          "Price by the provider's record: a decimal, and a currency by ISO 4217; absent where it has none",
        ),
      ),
  })
  .check(z.meta({ id: "Result" }));
export type ResultView = z.infer<typeof resultViewSchema>;

export function toResultView(result: CallResult): ResultView {
  const { status, human, word, answeredAt, endedAt, seconds, cost } = result;
  return {
    status,
    human,
    word,
    answered_at: textOf(answeredAt),
    ended_at: textOf(endedAt),
    seconds,
    ...(cost === undefined ? {} : { cost }),
  };
}

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

export function toHeadersView({
  notBefore,
  isUrgent,
  labels,
}: Pick<CallRow, "notBefore" | "isUrgent" | "labels">): Labels & {
  not_before?: string;
  urgent?: true;
} {
  const not_before = textOf(notBefore);
  return {
    ...(not_before === null ? {} : { not_before }),
    ...(isUrgent ? { urgent: true } : {}),
    ...labels,
  };
}

function textOf(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

/** The field of calls' views and events that names a split. */
export const splitView = {
  split: z
    .optional(z.string())
    .check(z.describe("The split that the call was posted to, of which `agent_id` is an arm")),
};

export function toSplitView({ split }: Pick<CallRow, "split">): { split?: string } {
  return split === undefined ? {} : { split: parseSplitMark(split).name };
}

/** The field of calls' views and events that says whether the service calls a callee back. */
export const callBackView = z
  .strictObject({
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

export function toCallBackView({
  callBack: { at, reason },
  next,
}: { callBack: CallBack } & Pick<CallRow, "next">): z.infer<typeof callBackView> {
  if (at === undefined) return { at: null, call_id: null, by: "nobody", reason: reason ?? null };
  return { at: textOf(at), call_id: next?.id ?? null, by: "service", reason: null };
}

/** Counts of a request's calls, as answers and events show them. Loose like all of /v1, as fields may be added. */
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

export function toTestView({ mode }: { mode: Mode | undefined }): { test?: true } {
  return mode === "test" ? { test: true } : {};
}
