/** The client library of Outbound Calls: docs/client-typescript.md. */
export type { OptOutOptions, TokenInfo, Usage, UsageOptions } from "./account.ts";
export { type ClientOptions, createClient, type OutboundCallsClient } from "./client.ts";
export {
  type ErrorType,
  isAborted,
  isNotSent,
  isRefused,
  isTimedOut,
  isUnavailable,
  OutboundCallsError,
} from "./errors.ts";
export {
  type EventHeaders,
  type OutboundCallsEvent,
  type UnknownEvent,
  verifyEvent,
} from "./events.ts";
export type { components, operations, paths, webhooks } from "./generated/openapi.ts";
export type { PlacedCalls, PlaceOptions } from "./place-calls.ts";
export type {
  Delivery,
  PutReceiver,
  Receiver,
  ReceiverSettings,
  ReplayOptions,
  RotatedSecret,
} from "./receivers.ts";
export type {
  CallStatus,
  Cancelled,
  CancelOptions,
  FilterOptions,
  ListedRequest,
  ListOptions,
  RequestedCall,
  RequestStatus,
  WaitOptions,
} from "./requests.ts";
export type { NewSentFile, SentFile, SentPart, SentPartStep } from "./sent-files.ts";
export type {
  Api,
  Call,
  CallOptions,
  PlacedRequest,
  RequestError,
  RetryOptions,
  Send,
} from "./types.ts";
