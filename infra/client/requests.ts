import { OutboundCallsError } from "./errors.ts";
import type { operations } from "./generated/openapi.ts";
import { sendUntilAnswered, sleep, throwIfAborted } from "./retry.ts";
import type { ClientDeps } from "./types.ts";

/** The service's answer to `GET /v1/requests/ID`. */
export type RequestStatus =
  operations["showRequest"]["responses"][200]["content"]["application/json"];
/** A call of a request, as the service answers it. */
export type RequestedCall = RequestStatus["calls"][number];

/** Waits between two looks at a request, in milliseconds: the first one, and the longest. */
const firstWaitMs = 1_000;
const longestWaitMs = 30_000;

export interface WaitOptions {
  /** Milliseconds to wait. Default: ten minutes. Calls may wait for days, for their calling hours. */
  msMax?: number;
  signal?: AbortSignal;
}

export interface CancelOptions {
  /** Indexes of the calls to cancel, from 0. Default: all of the request. */
  indexes?: number[];
  signal?: AbortSignal;
}

/** Numbers of calls, as the service counts them. */
export interface Cancelled {
  /** Waiting calls that this has cancelled. */
  cancelled: number;
  /** Calls that the cancellation ends in all; null if no request can have the id. */
  ordered: number | null;
}

/** Waits until a request is finished. @throws {OutboundCallsError} */
export async function waitForRequest(
  requestId: string,
  { msMax = 600_000, signal }: WaitOptions,
  { api, ...deps }: ClientDeps,
): Promise<RequestStatus> {
  const end = Date.now() + msMax;
  for (let delayMs = firstWaitMs; ; delayMs = Math.min(longestWaitMs, delayMs * 1.5)) {
    const found = await sendUntilAnswered<RequestStatus>(
      (init) => api.GET("/v1/requests/{id}", { ...init, params: { path: { id: requestId } } }),
      { ...deps, status: 200, bounds: { ...deps.bounds, triesMax: 1 }, signal },
    ).catch(toPending);
    if ("data" in found && found.data?.finished === true) return found.data;
    const askedMs = "retryAfterMs" in found ? found.retryAfterMs : undefined;
    const leftMs = end - Date.now();
    if (leftMs <= 0) {
      const detail = `The request was not finished within ${msMax} ms.`;
      throw new OutboundCallsError({
        type: "timed_out",
        detail,
        isMaybeAccepted: false,
        requestId,
      });
    }
    await sleep(Math.min(leftMs, Math.max(delayMs, askedMs ?? 0)), signal);
    throwIfAborted(signal, false);
  }
}

/** Returns an error after which the request may still be found: no answer, or a 404 that says when to ask again. */
function toPending(error: unknown): OutboundCallsError {
  if (!(error instanceof OutboundCallsError)) throw error;
  const isOnItsWay = error.status === 404 && error.retryAfterMs !== undefined;
  if (error.type !== "unavailable" && !isOnItsWay) throw error;
  return error;
}

/** Yields the calls of a request, page by page. @throws {OutboundCallsError} */
export async function* listCalls(
  requestId: string,
  { signal }: { signal?: AbortSignal },
  { api, ...deps }: ClientDeps,
): AsyncGenerator<RequestedCall> {
  let cursor: string | undefined;
  do {
    const query = { limit: 200, ...(cursor === undefined ? {} : { cursor }) };
    const params = { path: { id: requestId }, query };
    const { data } = await sendUntilAnswered<RequestStatus>(
      (init) => api.GET("/v1/requests/{id}", { ...init, params }),
      { ...deps, status: 200, signal },
    );
    yield* data?.calls ?? [];
    cursor = data?.cursor ?? undefined;
  } while (cursor !== undefined);
}

/** Cancels the waiting calls of a request, a thousand an answer. @throws {OutboundCallsError} */
export async function cancelRequest(
  requestId: string,
  { indexes, signal }: CancelOptions,
  { api, ...deps }: ClientDeps,
): Promise<Cancelled> {
  const sum: Cancelled = { cancelled: 0, ordered: null };
  let cursor: string | undefined;
  do {
    const body = { ...(indexes && { indexes }), ...(cursor === undefined ? {} : { cursor }) };
    const params = { path: { id: requestId } };
    const { data } = await sendUntilAnswered(
      (init) => api.POST("/v1/requests/{id}/cancel", { ...init, params, body }),
      { ...deps, status: 200, signal },
    );
    sum.cancelled += data?.cancelled ?? 0;
    sum.ordered ??= data?.ordered ?? null;
    cursor = data?.cursor;
  } while (cursor !== undefined);
  return sum;
}
