import { type ErrorFields, OutboundCallsError } from "./errors.ts";
import { answerMsMax } from "./http.ts";
import type { KeyTracker, TryOutcome } from "./key-memory.ts";
import { findNotSent, type NotSent } from "./not-sent.ts";
import { isKeyRefusal, readProblem, readRetryAfter } from "./read-answer.ts";
import type { ClientDeps, RetryBounds, Send } from "./types.ts";

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

/** Outcome of one try. */
interface Tried<Data> extends TryResult<Data> {
  response?: Response | undefined;
  /** Why nothing was sent. Undefined: something may have been. */
  notSent?: NotSent | undefined;
}

export interface Answer<Data> {
  data: Data | undefined;
  response: Response;
}

export interface SendOptions {
  signal?: AbortSignal | undefined;
  msMax?: number | undefined;
  /** Statuses of success. Default: 200. A 201 is that of requests that place calls. */
  statuses?: readonly number[];
  /** True if it must not arrive twice: it is repeated only while nothing was sent. */
  isOnce?: boolean;
  /** Notes what may have been accepted, of a request that places calls. */
  tracker?: KeyTracker | undefined;
}

/**
 * Sends a request until it succeeds, is refused, or its bounds are reached. It repeats what had no answer or was not sent,
 * 5XX, and the 429 of a gateway; never another 4XX. So `send` must be safe to repeat: an `Idempotency-Key`, or a request
 * that changes nothing more when it is repeated. It ends within its time, whatever a try waits for.
 *
 * @param send makes one try with the given settings
 * @throws {OutboundCallsError}
 */
export async function sendUntilAnswered<Data>(
  send: (init: TryInit) => Promise<TryResult<Data>>,
  { statuses = [200], isOnce = false, tracker, signal, msMax }: SendOptions,
  deps: Pick<ClientDeps, "fetch" | "bounds" | "isOwnFetch">,
): Promise<Answer<Data>> {
  const { bounds } = deps;
  const startedAt = Date.now();
  const end = startedAt + Math.min(msMax ?? bounds.msMax, keyLifeMs);
  let isSent = false;
  for (let tries = 1; ; tries++) {
    throwIfAborted(signal, tracker);
    if (Date.now() >= end) throw unbegun(tracker); // only before the first try
    const note = tracker?.begin();
    const tried = await tryOnce(send, { signal, leftMs: end - Date.now() }, deps);
    // A 201 has no body, so that one whose end was cut off is whole. Any other answer that was cut off is none.
    const { response, data, error } = tried;
    const isCut = response?.ok === true && error !== undefined && !statuses.includes(201);
    const isDone = response !== undefined && statuses.includes(response.status) && !isCut;
    note?.(isDone ? "maybe_accepted" : outcomeOf(tried));
    if (isDone) return { data, response };
    isSent ||= tried.notSent === undefined;
    throwIfAborted(signal, tracker);
    const fields = describeFailure(
      { ...tried, response: isCut ? undefined : response },
      { tries, ms: Date.now() - startedAt, isSent: tracker?.isSent() ?? isSent, tracker },
    );
    const delayMs = Math.max(delayAfter(tries, bounds), fields.retryAfterMs ?? 0);
    const isLast = tries >= bounds.triesMax || (isOnce && tried.notSent === undefined);
    const isOver = isLast || Date.now() + delayMs >= end;
    if (isOver || !isRepeatable(fields, tried)) throw new OutboundCallsError(fields);
    await sleep(delayMs, signal);
    // The machine may have slept longer, and the key may have ended.
    if (Date.now() > end) throw new OutboundCallsError(fields);
  }
}

/** Sends what may be repeated, and returns its JSON. @throws {OutboundCallsError} */
export async function ask<Data>(
  send: (init: TryInit) => Promise<TryResult<Data>>,
  options: SendOptions,
  deps: Pick<ClientDeps, "fetch" | "bounds" | "isOwnFetch">,
): Promise<Data> {
  const { data, response } = await sendUntilAnswered(send, options, deps);
  if (typeof data === "object" && data !== null) return data;
  const detail = "The answer is not the service's JSON.";
  const { status } = response;
  throw new OutboundCallsError({ type: "unexpected", detail, status, isMaybeAccepted: false });
}

function isRepeatable({ type }: ErrorFields, { notSent }: Tried<unknown>): boolean {
  return (type === "unavailable" || type === "not_sent") && notSent?.isRepeatable !== false;
}

interface TryLimits {
  signal: AbortSignal | undefined;
  /** Milliseconds that are left of the request's time. */
  leftMs: number;
}

