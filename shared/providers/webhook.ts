/**
 * Webhook: posts each call to a URL of the user, signed by the Standard Webhooks specification
 * (https://www.standardwebhooks.com): `webhook-id` is the call's id, the same on any resend, `webhook-signature` is
 * `v1,` and the HMAC-SHA256 of `id.timestamp.body` under the account's secret, `WEBHOOK_SECRET`.
 *
 * ```json
 * {"id": "call_…", "request_id": "req_…", "phone_number": "+12025550123", "agent_id": "agent_sales",
 *  "context": {}, "timezone": null, "accepted_at": "2026-11-21T09:30:00.000Z"}
 * ```
 *
 * With callbacks the body also has `callback_url`, to which the receiver may post the call's result.
 *
 * 2xx: placed. A JSON `id` in the answer is kept as the provider's id of the call. 503 with `Retry-After`: certainly
 * not placed, and retried later. Other answers are handled by `toStatusOutcome`.
 */
import type { KeyObject } from "node:crypto";
import type { Call } from "../calls/call-request.ts";
import { resultStatuses } from "../calls/call-result.ts";
import { httpsUrl, isLoopback } from "../lib/https-url.ts";
import {
  createSignatureHeaders,
  findSignatureProblem,
  type SignatureProblem,
  parseSigningKey,
} from "../lib/standard-webhooks.ts";
import { withoutBom } from "../lib/without-bom.ts";
import * as z from "../lib/zod.ts";
import { defineProvider, defineRoute, idText } from "./define-provider.ts";
import { type Answer, toStatusOutcome, post, retryAfterSeconds } from "./provider-http.ts";
import type { DialOutcome, SignedCallback, CallbackReport } from "./provider.ts";

/** Routes of a webhook, as a dial plan has them. */
export const webhookRoutes = defineRoute(
  "webhook",
  (fields) =>
    z.strictObject({
      ...fields,
      /** URL to which calls are posted. */
      url: httpsUrl,
      /** True if the receiver drops a `webhook-id` that it has seen, so that a call of unknown outcome may be resent. */
      idempotent: z.optional(z.boolean()),
    }),
  {
    secrets: ({ url }) => (isLoopback(url) ? [] : ["SECRET"]),
    reportsVoicemail: () => true,
    readsWishes: true,
    callbackHeaders: ["webhook-id", "webhook-timestamp", "webhook-signature"],
  },
);

export const webhook = /* @__PURE__ */ defineProvider(
  webhookRoutes,
  ({ secret, fetch, now }, routes) => {
    const keyFor = (account: string) => {
      const text = secret(account, "SECRET");
      return text === undefined || text === ""
        ? undefined
        : parseSigningKey(text, `the secret of ${account}`);
    };
    const keys = new Map(routes.map(({ account }) => [account, keyFor(account)]));
    return {
      async dial({ call, timeoutSeconds, guarded, callbackUrl }, route) {
        const key = keys.get(route.account) ?? keyFor(route.account);
        const body = JSON.stringify(bodyOf(call, callbackUrl));
        const headers = {
          "content-type": "application/json",
          "user-agent": "outbound-calls",
          ...createSignatureHeaders(
            { id: call.id, body },
            { keys: key === undefined ? [] : [key], now: now() },
          ),
        };
        const answer = await post(guarded(fetch), route.url, { headers, body, timeoutSeconds });
        return "kind" in answer ? answer : outcomeOf(answer, call, now());
      },

      async readCallback(signed, { account, url }, callId) {
        const key = keys.get(account) ?? keyFor(account);
        // The plan may no longer have the account, nor the environment its secret. Then nothing proves who sent the
        // callback.
        if (key === undefined && !isLoopback(url)) return { kind: "unverified" };
        return readWebhookCallback(signed, key, callId);
      },
    };
  },
);

function bodyOf({ id, requestId, acceptedAt, request }: Call, callbackUrl: string | undefined) {
  return {
    id,
    request_id: requestId,
    phone_number: request.phone_number,
    agent_id: request.agent_id,
    context: request.context ?? {},
    timezone: request.timezone ?? null,
    accepted_at: new Date(acceptedAt).toISOString(),
    callback_url: callbackUrl, // JSON leaves it out if undefined
  };
}

function outcomeOf(answer: Answer, { request }: Call, now: number): DialOutcome {
  if (answer.status >= 200 && answer.status < 300) {
    const id = idIn(answer.text);
    const isOfPerson = id !== undefined && hasNumber(id, request.phone_number);
    return { kind: "placed", providerCallId: isOfPerson ? undefined : id };
  }
  if (answer.status === 503 && answer.headers.has("retry-after")) {
    const wait = { retryAfterSeconds: retryAfterSeconds(answer.headers, now) };
    return { kind: "not_placed", code: "http_503", ...wait };
  }
  return toStatusOutcome(answer, now);
}

const answerSchema = () => z.object({ id: idText });

function idIn(text: string | undefined): string | undefined {
  try {
    return z.built(answerSchema).parse(JSON.parse(text ?? "")).id;
  } catch {
    return undefined; // an answer without an id is fine: the status says that the call is placed
  }
}

