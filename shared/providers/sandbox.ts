/**
 * The sandbox dials test calls: it sends nothing, and the last two digits of the number decide what happens, as
 * docs/sandbox.md lists. It serves test clients on every deployment, and no dial plan can name it. The id that it gives to
 * a call contains the digits and the time of dialing, so it needs no memory.
 */
import { sandboxType } from "../calls/call-request.ts";
import type { ResultStatus } from "../calls/call-result.ts";
import type { Send } from "../lib/http-client.ts";
import { isTestNumber } from "../calls/test-numbers.ts";
import * as z from "../lib/zod.ts";
import { defineProvider, defineRoute } from "./define-provider.ts";
import { post, toStatusOutcome } from "./provider-http.ts";
import { createWords, resultOf } from "./provider-records.ts";

/** Routes of the sandbox. `toSandboxRoute` makes them, and no plan has one. */
export const sandboxRoutes = defineRoute(sandboxType, (fields) => z.strictObject(fields), {
  secrets: [],
  reportsVoicemail: () => true,
  readsWishes: true,
});

/** Fates of test calls. Most calls are placed, and end with this status. */
type Fate =
  | Exclude<ResultStatus, "live" | "failed" | "unknown">
  /** The provider refuses the call for good. */
  | "rejected"
  /** The provider answers 429 once, and then places the call. */
  | "busy_account"
  /** The answer is lost; the provider's records have the call, or never have it. */
  | "found"
  | "lost"
  /** The provider does not answer within the account's time limit, and its records never have the call. */
  | "hangs"
  /** The callee asks not to be called again. */
  | "opt_out"
  /** The callee asks to be called back two minutes after the call's end. */
  | "call_back"
  /** The provider's record of the call never has its end. */
  | "no_result";

/** Fates by the last two digits. Calls to the other numbers are completed. */
const fates: Readonly<Record<string, Fate>> = {
  "01": "voicemail",
  "02": "busy",
  "03": "no_answer",
  "04": "declined",
  "05": "invalid",
  "06": "blocked",
  "07": "rejected",
  "08": "busy_account",
  "09": "found",
  "10": "lost",
  "11": "hangs",
  "12": "opt_out",
  "13": "no_result",
  "14": "call_back",
};

/** Returns what happens to a test call, by its number or its last two digits. */
function testFateOf(digits: string): Fate {
  return fates[digits.slice(-2)] ?? "completed";
}

/** Durations of ringing and of a conversation. */
const ringMs = 3_000;
const talkMs = 7_000;
/** Time from the end of a test call to the time for which its callee wants to be called back. */
const calledBackMs = 120_000;
/** Time from the placing of a test call, or a simulated one, to the first poll for its result, which is known by then. */
export const testPollMs = ringMs + talkMs + 2_000;

/** The `Retry-After` of the 429. */
const retryAfterSeconds = "2";

export const sandbox = /* @__PURE__ */ defineProvider(sandboxRoutes, ({ now }) => ({
  async dial({ call: { id, request }, attempt, timeoutSeconds, guarded }) {
    const number = request.phone_number;
    if (!isTestNumber(number)) return { kind: "rejected", code: "no_test_number" };
    const fate = testFateOf(number);
    const send = guarded(sendOf(fate, attempt));
    // The last look may withhold the request, as every other one.
    const answer = await post(send, "https://sandbox.invalid", {
      headers: {},
      body: "",
      timeoutSeconds,
    });
    if ("kind" in answer) return answer;
    if (answer.status !== 200) return toStatusOutcome(answer, now());
    return { kind: "placed", providerCallId: toSandboxId({ number, at: now(), id }) };
  },

  async lookUp({ call: { id, request }, from }) {
    const number = request.phone_number;
    if (testFateOf(number) !== "found") return undefined;
    return { by: "id", providerCallId: toSandboxId({ number, at: from, id }) };
  },

  async readResult({ id, providerCallId, mayWish }) {
    const [, digits = "", at = "", ofId] = providerCallId.split("-");
    const fate = testFateOf(digits);
    if (ofId !== id || fate === "no_result") return undefined;
    const { word, isAnswered, human } = endOf(fate);
    const rungAt = Number(at) + ringMs;
    const answeredAt = isAnswered && now() >= rungAt ? rungAt : null;
    const endedAt = isAnswered ? rungAt + talkMs : rungAt;
    if (now() < endedAt) return resultOf(words, { word: "live", answeredAt });
    const optedOut = fate === "opt_out" ? { optedOut: true } : {};
    const result = { ...resultOf(words, { word, human, answeredAt, endedAt }), ...optedOut };
    if (!mayWish || fate !== "call_back") return result;
    const wished = new Date(endedAt + calledBackMs).toISOString();
    return { ...result, analysis: { wished, isAnalyzed: true } };
  },
}));

/** Returns a `Send` that sends nothing, and answers as the provider of such a call does. */
function sendOf(fate: Fate, attempt: number): Send {
  return async (_url, { signal }) => {
    if (fate === "hangs") return hang(signal);
    if (fate === "rejected") return new Response(null, { status: 422 });
    if (fate === "busy_account" && attempt === 1)
      return new Response(null, { status: 429, headers: { "retry-after": retryAfterSeconds } });
    if (fate === "found" || fate === "lost") return new Response(null, { status: 500 });
    return new Response();
  };
}

/** Rejects when the request's time is over. */
function hang(signal: AbortSignal): Promise<Response> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new DOMException("timed out", "TimeoutError")));
  });
}

function toSandboxId({ number, at, id }: { number: string; at: number; id: string }): string {
  return `sandbox-${number.slice(-2)}-${at}-${id}`;
}

/** Returns how a placed call ends. A person answers unless the number stands for something else. */
function endOf(fate: Fate): { word: string; isAnswered: boolean; human: boolean | null } {
  const word = words.has(fate) ? fate : "completed";
  if (word === "completed") return { word, isAnswered: true, human: true };
  const isAnswered = word === "voicemail";
  return { word, isAnswered, human: isAnswered ? false : null };
}

const words = /* @__PURE__ */ createWords(
  ["live", "live"],
  ["completed", "completed"],
  ["voicemail", "voicemail"],
  ["busy", "busy"],
  ["no_answer", "no_answer"],
  ["declined", "declined"],
  ["invalid", "invalid"],
  ["blocked", "blocked"],
);
