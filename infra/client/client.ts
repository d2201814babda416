import createApi from "openapi-fetch";
import type { paths } from "./generated/openapi.ts";
import { limitedInit, requireAddress } from "./http.ts";
import { placeCall, placeCalls, type PlacedCalls, type PlaceOptions } from "./place-calls.ts";
import {
  cancelRequest,
  type Cancelled,
  type CancelOptions,
  listCalls,
  type RequestedCall,
  type RequestStatus,
  waitForRequest,
  type WaitOptions,
} from "./requests.ts";
import { defaultRetry } from "./retry.ts";
import type { Api, Call, PlacedRequest, RetryOptions, Send } from "./types.ts";

export interface ClientOptions {
  /** Address of the service, with the stage on AWS, such as `https://calls.example.com`. Plain http is for this machine alone. */
  baseUrl: string;
  /** A client's token. Keep it out of browsers: whoever has it places calls. */
  token: string;
  /** Replaces the global `fetch`. It gets a `Request`. */
  fetch?: Send;
  /** Bounds of the tries. */
  retry?: RetryOptions;
}

/**
 * A client of Outbound Calls. Its methods repeat what had no answer, and throw an `OutboundCallsError` in the end.
 *
 * @example
 * const calls = createClient({ baseUrl: "http://127.0.0.1:8787", token });
 * const { requestId } = await calls.placeCall({ phone_number: "+12025550123", agent_id: "agent_sales" });
 */
export interface OutboundCallsClient {
  /**
   * Places one call. Every try has the same `Idempotency-Key`, which is made before the first one, so that no try calls
   * anybody twice.
   *
   * @throws {OutboundCallsError} its `isMaybeAccepted` and `idempotencyKey` say how to go on
   * @throws {RangeError} if the key is malformed; nothing was sent
   */
  placeCall(call: Call, options?: PlaceOptions): Promise<PlacedRequest>;
  /**
   * Places any number of calls, in parts of at most 10,000 and 4 MiB, one after another. A part is accepted whole or not
   * at all. A repeat of the same list under the same key repeats the same parts and calls nobody twice.
   *
   * @throws {OutboundCallsError} at the first part that fails; `accepted` are the parts before it
   * @throws {RangeError} if the key is malformed; nothing was sent
   */
  placeCalls(calls: readonly Call[], options?: PlaceOptions): Promise<PlacedCalls>;
  /**
   * Waits until a request is finished: all its calls have ended, or wait for an operator. Asks after a second, then less
   * often, or when the service's `Retry-After` says.
   *
   * @throws {OutboundCallsError} of the type `timed_out` after `msMax`; `refused` if there is no such request
   */
  waitForRequest(requestId: string, options?: WaitOptions): Promise<RequestStatus>;
  /** Yields the calls of a request in order, as far as the dialer has read them. @throws {OutboundCallsError} */
  listCalls(requestId: string, options?: { signal?: AbortSignal }): AsyncGenerator<RequestedCall>;
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
  const { token, retry } = options;
  const baseUrl = requireAddress(options.baseUrl);
  const bounds = { ...defaultRetry, ...retry };
  // A wrapper, as a browser's own fetch may not be called as the method of an object.
  const sendIt = options.fetch ?? ((request: Request) => fetch(request));
  const send: Send = (request) =>
    sendIt(new Request(request, limitedInit(request.signal, bounds.tryMsMax)));
  const api: Api = createApi<paths>({
    baseUrl,
    headers: { Authorization: `Bearer ${token}` },
    fetch: send,
  });
  const deps = { api, fetch: send, bounds };
  return {
    api,
    placeCall: (call, more = {}) => placeCall(call, more, deps),
    placeCalls: (calls, more = {}) => placeCalls(calls, more, deps),
    waitForRequest: (requestId, more = {}) => waitForRequest(requestId, more, deps),
    listCalls: (requestId, more = {}) => listCalls(requestId, more, deps),
    cancelRequest: (requestId, more = {}) => cancelRequest(requestId, more, deps),
  };
}
