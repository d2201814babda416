import type { Client } from "openapi-fetch";
import type { components, paths } from "./generated/openapi.ts";

/** The operations of the service's OpenAPI document. */
export type Api = Client<paths>;

/** A call as `POST /v1/calls` takes it. */
export type Call = components["schemas"]["Call"];

/** An accepted request: each of its calls is dialed once, at a permitted hour, or you are told why not. */
export interface PlacedRequest {
  requestId: string;
  /** Ids of its calls, in the order in which they were passed. */
  callIds: string[];
  /** True if an earlier request, or an earlier try of this one, had been accepted under the key. */
  replayed: boolean;
  /** The key of this request: after `placeCalls`, the one of the part. */
  idempotencyKey: string;
}

/** One error of a refused request: `pointer` is a JSON Pointer into the calls as they were passed. */
export type RequestError = NonNullable<components["schemas"]["Problem"]["errors"]>[number];

/** Sends a Request. */
export type Send = (request: Request) => Promise<Response>;

/** Bounds of the tries of one request. All times are in milliseconds. */
export interface RetryOptions {
  /** Tries in all. Default: 8. */
  triesMax?: number;
  /** Time of all tries and waits together; no try begins after it. Default: 120,000. At most 23 hours. */
  msMax?: number;
  /** Time of one try. Default: 35,000, as the service answers within 30 s or not at all. */
  tryMsMax?: number;
  /** The wait after the first try, which doubles with each. A random half is taken off. Default: 500. */
  delayMs?: number;
  /** The longest wait, unless the service asks for a longer one by `Retry-After`. Default: 20,000. */
  delayMsMax?: number;
}

export type RetryBounds = Required<RetryOptions>;

/** Dependencies of a client's methods. */
export interface ClientDeps {
  api: Api;
  fetch: Send;
  bounds: RetryBounds;
}
