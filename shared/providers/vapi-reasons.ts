/** Vapi's reasons for a call's end, and for a call that never began. */
import { createWords, resultOf } from "./provider-records.ts";
import type { NotPlaced, ReadResult } from "./provider.ts";

/** Prefixes of reasons. */
const start = "call.start.error-";
const version = "call.start.assistant-version-";
const inProgress = "call.in-progress.error-";
const ringing = "call.ringing.";
const ending = "call.ending.";
const neverConnected = `${inProgress}vapifault-transport-never-connected`;
const sip = "call.in-progress.error-providerfault-outbound-sip-";

export const later = (code: string): NotPlaced => ({ kind: "not_placed", code });
export const ofAccount = (code: string): NotPlaced => ({ kind: "account_refused", code });
export const ofRoute = (code: string): NotPlaced => ({ kind: "route_refused", code });

/**
 * Reasons of calls that ended before anybody was phoned, by their subject (VapiAI/server-sdk, CallEndedReason).
 * `call.start.error-get-transport` is not listed, as it stands for any answer of the carrier to Vapi's request. Nor
 * are reasons that do not say whose fault it was.
 */
export const notStarted = /* @__PURE__ */ (() =>
  new Map<string, NotPlaced>([
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
    [`${start}enterprise-feature-not-available-recording-consent`, ofRoute("recording_consent")],
    ["assistant-not-found", ofRoute("assistant_not_found")],
    ["assistant-not-valid", ofRoute("assistant_not_found")],
    ["call-start-error-neither-assistant-nor-server-set", ofRoute("assistant_not_found")],
    [`${start}vapi-number-international`, { kind: "rejected", code: "number_international" }],
  ]))();

/** Returns the outcome if the reason proves that nobody was phoned, otherwise undefined. */
export function notStartedFor(reason: string): NotPlaced | undefined {
  return reason.startsWith(version) ? ofRoute("assistant_version") : notStarted.get(reason);
}

/**
 * Values of `status`, and of `endedReason` (https://docs.vapi.ai/calls/call-ended-reason). The page counts SIP 408
 * and 480 as calls that rang and were not answered. Hundreds of reasons blame a model, a voice or a transcriber: only
 * their prefixes are listed, and a result repeats only the prefix.
 */
const words = /* @__PURE__ */ (() =>
  createWords(
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
        `${start}get-resources-validation scheduled-call-deleted twilio-failed-to-connect-call ` +
        `vonage-failed-to-connect-call ${inProgress}sip-outbound-call-failed-to-connect ` +
        `${neverConnected} ` +
        `${inProgress}providerfault-transport-never-connected ` +
        `${sip}407-proxy-authentication-required ${sip}503-service-unavailable`,
    ],
    [
      "unknown",
      "manually-canceled call-deleted worker-shutdown assistant-join-timed-out vonage-disconnected " +
        "vonage-completed call.in-progress.twilio-completed-call call.in-progress.sip-completed-call " +
        "call.forwarding.operator-busy call.forwarding.no-answer not-found deletion-failed " +
        `phone-call-provider-closed-websocket ${inProgress} ${ringing} ${ending} pipeline-`,
    ],
  ))();

/** Prefixes that stand for all reasons that begin with them. A word of the table takes precedence. */
const families = [version, inProgress, ringing, ending, "pipeline-"];

/**
 * Returns true for a reason of calls that nobody answered, by which an answered call may end, too: its transfer failed or
 * its line broke (https://docs.vapi.ai/calls/troubleshoot-call-errors). The page says of one that the phone never rang.
 */
function mayEndAnswered(word: string): boolean {
  if (word === neverConnected) return false;
  return word.startsWith(inProgress) || /^(twilio|vonage)-(failed|rejected)/.test(word);
}

type Text = string | null | undefined;
interface EndedCall {
  status?: Text;
  endedReason?: Text;
  startedAt?: Text;
  endedAt?: Text;
  /** In dollars. */
  cost?: number | null | undefined;
}

/**
 * Returns the result of a call's record. `startedAt` counts as the time of the answer if the listed reason leaves
 * open whether there was one. A call that SIP 480 ended before an answer has none. By itself it proves no answer, as a
 * call that did not start may have it, too.
 */
export function resultOfCall({
  status,
  endedReason,
  startedAt,
  endedAt,
  cost,
}: EndedCall): ReadResult {
  if (status !== "ended") return resultOf(words, { word: status });
  const reason = endedReason ?? "";
  const family = families.find((beginning) => reason.startsWith(beginning));
  const word = words.has(reason) ? reason : (family ?? reason);
  const mayBeAnswered = words.has(word) && word !== ringing;
  const answeredAt = mayBeAnswered ? startedAt : null;
  const isAnswered = Boolean(startedAt) && mayEndAnswered(word);
  return resultOf(words, {
    word,
    isAnswered,
    answeredAt,
    endedAt,
    cost: { amount: cost, currency: "USD" },
  });
}
