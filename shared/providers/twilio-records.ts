/** Twilio's records of calls. */
import * as z from "../lib/zod.ts";
import { idText } from "./define-provider.ts";
import {
  createAnswerers,
  createWords,
  type ListType,
  optionalAmount,
  optionalText,
  type RecordType,
  resultOf,
} from "./provider-records.ts";
import type { ReadResult } from "./provider.ts";

export const listSchema = () =>
  z.object({
    calls: z.array(callSchema()),
    next_page_uri: z.nullish(z.string().check(z.regex(/^\/(?!\/)/))),
  });

/** Formats a time in UTC like Twilio's SDK. */
export function wholeSecond(time: number): string {
  return new Date(time).toISOString().replace(/\.\d+Z$/, "Z");
}

/** Times have the form of RFC 2822. */
const callSchema = () =>
  z.object({
    sid: idText,
    to: z.nullish(z.string()),
    direction: z.nullish(z.string()),
    /** Call of which this one is a child leg. */
    parent_call_sid: optionalText(),
    /** May be empty while a call is queued. */
    date_created: z.nullish(z.string()),
    status: optionalText(),
    answered_by: optionalText(),
    end_time: optionalText(),
    /** Negative, and null until the call is billed. A text at Twilio, a number at SignalWire, as the length. */
    price: optionalAmount(),
    price_unit: optionalText(),
    /** Seconds. Empty for a call that nobody answered. */
    duration: optionalAmount(),
  });

/** Values of `status` (https://www.twilio.com/docs/voice/api/call-resource#call-status-values). */
const words = /* @__PURE__ */ createWords(
  ["live", "queued initiated ringing in-progress"],
  ["completed", "completed"],
  ["busy", "busy"],
  ["no_answer", "no-answer"],
  // A call that was cancelled while it was queued or rang: nobody answered.
  ["failed", "failed canceled"],
);

/**
 * Values of `answered_by`, of calls with `machineDetection`: the reference of calls has the first two, that of
 * the detection the others (https://www.twilio.com/docs/voice/answering-machine-detection). `unknown` tells
 * nothing.
 */
const answeredBy = /* @__PURE__ */ createAnswerers(
  "human",
  "machine machine_start machine_end_beep machine_end_silence machine_end_other fax",
);

/** `start_time` is the time of dialing, so the time of the answer follows from the end and the length. */
function resultOfCall(call: z.infer<ReturnType<typeof callSchema>>): ReadResult {
  const { status, answered_by, end_time, duration, price, price_unit } = call;
  const seconds = Number(duration ?? "");
  const human = answeredBy.get(answered_by ?? "");
  const answeredAt =
    end_time && duration && seconds > 0 ? Date.parse(end_time) - seconds * 1000 : null;
  const isAnswered = status === "in-progress";
  const cost = { amount: price, currency: price_unit?.toUpperCase() };
  const facts = { word: status, human, isAnswered, answeredAt, cost };
  return resultOf(words, { ...facts, endedAt: end_time, seconds: duration });
}

export const list: ListType<z.infer<ReturnType<typeof callSchema>>> = {
  rowsMax: 1000,
  ask(from, limit, next) {
    const query = { "StartTime>": wholeSecond(from), PageSize: String(limit) };
    return { path: next ?? `?${new URLSearchParams(query).toString()}` };
  },
  read(answer) {
    const { calls, next_page_uri } = z.built(listSchema).parse(answer);
    return { rows: calls, next: next_page_uri?.replace(/^[^?]*/, "") };
  },
  idOf: ({ sid }) => sid,
  resultOf: resultOfCall,
};

export const record: RecordType<z.infer<ReturnType<typeof callSchema>>> = {
  schema: callSchema,
  resultOf: resultOfCall,
};
