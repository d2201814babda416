import * as z from "../../platform/zod.ts";
import type { NotPlaced, ReadResult } from "../dialing-provider.ts";
import { optionalText, resultOf, type RecordType, wordsOf } from "./result.ts";

/** A call as Vapi reads and lists it. */
export const callSchema = z.object({
  id: z.string().check(z.minLength(1), z.maxLength(200)),
  createdAt: z.string(),
  name: z.nullish(z.string()),
  status: z.nullish(z.string()),
  customer: z.nullish(z.object({ externalId: z.nullish(z.string()) })),
  endedReason: z.nullish(z.string()),
  startedAt: optionalText,
  endedAt: optionalText,
  subscriptionLimits: z.optional(z.unknown()),
});
export type VapiCall = z.infer<typeof callSchema>;

const start = "call.start.error-";
/**
 * Reasons for which a call has ended before anybody was phoned, and what they are about (VapiAI/server-sdk,
 * CallEndedReason). `call.start.error-get-transport` is not among them: it is what the carrier answered to
 * Vapi's own request for the call, whatever that was. Nor are those that do not tell whose fault it was.
 */
export const notStarted: ReadonlyMap<string, NotPlaced> = new Map<string, NotPlaced>([
  [`${start}subscription-concurrency-limit-reached`, later("concurrency_limit")],
  [`${start}vapifault-database-error`, later("vapi_fault")],
  [`${start}vapifault-get-org`, later("vapi_fault")],
  [`${start}vapifault-get-subscription`, later("vapi_fault")],
  [`${start}subscription-frozen`, ofAccount("account_limit")],
  [`${start}subscription-insufficient-credits`, ofAccount("account_limit")],
  [`${start}subscription-upgrade-failed`, ofAccount("account_limit")],
  [`${start}subscription-wallet-does-not-exist`, ofAccount("account_limit")],
  [`${start}vapi-number-outbound-daily-limit`, ofRoute("number_daily_limit")],
  [`${start}get-phone-number`, ofRoute("phone_number_not_found")],
  [`${start}get-assistant`, ofRoute("assistant_not_found")],
  ["assistant-not-found", ofRoute("assistant_not_found")],
  ["call-start-error-neither-assistant-nor-server-set", ofRoute("assistant_not_found")],
  [`${start}vapi-number-international`, { kind: "rejected", code: "number_international" }],
]);

export function later(code: string): NotPlaced {
  return { kind: "not_placed", code };
}
export function ofAccount(code: string): NotPlaced {
  return { kind: "account_refused", code };
}
export function ofRoute(code: string): NotPlaced {
  return { kind: "route_refused", code };
}

const version = "call.start.assistant-version-";

/** Returns what a reason proves of a call that nobody was phoned for, or undefined. */
export function notStartedFor(reason: string): NotPlaced | undefined {
  return reason.startsWith(version) ? ofRoute("assistant_version") : notStarted.get(reason);
}

const inProgress = "call.in-progress.error-";
const sip = `${inProgress}providerfault-outbound-sip-`;
/**
 * Values of `status`, and of `endedReason` (https://docs.vapi.ai/calls/call-ended-reason). The page counts SIP
 * 408 and 480 among the calls that rang and were not answered. Hundreds of reasons blame a model, a voice or a
 * transcriber: they are known by their beginnings alone, which is all that a result repeats of them.
 */
const words = wordsOf(
  ["live", "scheduled queued ringing in-progress forwarding"],
  [
    "completed",
    "customer-ended-call assistant-ended-call assistant-ended-call-after-message-spoken " +
      "assistant-ended-call-with-hangup-task assistant-said-end-call-phrase " +
      "assistant-forwarded-call exceeded-max-duration silence-timed-out " +
      "customer-ended-call-before-warm-transfer customer-ended-call-after-warm-transfer-attempt " +
      "customer-ended-call-during-transfer",
  ],
  ["voicemail", "voicemail"],
  [
    "no_answer",
    `customer-did-not-answer ${sip}408-request-timeout ${sip}480-temporarily-unavailable`,
  ],
  ["busy", "customer-busy"],
  ["invalid", "twilio-reported-customer-misdialed"],
  ["blocked", `vonage-rejected ${sip}403-forbidden ${start}fraud-check-failed`],
  [
    "failed",
    `${[...notStarted.keys()].join(" ")} ${version} ${start}get-transport ${start}get-customer ` +
      `${start}get-resources-validation twilio-failed-to-connect-call ` +
      `vonage-failed-to-connect-call ${inProgress}sip-outbound-call-failed-to-connect ` +
      `${inProgress}vapifault-transport-never-connected ` +
      `${inProgress}providerfault-transport-never-connected ` +
      `${sip}407-proxy-authentication-required ${sip}503-service-unavailable`,
  ],
  [
    "unknown",
    "manually-canceled call-deleted worker-shutdown assistant-join-timed-out vonage-disconnected " +
      "vonage-completed call.in-progress.twilio-completed-call call.in-progress.sip-completed-call " +
      `phone-call-provider-closed-websocket ${inProgress} pipeline-`,
  ],
);
/** Beginnings of reasons. A word of the table comes before them. */
const families = [version, inProgress, "pipeline-"];

/** `startedAt` is taken for the time of the answer where the reason does not say that there was none. */
export function resultOfCall({ status, endedReason, startedAt, endedAt }: VapiCall): ReadResult {
  if (status !== "ended") return resultOf(words, { word: status });
  const reason = endedReason ?? "";
  const family = families.find((beginning) => reason.startsWith(beginning));
  const word = words.has(reason) ? reason : (family ?? reason);
  return resultOf(words, { word, answeredAt: startedAt, endedAt });
}

/** Returns what a call repeats of our own. Its name may have been changed to anything. */
function ownIn({ customer, name }: VapiCall): Record<string, unknown> {
  const attempt = /^attempt (\d+)$/.exec(name ?? "")?.[1];
  return { call_id: customer?.externalId ?? undefined, attempt };
}

export const vapiRecord: RecordType<VapiCall> = {
  schema: callSchema,
  ownIn,
  resultOf: resultOfCall,
};
