import {
  cancelChecks,
  callChecks,
  checkOptions,
  filterChecks,
  listChecks,
  requireCallId,
  requireRequestId,
} from "./check-options.ts";
import { OutboundCallsError } from "./errors.ts";
import type { operations } from "./generated/openapi.ts";
import { pages } from "./pages.ts";
import { partKeyOf } from "./split-calls.ts";
import { ask, sendUntilAnswered, sleep, throwIfAborted } from "./retry.ts";
import type { AnswerOf, CallOptions, ClientDeps } from "./types.ts";

/** The service's answer to `GET /v1/requests/ID`. */
export type RequestStatus = AnswerOf<"showRequest">;
/** A call of a request, as the service answers it. */
export type RequestedCall = RequestStatus["calls"][number];
/** A request of `listRequests`. */
export type ListedRequest = AnswerOf<"listRequests">["requests"][number];
/** One call, with its history. */
export type CallStatus = AnswerOf<"showCall">;

/** Waits between two looks at a request, in milliseconds: the first one, and the longest. */
const firstWaitMs = 1_000;
const longestWaitMs = 30_000;
/** Characters of the longest key of a list. */
const keyLengthMax = 240;
/** A look within less time would only say that there was none. */
const shortestLookMs = 20;

export interface WaitOptions extends CallOptions {
  /** Milliseconds to wait. Default: ten minutes. Calls may wait for days, for their calling hours. */
  msMax?: number;
}

export interface CancelOptions extends CallOptions {
  /** Indexes of the calls to cancel, from 0. Default: all of the request. */
  indexes?: number[];
}

type ListQuery = NonNullable<operations["listRequests"]["parameters"]["query"]>;
type CallsQuery = NonNullable<operations["listRequestCalls"]["parameters"]["query"]>;

export interface ListOptions extends CallOptions {
  /** Requests accepted from this day or instant on, such as `2026-11-21` or `2026-11-21T09:00:00Z`. */
  from?: string;
  /** Requests accepted before this instant, or until the end of this day in UTC. */
  to?: string;
  /** Requests of this campaign. */
  campaign?: string;
}

export interface FilterOptions extends CallOptions {
  /** Calls in this state. */
  state?: NonNullable<CallsQuery["state"]>;
  /** Calls with this result. */
  result?: NonNullable<CallsQuery["result"]>;
}

/** Numbers of calls, as the service counts them. */
export interface Cancelled {
  /** Waiting calls that this has cancelled. */
  cancelled: number;
  /** Calls that the cancellation ends in all; null if no request can have the id. */
  ordered: number | null;
}

/** Reads the status of a request, with its first calls. @throws {OutboundCallsError} */
export async function getRequest(
  requestId: string,
  options: CallOptions,
  { api, ...deps }: ClientDeps,
): Promise<RequestStatus> {
  checkOptions("getRequest", options, callChecks);
  const params = { path: { id: requireRequestId(requestId) } };
  return ask<RequestStatus>(
    (init) => api.GET("/v1/requests/{id}", { ...init, params }),
    options,
    deps,
  );
}

/** Reads one call with its history. @throws {OutboundCallsError} */
export async function getCall(
  callId: string,
  options: CallOptions,
  { api, ...deps }: ClientDeps,
): Promise<CallStatus> {
  checkOptions("getCall", options, callChecks);
  const params = { path: { id: requireCallId(callId) } };
  return ask<CallStatus>((init) => api.GET("/v1/calls/{id}", { ...init, params }), options, deps);
}

/** Waits until a request is finished. @throws {OutboundCallsError} */
export async function waitForRequest(
  requestId: string,
  { msMax = 600_000, signal, ...others }: WaitOptions,
  { api, ...deps }: ClientDeps,
): Promise<RequestStatus> {
  checkOptions("waitForRequest", { msMax, signal, ...others }, callChecks);
  const params = { path: { id: requireRequestId(requestId) } };
  const [startedAt, bounds] = [Date.now(), { ...deps.bounds, triesMax: 1 }];
  const end = startedAt + msMax;
  let failing: { since: number; error: OutboundCallsError } | undefined;
  let last: OutboundCallsError | undefined;
  for (let delayMs = firstWaitMs; ; delayMs = Math.min(longestWaitMs, delayMs * 1.5)) {
    const lookedAt = Date.now();
    const found = await sendUntilAnswered<RequestStatus>(
      (init) => api.GET("/v1/requests/{id}", { ...init, params }),
      { signal, msMax: end - lookedAt },
      { ...deps, bounds },
    ).catch(toPending);
    if ("data" in found && found.data?.finished === true) return found.data;
    if (found instanceof OutboundCallsError) {
      last = found;
      failing =
        found.status === 404 ? undefined : { since: failing?.since ?? lookedAt, error: found };
    } else [failing, last] = [undefined, undefined];
    const leftMs = end - Date.now();
    if (leftMs <= shortestLookMs) throw timedOut({ requestId, msMax, last });
    // A service that answers nothing for as long as any request is repeated is not waited for.
    if (failing !== undefined && Date.now() - failing.since >= bounds.msMax) throw failing.error;
    const askedMs = found instanceof OutboundCallsError ? (found.retryAfterMs ?? 0) : 0;
    await sleep(Math.min(leftMs, Math.max(delayMs, askedMs)), signal);
    throwIfAborted(signal);
    if (end - Date.now() <= shortestLookMs) throw timedOut({ requestId, msMax, last });
  }
}