/** Longest country code, with its `+` (E.164). */
const countryCodeMax = 4;

/** True for an id that has a number's digits. A row keeps its id, also once it no longer has the number. */
function hasNumber(id: string, phoneNumber: string): boolean {
  return id.replaceAll(/\D/g, "").includes(phoneNumber.slice(countryCodeMax));
}

/** Maximum time by which a receiver's clock may be ahead, as for signatures. */
const aheadMsMax = 300_000;

/** Body of a callback: a call's result. Other fields are ignored. */
export const reportSchema = /* @__PURE__ */ z.lazy(() => {
  const time = z.nullish(
    z.iso.datetime({ offset: true, error: "must be an instant such as 2026-11-21T09:00:00Z" }),
  );
  return z.object(
    {
      status: z.enum(resultStatuses, `must be one of ${resultStatuses.join(", ")}`),
      seconds: z.nullish(
        z
          .number("must be a number")
          .check(
            z.minimum(0, "must not be negative"),
            z.maximum(604_800, "must be at most 604800"),
          ),
      ),
      answered_at: time,
      ended_at: time,
      human: z.nullish(z.boolean("must be true, false or null")),
      /** True if the callee asked not to be called again. */
      opt_out: z.nullish(z.boolean("must be true, false or null")),
      /** Time at which the callee wants to be called back. It never makes a callback wrong (`decideCallBack`). */
      call_back_at: z.optional(z.unknown()),
    },
    "must be an object",
  );
});

/** Result of reading a webhook's callback. Errors quote nothing of the body, as they are sent back. */
export type ToldByWebhook =
  | Extract<CallbackReport, { kind: "reported" }>
  | { kind: "unverified"; error: SignatureProblem }
  | { kind: "malformed"; errors: BodyProblem[] };

/** An error in a callback's body: its JSON Pointer and description. */
interface BodyProblem {
  pointer: string;
  detail: string;
}

/**
 * Verifies a callback by Standard Webhooks, and reads its result. The `webhook-id` must begin with the call's id, so
 * that a body signed for one call cannot be posted to another call's URL.
 *
 * @param key undefined for a loopback host without a secret, which need not sign
 */
export function readWebhookCallback(
  signed: SignedCallback,
  key: KeyObject | undefined,
  callId: string | undefined,
): ToldByWebhook {
  const { body, headers, receivedAt } = signed;
  if (key !== undefined) {
    const isOfCall = callId !== undefined && headers["webhook-id"]?.startsWith(callId) === true;
    const error = isOfCall ? findSignatureProblem(key, signed) : ofAnotherCall;
    if (error !== undefined) return { kind: "unverified", error };
  }
  const json = parsed(body);
  if (json === undefined) return malformed([{ pointer: "", detail: "must be JSON" }]);
  const { data, error } = reportSchema.safeParse(json);
  const wrong = (error?.issues ?? []).map(({ path, message }) => ({
    pointer: path.map((step) => `/${String(step)}`).join(""),
    detail: message,
  }));
  const errors = [...wrong, ...wrongTimes(Object(json), receivedAt)];
  if (data === undefined || errors.length > 0) return malformed(errors);
  const { status, seconds = null, answered_at, ended_at, human = null, opt_out } = data;
  const wished = data.call_back_at ?? undefined;
  const timeIn = (text: string | null | undefined) => (text ? Date.parse(text) : null);
  const times = { answeredAt: timeIn(answered_at), endedAt: timeIn(ended_at) };
  const result = { status, human, word: status, seconds, ...times };
  return {
    kind: "reported",
    result,
    ...(opt_out === true ? { optedOut: true } : {}),
    ...(wished === undefined ? {} : { wished }),
  };
}

const malformed = (errors: BodyProblem[]): ToldByWebhook => ({ kind: "malformed", errors });

const ofAnotherCall: SignatureProblem = {
  header: "webhook-id",
  detail: "must be, or begin with, the id of this address's call",
};

/** Returns the errors of impossible times. The schema refuses values that are no times. */
function wrongTimes(
  { answered_at, ended_at }: { answered_at?: unknown; ended_at?: unknown },
  receivedAt: number,
): BodyProblem[] {
  const [answeredAt, endedAt] = [millisecondsOf(answered_at), millisecondsOf(ended_at)];
  const latest = receivedAt + aheadMsMax;
  return [
    ...(answeredAt > latest ? [{ pointer: "/answered_at", detail: inFuture }] : []),
    ...(endedAt > latest ? [{ pointer: "/ended_at", detail: inFuture }] : []),
    ...(endedAt < answeredAt
      ? [{ pointer: "/ended_at", detail: "must not be before answered_at" }]
      : []),
  ];
}

const inFuture = "must not be in the future";

/** Returns NaN, which is neither before nor after any time, for values that are no times. */
function millisecondsOf(value: unknown): number {
  return typeof value === "string" ? Date.parse(value) : Number.NaN;
}

/** Returns undefined, which JSON cannot have, for a body that is no JSON. */
function parsed(body: string): unknown {
  try {
    return JSON.parse(withoutBom(body));
  } catch {
    return undefined;
  }
}
