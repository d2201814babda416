import type { CallRow, PassedCheck } from "#shared/calls/call-row.ts";
import { callStates, states } from "#shared/calls/states.ts";
import type { Tries } from "#shared/calls/tries.ts";
import { requestIdOf } from "#shared/calls/ids.ts";
import { toCallBackView, toHeadersView, toResultView, toSplitView } from "#shared/calls/views.ts";
import {
  callBackView,
  headersView,
  resultViewSchema,
  splitView,
} from "#shared/calls/view-schemas.ts";
import * as z from "#shared/lib/zod.ts";
import { zoneNamesOf } from "#shared/telephony/zones-of-number.ts";
import { state, time, toIsoTime } from "../api/http/fields.ts";

/** A call as answers show it: with the last two digits of its number, without its context. */
export const callViewSchema = z
  .strictObject({
    id: z.string(),
    state,
    reason: z.string(),
    agent_id: z.string(),
    account: z.nullable(z.string()),
    request_id: z.string(),
    client: z.string(),
    number_tail: z.string(),
    time_zones: z
      .array(z.string())
      .check(
        z.describe(
          "Time zones in all of which hours must be open: its `timezone`, or those of its number. Empty: none known, or erased",
        ),
      ),
    attempt: z.int(),
    ...headersView,
    ...splitView,
    due_at: z.nullable(time),
    accepted_at: time,
    updated_at: time,
    provider_call_id: z.nullable(z.string()),
    result: z.nullable(resultViewSchema).check(z.describe("Null: not known, or not asked for")),
    redial_of: z.nullable(z.string()),
    tries: z
      .optional(
        z.strictObject({
          number: z.int().check(z.describe("Number of this try, from 1")),
          most: z.int().check(z.describe("Maximum number of tries")),
          before: z.nullable(z.string()).check(z.describe("Id of the try before")),
          next: z.nullable(z.string()).check(z.describe("Id of the next try")),
        }),
      )
      .check(z.describe("Of an agent with `retry` or `callBacks`: its place among its tries")),
    call_back: z
      .optional(callBackView)
      .check(z.describe("Of a callee who asked to be called back; absent otherwise")),
    redialed_as: z.nullable(z.string()),
    can_be_revealed: z.boolean(),
  })
  .check(z.meta({ id: "Call" }));
export type CallView = z.infer<typeof callViewSchema>;

/** A call and its history from its acceptance on. */
export const callDetailSchema = z
  .strictObject({
    ...callViewSchema.shape,
    provider: z
      .nullable(z.string())
      .check(z.describe("Kind of the account's provider, such as `twilio`")),
    claimed_at: z.nullable(time).check(z.describe("When it was last dialed or about to be")),
    unknown_since: z
      .nullable(time)
      .check(z.describe("Since when its outcome is unknown, or until it was decided")),
    lookup_misses: z
      .int()
      .check(z.describe("Times that the provider's records were asked and did not have it")),
    history: z.array(
      z.strictObject({
        at: time,
        state: z.enum(["ACCEPTED", ...callStates]),
        reason: z.string(),
        due_at: z.nullable(time),
        by: z.nullable(z.string()),
        checks: z
          .optional(
            z.array(
              z.strictObject({
                check: z.string(),
                asked_at: time,
                evidence: z.nullable(z.string()),
              }),
            ),
          )
          .check(z.describe("The checks that permitted the call, in the step of its claim")),
      }),
    ),
  })
  .check(z.meta({ id: "CallWithHistory" }));
export type CallDetail = z.infer<typeof callDetailSchema>;

function zonesOf({ request }: CallRow): string[] {
  return request === null ? [] : [...zoneNamesOf(request, undefined)];
}

export function toCallView(row: CallRow): CallView {
  return {
    id: row.id,
    state: row.state,
    reason: row.reason,
    agent_id: row.agentId,
    account: row.route?.account ?? null,
    request_id: requestIdOf(row.id),
    client: row.client,
    number_tail: row.numberTail,
    time_zones: zonesOf(row),
    attempt: row.attempt,
    ...toHeadersView(row),
    ...toSplitView(row),
    // The due time of a placed call is that of its next poll, which is not shown.
    due_at: toIsoTime(states[row.state].lane === "results" ? null : row.dueAt),
    accepted_at: toIsoTime(row.acceptedAt),
    updated_at: toIsoTime(row.updatedAt),
    provider_call_id: row.providerCallId,
    result: row.result && toResultView(row.result),
    redial_of: row.tries === undefined ? (row.ancestors.at(-1) ?? null) : null,
    redialed_as: row.redialedAs,
    can_be_revealed: row.request !== null,
    ...(row.tries === undefined ? {} : { tries: toTriesView(row, row.tries) }),
    ...(row.callBack === undefined
      ? {}
      : { call_back: toCallBackView({ callBack: row.callBack, next: row.next }) }),
  };
}

function toCheckView({ check, at, evidence }: PassedCheck) {
  return { check, asked_at: toIsoTime(at), evidence: evidence ?? null };
}

function toTriesView({ ancestors, next }: CallRow, { number, budget }: Tries) {
  return { number, most: budget, before: ancestors.at(-1) ?? null, next: next?.id ?? null };
}

export function toCallDetail(row: CallRow): CallDetail {
  const steps = row.history.map(
    ({ at, state: reached, reason, dueAt = null, by = null, checks }) => ({
      at: toIsoTime(at),
      state: reached,
      reason,
      due_at: toIsoTime(dueAt),
      by,
      ...(checks === undefined ? {} : { checks: checks.map(toCheckView) }),
    }),
  );
  const accepted = {
    at: toIsoTime(row.acceptedAt),
    state: "ACCEPTED",
    reason: "accepted",
  } as const;
  return {
    ...toCallView(row),
    provider: row.route?.provider ?? null,
    claimed_at: toIsoTime(row.claimedAt),
    unknown_since: toIsoTime(row.unknownSince),
    lookup_misses: row.misses,
    history: [{ ...accepted, due_at: null, by: null }, ...steps],
  };
}
