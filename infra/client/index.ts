/** The client library of Outbound Calls: docs/client.md. */
export { type ClientOptions, createClient, type OutboundCallsClient } from "./client.ts";
export { type ErrorType, OutboundCallsError } from "./errors.ts";
export { type EventHeaders, type OutboundCallsEvent, verifyEvent } from "./events.ts";
export type { components, operations, paths, webhooks } from "./generated/openapi.ts";
export type { PlacedCalls, PlaceOptions } from "./place-calls.ts";
export type {
  Cancelled,
  CancelOptions,
  RequestedCall,
  RequestStatus,
  WaitOptions,
} from "./requests.ts";
export type { Api, Call, PlacedRequest, RequestError, RetryOptions, Send } from "./types.ts";
