import type { KeyObject } from "node:crypto";
import { type Receiver, receiverKeys } from "#shared/dial-plan/receivers.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import { createSignatureHeaders } from "#shared/lib/standard-webhooks.ts";
import { retryAfterSeconds } from "#shared/providers/provider-http.ts";
import type { Send } from "#shared/lib/http-client.ts";

/** Time limit of one request. */
export const answerSecondsMax = 15;
/** Maximum bytes of an answer's body that are read. */
export const answerBytesMax = 1024;

/** An event as posted. The id is the same for every try. */
export interface PostedEvent {
  id: string;
  /** JSON. */
  body: string;
  /** Sent as the header of this name, if the call has a trace. */
  traceparent?: string | undefined;
}

/** Answer of a receiver. Without an answer, `error` says why. */
export type EventAnswer =
  | { status: number; retryAfterMs?: number | undefined; text: string }
  | { error: string };

/** Posts an event once. Never throws. */
export type PostEvent = (receiver: Receiver, event: PostedEvent) => Promise<EventAnswer>;

/**
 * Creates a function that posts events, signed by Standard Webhooks. During a rotation a receiver has two secrets,
 * separated by a comma, and each message is signed with both.
 *
 * @throws if a secret of the plan's receivers is malformed
 */
export function createPostEvent(
  plan: Pick<DialPlan, "events">,
  {
    environment,
    fetch: send,
    now,
  }: { environment: Record<string, string | undefined>; fetch: Send; now(): number },
): PostEvent {
  const keys = receiverKeys(plan, environment);
  return async ({ name, url }, event) => {
    const limits = { limitMs: answerSecondsMax * 1000, bytesMax: answerBytesMax };
    const to = { url, keys: keys.get(name) ?? [], ...limits };
    return postSigned(event, to, { fetch: send, now });
  };
}

/** Address of a signed request, and the limits of its answer. */
interface SignedTo {
  url: string;
  keys: readonly KeyObject[];
  limitMs: number;
  bytesMax: number;
  /** True if a client chose the URL. */
  isPublicOnly?: boolean;
}

/** Posts a message once, signed with each key. Never throws. */
export async function postSigned(
  { id, body, traceparent }: PostedEvent,
  { url, keys, limitMs, bytesMax, isPublicOnly = false }: SignedTo,
  { fetch: send, now }: { fetch: Send; now(): number },
): Promise<EventAnswer> {
  const headers = {
    "content-type": "application/json",
    "user-agent": "outbound-calls",
    ...(traceparent === undefined ? {} : { traceparent }),
    ...createSignatureHeaders({ id, body }, { keys, now: now() }),
  };
  const signal = AbortSignal.timeout(limitMs);
  try {
    // A redirect would send the message to a URL that nobody has judged.
    const request = { method: "POST", headers, body, redirect: "manual", signal } as const;
    const response = await send(url, isPublicOnly ? { ...request, isPublicOnly } : request);
    const retryAfter = retryAfterSeconds(response.headers, now());
    const retryAfterMs = retryAfter === undefined ? undefined : retryAfter * 1000;
    return { status: response.status, retryAfterMs, text: await readBeginning(response, bytesMax) };
  } catch (error) {
    return { error: reasonOf(error) };
  }
}

/** Returns the beginning of an answer, or less if it breaks off. */
async function readBeginning({ body }: Response, bytesMax: number): Promise<string> {
  if (body === null) return "";
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (let bytes = 0; bytes < bytesMax;) {
      const { done, value } = await reader.read();
      if (done) return text;
      const some = value.subarray(0, bytesMax - bytes);
      bytes += some.byteLength;
      text += decoder.decode(some, { stream: true });
    }
    await reader.cancel();
  } catch {
    // The connection broke after the status.
  }
  return text;
}

/** Returns why there was no answer: Node's code of the cause, such as ECONNREFUSED, or the error's name. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "Error";
  if (error.name === "TimeoutError") return "time_out";
  const { cause } = error;
  return cause instanceof Error && "code" in cause ? String(cause.code) : error.name;
}
