import type { Client } from "openapi-fetch";
import type { components, operations, paths } from "./generated/openapi.ts";
import type { KeyMemory } from "./key-memory.ts";

/** The operations of the service's OpenAPI document. */
export type Api = Client<paths>;

/** The JSON that an operation answers. */
export type AnswerOf<Operation extends keyof operations, Status extends number = 200> =
  operations[Operation]["responses"] extends Record<
    Status,
    { content: { "application/json": infer Body } }
  >
    ? Body
    : never;

/** The JSON that an operation takes. */
export type BodyOf<
  Operation extends "putReceiver" | "addOptOuts" | "startSentFile" | "markSentPart",
> = operations[Operation]["requestBody"]["content"]["application/json"];

/** A call as `POST /v1/calls` takes it. */
export type Call = components["schemas"]["Call"];

/** An accepted request: each of its calls is dialed once, at a permitted hour, or you can see why not. */
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

/** Options that every method has. */
export interface CallOptions {
  /** Ends the work. The error is then of the type `aborted`. */
  signal?: AbortSignal;
  /** Milliseconds after which the method has ended, whatever it waits for. Default: that of `retry`; of lists, for each page. */
  msMax?: number;
}

/** Bounds of the tries of one request. All times are in milliseconds. */
export interface RetryOptions {
  /** Tries in all. Default: 8. */
  triesMax?: number;
  /** Time after which a method has ended, with all tries and waits. Default: 120,000. At most 23 hours. */
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
  keys: KeyMemory;
  /** True if `fetch` is the runtime's own, whose errors show whether anything was sent. Another one may have tried twice. */
  isOwnFetch: boolean;
}
