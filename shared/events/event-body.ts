import * as z from "../lib/zod.ts";
import type { CallEventType } from "../calls/call-event.ts";
import { type CallState, callStates, statesWhere } from "../calls/states.ts";
import {
  countsViewSchema,
  headersView,
  resultViewSchema,
  testView,
  splitView,
  callBackView,
} from "../calls/view-schemas.ts";

/**
 * Schemas of events' bodies, from which the OpenAPI document is made. `bodyOf` and `finishedEventOf` make the bodies.
 * Loose like all of /v1, as fields may be added.
 */

const time = z.iso.datetime();
const timestamp = time.check(z.describe("When it happened"));
const requestId = z.string().check(z.describe("The X-Request-Id of the request's 201"));

/** The price of a call is known once it has ended. */
const { cost: _, ...answeredShape } = resultViewSchema.shape;
const noResult = z.null().check(z.describe("Only call.answered and call.ended have a result"));

function statesOf(type: CallEventType): CallState[] {
  return statesWhere(({ event }) => event === type);
}

/** Returns the schema of an event of a call, by the states in which the call may be. `more`: fields of its own. */
function callEventBody(
  type: CallEventType,
  states: readonly CallState[] = statesOf(type),
  more: Readonly<Record<string, z.ZodMiniType>> = {},
) {
  const data = z.looseObject({
    id: z.string().check(z.describe("The call's id")),
    request_id: requestId,
    index: z.int().check(z.describe("The call's index in its batch, from 0")),
    sequence: z
      .int()
      .check(
        z.describe(
          "Number of the event among those of its call. They may come in any order: the highest one is the newest",
        ),
      ),
    agent_id: z.string(),
    ...headersView,
    ...splitView,
    traceparent: z
      .optional(z.string())
      .check(z.describe("Trace of its request; absent where it has none")),
    state: z.enum(states).check(z.describe("State of the call when it happened")),
    reason: z.string().check(z.describe("Why the call was in that state")),
    attempt: z
      .int()
      .check(z.describe("Number of the call's claims by then; 0: nobody had begun to dial")),
    result: noResult,
    echo: z
      .record(z.string(), z.string())
      .check(z.describe("Entries of the call's context that the dial plan names")),
    ...testView,
    try: z
      .optional(z.int())
      .check(z.describe("Of an agent with `retry`: number of the try that the call is, from 1")),
    tries_left: z
      .optional(z.int())
      .check(z.describe("Of an agent with `retry`: tries that may still follow; 0: none follows")),
    ...more,
  });
  return z.looseObject({ type: z.literal(type), timestamp, data });
}

const finishedBody = z.looseObject({
  type: z.literal("request.finished"),
  timestamp,
  data: z.looseObject({
    request_id: requestId,
    accepted_at: time,
    total: z.int().check(z.describe("Calls of the request")),
    counts: countsViewSchema,
    ...testView,
  }),
});

/** Schemas of all events' bodies by type. */
export const eventBodySchemas = {
  "call.placed": callEventBody("call.placed"),
  "call.answered": callEventBody("call.answered", statesOf("call.placed"), {
    result: z.looseObject(answeredShape),
  }),
  "call.ended": callEventBody("call.ended", statesOf("call.placed"), {
    result: resultViewSchema,
    call_back: z
      .optional(callBackView)
      .check(z.describe("If the callee asked to be called back, and that was known by then")),
  }),
  "call.rejected": callEventBody("call.rejected"),
  "call.expired": callEventBody("call.expired"),
  "call.cancelled": callEventBody("call.cancelled"),
  "call.needs_review": callEventBody("call.needs_review"),
  "call.reviewed": callEventBody("call.reviewed", ["PLACED", "CANCELLED", "REDIALED"]),
  "call.opt_out": callEventBody("call.opt_out", callStates),
  "call.call_back": callEventBody("call.call_back", statesOf("call.placed"), {
    call_back: callBackView,
  }),
  "request.finished": finishedBody,
} satisfies Record<CallEventType | "request.finished", z.ZodMiniType>;
