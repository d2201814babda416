import { type ErrorFields, OutboundCallsError } from "./errors.ts";
import { answerMsMax } from "./http.ts";
import type { RequestError, RetryBounds, Send } from "./types.ts";

export const defaultRetry: RetryBounds = {
  triesMax: 8,
  msMax: 120_000,
  tryMsMax: answerMsMax,
  delayMs: 500,
  delayMsMax: 20_000,
};

/** Time in which a request may be repeated under its key, which the service keeps for an hour longer. */
const keyLifeMs = 23 * 60 * 60 * 1000;

/** Settings of one try, for an operation of `openapi-fetch`. */
export interface TryInit {
  signal: AbortSignal;
  fetch: Send;
}

interface TryResult<Data> {
  data?: Data | undefined;
  error?: unknown;
}

export interface Answer<Data> {
  data: Data | undefined;
  response: Response;
}

interface SendOptions {
  /** The status of success; 201 is that of requests that place calls. */
  status: number;
  fetch: Send;
  bounds: RetryBounds;
  signal?: AbortSignal | undefined;
}

/**
 * Sends a request until it succeeds, is refused, or its bounds are reached. It repeats what had no answer, 5XX, and the 429
 * of a gateway; never another 4XX. So `send` must be safe to repeat: an `Idempotency-Key`, or a request that changes
 * nothing more when it comes again.
 *
 * @param send makes one try with the given settings
 * @throws {OutboundCallsError}
 */
export async function sendUntilAnswered<Data>(
  send: (init: TryInit) => Promise<TryResult<Data>>,
  { status, fetch, bounds, signal }: SendOptions,
): Promise<Answer<Data>> {
  const end = Date.now() + Math.min(bounds.msMax, keyLifeMs);
  // Once a try has an unknown outcome, a later refusal says nothing of it: the token may have expired in between.
  let isMaybeAccepted = false;
  for (let tries = 1; ; tries++) {
    throwIfAborted(signal, isMaybeAccepted);
    // The client's fetch ends each try after its time.
    const ended = signal ?? new AbortController().signal;
    const { isSent, data, error, response } = await tryOnce(send, { signal: ended, fetch });
    if (!isSent) throw unsent(error, isMaybeAccepted);
    // A 201 has no body, so that one whose end was cut off is whole. Any other answer that was cut off is none.
    const isCut = response?.ok === true && error !== undefined && status !== 201;
    if (response?.status === status && !isCut) return { data, response };
    isMaybeAccepted ||= status === 201 && !isRefusal(response?.status);
    throwIfAborted(signal, isMaybeAccepted);
    const answer = isCut ? undefined : response;
    const fields = describeFailure({ error, response: answer, isMaybeAccepted });
    const delayMs = Math.max(delayAfter(tries, bounds), fields.retryAfterMs ?? 0);
    const isOver = tries >= bounds.triesMax || Date.now() + delayMs > end;
    if (fields.type !== "unavailable" || isOver) throw new OutboundCallsError(fields);
    await sleep(delayMs, signal);
    // The machine may have slept longer, and the key may have ended.
    if (Date.now() > end) throw new OutboundCallsError(fields);
  }
}

/** Makes one try. What it throws becomes its `error`, beside the answer, if one had begun to come. */
async function tryOnce<Data>(
  send: (init: TryInit) => Promise<TryResult<Data>>,
  { signal, fetch }: TryInit,
) {
  const seen: { isSent: boolean; response?: Response } = { isSent: false };
  const watched: Send = async (request) => {
    seen.isSent = true;
    seen.response = await fetch(request);
    return seen.response;
  };
  const result: TryResult<Data> = await send({ signal, fetch: watched }).catch(
    (error: unknown) => ({
      error: error ?? new Error("It failed without an error."),
    }),
  );
  return { ...seen, ...result };
}

/** True for an answer that says that the request was not accepted. A 408 says nothing of what came of it. */
function isRefusal(status = 0): boolean {
  return status >= 400 && status < 500 && status !== 408;
}

/** Half of the wait is random, so that clients that failed together do not come back together. */
function delayAfter(tries: number, { delayMs, delayMsMax }: RetryBounds): number {
  return Math.min(delayMsMax, delayMs * 2 ** (tries - 1)) * (0.5 + Math.random() / 2);
}

/** A timer of more milliseconds would fire at once. */
const timerMsMax = 2 ** 31 - 1;

/** Waits. Ends at once, without an error, when the signal aborts. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await new Promise<void>((wake) => {
    const stop = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
      wake();
    };
    const timer = setTimeout(stop, Math.min(ms, timerMsMax));
    signal?.addEventListener("abort", stop);
    if (signal?.aborted === true) stop();
  });
}

/** @throws {OutboundCallsError} if the caller has ended the work */
export function throwIfAborted(signal: AbortSignal | undefined, isMaybeAccepted: boolean): void {
  if (signal?.aborted !== true) return;
  const detail = "The caller has ended it.";
  throw new OutboundCallsError({ type: "aborted", detail, isMaybeAccepted, cause: signal.reason });
}

function unsent(cause: unknown, isMaybeAccepted: boolean): OutboundCallsError {
  const detail = "The request cannot be sent: its address, a header or its signal is invalid.";
  return new OutboundCallsError({ type: "refused", detail, isMaybeAccepted, cause });
}

interface Failure {
  error: unknown;
  response: Response | undefined;
  isMaybeAccepted: boolean;
}

function describeFailure({ error, response, isMaybeAccepted }: Failure): ErrorFields {
  if (response === undefined) {
    const detail = "No answer came.";
    return { type: "unavailable", detail, isMaybeAccepted, cause: error };
  }
  const { status, headers } = response;
  const problem = readProblem(error);
  const isRepeatable = status === 429 || status >= 500;
  const unexpected = isRefusal(status) ? "refused" : "unexpected";
  return {
    type: isRepeatable ? "unavailable" : unexpected,
    status,
    detail: problem.detail ?? "The answer has no detail.",
    errors: problem.errors,
    requestId: headers.get("x-request-id") ?? undefined,
    retryAfterMs: readRetryAfter(headers.get("retry-after")),
    isMaybeAccepted,
  };
}

function readProblem(error: unknown): { detail?: string; errors?: RequestError[] } {
  const { detail, errors }: { detail?: unknown; errors?: unknown } = Object(error);
  return {
    ...(typeof detail === "string" ? { detail } : {}),
    ...(Array.isArray(errors) ? { errors: errors.map(readError) } : {}),
  };
}

function readError(error: unknown): RequestError {
  const fields = Object.entries(Object(error)).map(([name, value]) => [name, String(value)]);
  return { detail: "", ...Object.fromEntries(fields) };
}

/** Reads `Retry-After`, which is seconds or a date, in milliseconds. */
function readRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined;
  const seconds = /^\d+$/.test(value.trim()) ? Number(value) : undefined;
  const ms = seconds === undefined ? Date.parse(value) - Date.now() : seconds * 1000;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