interface TimedOut {
  requestId: string;
  msMax: number;
  last: OutboundCallsError | undefined;
}

function timedOut({ requestId, msMax, last }: TimedOut): OutboundCallsError {
  const said = last === undefined ? "" : ` The last look: ${last.message}`;
  const detail = `The request was not finished within ${msMax} ms.${said}`;
  const fields = { type: "timed_out" as const, detail, isMaybeAccepted: false, requestId };
  return new OutboundCallsError({ ...fields, status: last?.status, cause: last });
}

/** Returns an error after which the request may still be found: no answer, or a 404 that says when to ask again. */
function toPending(error: unknown): OutboundCallsError {
  if (!(error instanceof OutboundCallsError)) throw error;
  const isOnItsWay = error.status === 404 && error.retryAfterMs !== undefined;
  const isPassing = error.type === "unavailable" || error.type === "not_sent";
  if (!isPassing && !isOnItsWay) throw error;
  return error;
}

/** Yields the calls of a request, page by page, or those in a state or with a result. @throws {OutboundCallsError} */
export function listCalls(
  requestId: string,
  { signal, msMax, ...filter }: FilterOptions,
  { api, ...deps }: ClientDeps,
): AsyncGenerator<RequestedCall> {
  checkOptions("listCalls", { signal, msMax, ...filter }, filterChecks);
  const path = { id: requireRequestId(requestId) };
  // The request's own page counts its calls on the first page, which the filtered one does not.
  const isFiltered = filter.state !== undefined || filter.result !== undefined;
  return pages(async (page) => {
    const params = { path, query: { ...filter, ...page } };
    const { calls, cursor } = await ask<{ calls: RequestedCall[]; cursor?: string }>(
      (init) =>
        isFiltered
          ? api.GET("/v1/requests/{id}/calls", { ...init, params })
          : api.GET("/v1/requests/{id}", { ...init, params }),
      { signal, msMax },
      deps,
    );
    return [calls, cursor];
  });
}

/** Yields the client's requests, newest first. @throws {OutboundCallsError} */
export function listRequests(
  { signal, msMax, ...filter }: ListOptions,
  { api, ...deps }: ClientDeps,
): AsyncGenerator<ListedRequest> {
  checkOptions("listRequests", { signal, msMax, ...filter }, listChecks);
  return pages(async (page) => {
    const query: ListQuery = { ...filter, ...page };
    const { requests, cursor } = await ask<AnswerOf<"listRequests">>(
      (init) => api.GET("/v1/requests", { ...init, params: { query } }),
      { signal, msMax },
      deps,
    );
    return [requests, cursor];
  });
}

/** Finds the request of a key of the last 24 hours, or the first part of a list's. @throws {OutboundCallsError} */
export async function findRequest(
  idempotencyKey: string,
  options: CallOptions,
  { api, ...deps }: ClientDeps,
): Promise<ListedRequest | undefined> {
  checkOptions("findRequest", options, callChecks);
  const { signal, msMax = deps.bounds.msMax } = options;
  const end = Date.now() + msMax;
  const partKey = partKeyOf(idempotencyKey, 0);
  const keys = idempotencyKey.length > keyLengthMax ? [idempotencyKey] : [idempotencyKey, partKey];
  for (const idempotency_key of keys) {
    const params = { query: { idempotency_key } };
    const { requests } = await ask<AnswerOf<"listRequests">>(
      (init) => api.GET("/v1/requests", { ...init, params }),
      { signal, msMax: Math.max(0, end - Date.now()) },
      deps,
    );
    if (requests[0] !== undefined) return requests[0];
  }
  return undefined;
}

/** Cancels the waiting calls of a request, a thousand an answer. @throws {OutboundCallsError} */
export async function cancelRequest(
  requestId: string,
  { indexes, signal, msMax, ...others }: CancelOptions,
  { api, ...deps }: ClientDeps,
): Promise<Cancelled> {
  checkOptions("cancelRequest", { indexes, signal, msMax, ...others }, cancelChecks);
  const params = { path: { id: requireRequestId(requestId) } };
  const sum: Cancelled = { cancelled: 0, ordered: null };
  let cursor: string | undefined;
  do {
    const body = { ...(indexes && { indexes }), ...(cursor === undefined ? {} : { cursor }) };
    const found = await ask<AnswerOf<"cancelRequest">>(
      (init) => api.POST("/v1/requests/{id}/cancel", { ...init, params, body }),
      { signal, msMax },
      deps,
    );
    sum.cancelled += found.cancelled;
    sum.ordered ??= found.ordered ?? null;
    cursor = found.cursor;
  } while (cursor !== undefined);
  return sum;
}

/** Cancels one waiting call, such as a promised call-back. @throws {OutboundCallsError} */
export async function cancelCall(
  callId: string,
  options: CallOptions,
  { api, ...deps }: ClientDeps,
): Promise<AnswerOf<"cancelCall">> {
  checkOptions("cancelCall", options, callChecks);
  const params = { path: { id: requireCallId(callId) } };
  return ask<AnswerOf<"cancelCall">>(
    (init) => api.POST("/v1/calls/{id}/cancel", { ...init, params, body: {} }),
    options,
    deps,
  );
}