/** Makes one try. What it throws becomes its `error`, beside the answer, if one had begun to come. */
async function tryOnce<Data>(
  send: (init: TryInit) => Promise<TryResult<Data>>,
  { signal, leftMs }: TryLimits,
  { fetch, bounds, isOwnFetch }: Pick<ClientDeps, "fetch" | "bounds" | "isOwnFetch">,
): Promise<Tried<Data>> {
  const msMax = Math.max(0, Math.min(bounds.tryMsMax, leftMs, timerMsMax));
  const limit = AbortSignal.timeout(msMax);
  const ended = signal === undefined ? limit : AbortSignal.any([signal, limit]);
  let isSent = false;
  let response: Response | undefined;
  const watched: Send = async (request) => {
    isSent = true;
    response = await fetch(request);
    return response;
  };
  try {
    const result = await untilAborted(send({ signal: ended, fetch: watched }), ended);
    return { response, data: result.data, error: result.error };
  } catch (thrown) {
    const error = thrown ?? new Error("It failed without an error.");
    if (!isSent) return { error, notSent: { words: "it is malformed", isRepeatable: false } };
    const notSent = isOwnFetch && response === undefined ? findNotSent(error) : undefined;
    return { response, error, notSent };
  }
}

/** Settles as `work` does, or rejects once the signal aborts: a `fetch` that takes no signal must not outlast it. */
async function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- the signal's reason, as fetch does
    stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
    work.catch(() => undefined); // it may fail later, when nobody waits for it
    aborted.catch(() => undefined);
  }
}

/** The outcome of a try of a request that places calls. In doubt it may have been accepted. */
function outcomeOf({ response, error, notSent }: Tried<unknown>): TryOutcome {
  if (notSent !== undefined) return "not_sent";
  if (response === undefined || !isRefusal(response.status)) return "maybe_accepted";
  // Another request was accepted under the key: one with another body, or of an earlier process.
  return isKeyRefusal(response, error) ? "maybe_accepted" : "refused";
}

/** True for an answer that says that the request was not accepted. A 408 says nothing of what came of it. */
function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408;
}

/** Half of the wait is random, so that clients that failed together do not come back together. */
function delayAfter(tries: number, { delayMs, delayMsMax }: RetryBounds): number {
  return Math.min(delayMsMax, delayMs * 2 ** (tries - 1)) * (0.5 + Math.random() / 2);
}

/** A timer of more milliseconds would fire at once. */
export const timerMsMax = 2 ** 31 - 1;

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
export function throwIfAborted(signal: AbortSignal | undefined, tracker?: KeyTracker): void {
  if (signal?.aborted !== true) return;
  const detail = "The caller has ended it.";
  const isMaybeAccepted = tracker?.isMaybeAccepted() ?? false;
  throw new OutboundCallsError({ type: "aborted", detail, isMaybeAccepted, cause: signal.reason });
}

function unbegun(tracker: KeyTracker | undefined): OutboundCallsError {
  return new OutboundCallsError({
    type: tracker?.isSent() === true ? "unavailable" : "not_sent",
    detail: "The time was over before anything was sent.",
    isMaybeAccepted: tracker?.isMaybeAccepted() ?? false,
  });
}

interface Failed {
  tries: number;
  /** Milliseconds since the first try began. */
  ms: number;
  /** True if a byte has left: of this request, or of another one under its key. */
  isSent: boolean;
  tracker: KeyTracker | undefined;
}

function describeFailure(
  { error, response, notSent }: Tried<unknown>,
  { tries, ms, isSent, tracker }: Failed,
): ErrorFields {
  const isMaybeAccepted = tracker?.isMaybeAccepted() ?? false;
  if (response === undefined) {
    const times = `${tries} ${tries === 1 ? "try" : "tries"} within ${Math.ceil(ms)} ms`;
    const words = notSent?.words ?? wordsOf(error);
    return {
      type: isSent ? "unavailable" : "not_sent",
      detail: `${isSent ? "No answer came" : "Nothing could be sent"} (${times}): ${words}`,
      isMaybeAccepted,
      cause: error,
    };
  }
  const { status, headers } = response;
  const problem = readProblem(response, error);
  const isLater = status === 429 || status >= 500;
  const unexpected = isRefusal(status) ? "refused" : "unexpected";
  return {
    type: isLater ? "unavailable" : unexpected,
    status,
    detail: problem.detail ?? "The answer has no detail.",
    errors: problem.errors,
    requestId: headers.get("x-request-id") ?? undefined,
    retryAfterMs: readRetryAfter(headers.get("retry-after")),
    isMaybeAccepted,
  };
}

/** Why no answer came: of a network's error its code, of another one its name. Other words may hold what was sent. */
function wordsOf(error: unknown): string {
  const { name, cause, code }: Record<string, unknown> = Object(error);
  const inner: Record<string, unknown> = Object(cause);
  if (name === "TimeoutError") return "the time is over";
  for (const one of [inner["code"], code, name]) if (typeof one === "string") return one;
  return "no reason is known";
}
