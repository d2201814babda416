import * as z from "../lib/zod.ts";
import { idText } from "./define-provider.ts";
import { createAnswerers, isOfAnother, resultOf, createWords } from "./provider-records.ts";
import type { PlacedCall, ReadResult } from "./provider.ts";

const payloadSchema = () =>
  z.object({
    call_control_id: z.string().check(z.minLength(1), z.maxLength(500)),
    client_state: z.nullish(z.string()),
    hangup_cause: z.nullish(z.string()),
    result: z.catch(z.nullish(z.string()), null),
  });

/**
 * Maximum depth of the search for payloads. A webhook has its payload in `data`, and the reference does not say how
 * much of it `metadata` repeats.
 */
const payloadDepthMax = 4;

/** Returns the parts of an event that are about a call. */
function payloadsIn(event: unknown, depth = 0): z.infer<ReturnType<typeof payloadSchema>>[] {
  if (typeof event !== "object" || event === null || depth > payloadDepthMax) return [];
  const payload = z.built(payloadSchema).safeParse(event).data;
  const inner = Object.values(event).flatMap((part) => payloadsIn(part, depth + 1));
  return payload === undefined ? inner : [payload, ...inner];
}

const stateSchema = () => z.object({ call_id: z.string() });

/** Returns our id of a call in its `client_state`. */
function callIdOfState(state: string | null | undefined): string | undefined {
  try {
    return z.built(stateSchema).parse(JSON.parse(Buffer.from(state ?? "", "base64").toString()))
      .call_id;
  } catch {
    return undefined; // another application's state
  }
}

/** Returns the provider's id of the call if the event carries our id. */
export function callIdOfEvent(event: unknown, id: string): string | undefined {
  const ours = payloadsIn(event).find(({ client_state }) => callIdOfState(client_state) === id);
  return ours?.call_control_id;
}

const statusSchema = () =>
  z.object({
    data: z.object({
      call_leg_id: idText,
      is_alive: z.boolean(),
      client_state: z.nullish(z.string()),
    }),
  });

/** Returns the result of a call in progress, or the id of the leg whose events report its end. */
export function resultOfStatus(
  answer: unknown,
  placed: PlacedCall,
): { result?: ReadResult; leg?: string } {
  const { call_leg_id, is_alive, client_state } = z.built(statusSchema).parse(answer).data;
  if (isOfAnother({ call_id: callIdOfState(client_state) }, placed)) return {};
  return is_alive ? { result: resultOf(words, { word: "live" }) } : { leg: call_leg_id };
}

const eventSchema = () =>
  z.object({
    name: z.string(),
    event_timestamp: z.string(),
    metadata: z.unknown(),
  });

/**
 * Values of `hangup_cause` (https://developers.telnyx.com/api-reference/callbacks/call-hangup; telnyx-node adds
 * `no_answer`). Other causes occur with and without an answer.
 */
const words = /* @__PURE__ */ createWords(
  ["live", "live"],
  ["no_answer", "timeout no_answer"],
  ["busy", "user_busy"],
  ["declined", "call_rejected"],
  ["invalid", "not_found"],
  ["failed", "originator_cancel"],
  ["unknown", "normal_clearing time_limit unspecified"],
);

/** Values of `result` of `call.machine.detection.ended` and its premium form. The others say nothing. */
const answeredBy = /* @__PURE__ */ createAnswerers(
  "human human_residence human_business",
  "machine fax_detected",
);

/** Returns the result in a call's events; undefined until the events include the call's end. */
export function resultOfEvents(events: unknown[], placed: PlacedCall): ReadResult | undefined {
  let word: string | null | undefined;
  let human: boolean | undefined;
  let answeredAt: string | undefined;
  let endedAt: string | undefined;
  for (const event of events) {
    const { data } = z.built(eventSchema).safeParse(event);
    const payload = payloadsIn(data?.metadata).find(
      ({ call_control_id }) => call_control_id === placed.providerCallId,
    );
    if (data === undefined || payload === undefined) continue;
    if (isOfAnother({ call_id: callIdOfState(payload.client_state) }, placed)) return undefined;
    if (data.name === "call.answered") answeredAt = data.event_timestamp;
    if (data.name.endsWith("detection.ended")) human = answeredBy.get(payload.result ?? "");
    if (data.name === "call.hangup") {
      word = payload.hangup_cause;
      endedAt = data.event_timestamp;
    }
  }
  const isAnswered = answeredAt !== undefined;
  return endedAt === undefined
    ? undefined
    : resultOf(words, { word, human, isAnswered, answeredAt, endedAt });
}
