import createApi from "openapi-fetch";
import { createAccount } from "./account.ts";
import { checkClientOptions } from "./check-options.ts";
import type { paths } from "./generated/openapi.ts";
import { limitedInit } from "./http.ts";
import { createKeyMemory } from "./key-memory.ts";
import { placeCall, placeCalls, type PlacedCalls, type PlaceOptions } from "./place-calls.ts";
import {
  type CallStatus,
  cancelCall,
  cancelRequest,
  type Cancelled,
  type CancelOptions,
  type FilterOptions,
  findRequest,
  getCall,
  getRequest,
  listCalls,
  type ListedRequest,
  type ListOptions,
  listRequests,
  type RequestedCall,
  type RequestStatus,
  waitForRequest,
  type WaitOptions,
} from "./requests.ts";
import { defaultRetry, timerMsMax } from "./retry.ts";
import type {
  Api,
  Call,
  CallOptions,
  ClientDeps,
  PlacedRequest,
  RetryOptions,
  Send,
} from "./types.ts";

export interface ClientOptions {
  /** Address of the service, with the stage on AWS, such as `https://calls.example.com`. Plain http is for this machine alone. */
  baseUrl: string;
  /** A client's token. Keep it out of browsers: whoever has it places calls. */
  token: string;
  /**
   * Replaces the global `fetch`. It gets a `Request`. Of its errors none says that nothing was sent, as it may have tried
   * twice: a refused connection then counts as one of which the outcome is unknown.
   */
  fetch?: Send;
  /** Bounds of the tries. */
  retry?: RetryOptions;
}

/**
 * A client of Outbound Calls. Its methods repeat what had no answer, end within their time (`msMax`) or when their `signal`
 * aborts, and throw an `OutboundCallsError` in the end. A wrong option is a TypeError or RangeError that names it, and then
 * nothing was sent.
 *
 * @example
 * const calls = createClient({ baseUrl: "http://127.0.0.1:8787", token });
 * const { requestId } = await calls.placeCall({ phone_number: "+12025550123", agent_id: "agent_sales" });
 */
export interface OutboundCallsClient extends ReturnType<typeof createAccount> {
  /**
   * Places one call. Every try has the same `Idempotency-Key`, which is made before the first one, so that no try calls
   * anybody twice.
   *
   * @throws {OutboundCallsError} its `isMaybeAccepted` and `idempotencyKey` say how to continue
   */
  placeCall(call: Call, options?: PlaceOptions): Promise<PlacedRequest>;
  /**
   * Places any number of calls, in parts of at most 10,000 and 4 MiB, one after another. A part is accepted whole or not
   * at all. A repeat of the same list under the same key repeats the same parts and calls nobody twice.
   *
   * @throws {OutboundCallsError} at the first part that fails; `accepted` are the parts before it
   */
  placeCalls(calls: readonly Call[], options?: PlaceOptions): Promise<PlacedCalls>;
  /** Reads the status of a request, with its first calls. */
  getRequest(requestId: string, options?: CallOptions): Promise<RequestStatus>;
  /** Reads one call with its history. */
  getCall(callId: string, options?: CallOptions): Promise<CallStatus>;
  /**
   * Finds the request of an `Idempotency-Key` of the last 24 hours; of a list the request of its first part. Undefined:
   * nothing was accepted under it in that time. If it is undefined, or `known` is false, repeat under the same key within 24
   * hours of the first try: a request that is not known yet may never come, and a list may have been accepted in part.
   * Later a repeat would call everybody again: read the list of requests.
   */
  findRequest(idempotencyKey: string, options?: CallOptions): Promise<ListedRequest | undefined>;
  /**
   * Waits until a request is finished: all its calls have ended, or wait for an operator. Asks after a second, then less
   * often, or when the service's `Retry-After` says. Passes over a service that does not answer for `retry.msMax`.
   *
   * @throws {OutboundCallsError} of the type `timed_out` after `msMax`, its `cause` the last error; `refused` if there is no
   * such request; `unavailable` or `not_sent` if no look was answered for `retry.msMax`
   */
  waitForRequest(requestId: string, options?: WaitOptions): Promise<RequestStatus>;
  /** Yields the calls of a request in order, as far as the dialer has read them; with a filter, those that fit it. */
  listCalls(requestId: string, options?: FilterOptions): AsyncGenerator<RequestedCall>;
  /** Yields the client's requests, newest first. */
  listRequests(options?: ListOptions): AsyncGenerator<ListedRequest>;
  /** Cancels one waiting call, such as a promised call-back. It may be repeated. @throws {OutboundCallsError} */
  cancelCall(callId: string, options?: CallOptions): ReturnType<typeof cancelCall>;
  /** Cancels the waiting calls of a request, or some of them. It may be repeated. @throws {OutboundCallsError} */
  cancelRequest(requestId: string, options?: CancelOptions): Promise<Cancelled>;
  /**
   * All operations of the service by method and path, typed from its OpenAPI document. Each sends one request of at most
   * `tryMsMax`, and repeats nothing. To place calls use `placeCall`, or send an `Idempotency-Key` of your own.
   *
   * @example
   * const { data, error } = await calls.api.GET("/v1/requests/{id}", { params: { path: { id } } });
   */
  api: Api;
}

/** Creates a client. It holds no connection and needs no end. @throws {RangeError} if the address is not https */
export function createClient(options: ClientOptions): OutboundCallsClient {
  const baseUrl = checkClientOptions(options);
  const { token, retry } = options;
  const given = { ...defaultRetry, ...retry };
  const bounds = { ...given, tryMsMax: Math.min(given.tryMsMax, timerMsMax) };
  // A wrapper, as a browser's own fetch may not be called as the method of an object.
  const sendIt = options.fetch ?? ((request: Request) => fetch(request));
  const send: Send = (request) =>
    sendIt(new Request(request, limitedInit(request.signal, bounds.tryMsMax)));
  const api: Api = createApi<paths>({
    baseUrl,
    headers: { Authorization: `Bearer ${token}` },
    fetch: send,
  });
  const isOwnFetch = options.fetch === undefined;
  const deps: ClientDeps = { api, fetch: send, bounds, keys: createKeyMemory(), isOwnFetch };
  return {
    api,
    placeCall: (call, more = {}) => placeCall(call, more, deps),
    placeCalls: (calls, more = {}) => placeCalls(calls, more, deps),
    getRequest: (requestId, more = {}) => getRequest(requestId, more, deps),
    getCall: (callId, more = {}) => getCall(callId, more, deps),
    findRequest: (key, more = {}) => findRequest(key, more, deps),
    waitForRequest: (requestId, more = {}) => waitForRequest(requestId, more, deps),
    listCalls: (requestId, more = {}) => listCalls(requestId, more, deps),
    listRequests: (more = {}) => listRequests(more, deps),
    cancelCall: (callId, more = {}) => cancelCall(callId, more, deps),
    cancelRequest: (requestId, more = {}) => cancelRequest(requestId, more, deps),
    ...createAccount(deps),
  };
}
