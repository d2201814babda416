import type { PlacedRequest, RequestError } from "./types.ts";

/** The reason why a request ended: the service's answer, no answer, or the caller. */
export type ErrorType =
  /** The service refused it: see `status`, `detail` and `errors`. */
  | "refused"
  /** The last try was not answered, or was answered 5XX or 429. */
  | "unavailable"
  /** No try left this machine: the connection was refused, the host is unknown, or its certificate is not trusted. */
  | "not_sent"
  /** The time of `waitForRequest` is over. `cause` is the last error of a look, if there was one. */
  | "timed_out"
  /** The caller's signal ended it. `cause` is the signal's reason. */
  | "aborted"
  /** The answer is none of the service's. Something between may have made it. */
  | "unexpected";

export interface ErrorFields {
  type: ErrorType;
  detail: string;
  isMaybeAccepted: boolean;
  status?: number | undefined;
  errors?: readonly RequestError[] | undefined;
  requestId?: string | undefined;
  idempotencyKey?: string | undefined;
  accepted?: readonly PlacedRequest[] | undefined;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** Characters of the message's part that the service, or something between, has written. */
const wordsMax = 300;

/**
 * A request that did not succeed. Its message fits a log line: the status, where and what the first problem is, and how many
 * more there are. It holds no token, and of the calls only what the service's errors say, which is never a value.
 */
export class OutboundCallsError extends Error {
  override readonly name = "OutboundCallsError";
  readonly type: ErrorType;
  /** HTTP status of the last answer; undefined without an answer. */
  readonly status: number | undefined;
  /** The error in words, which may change. */
  readonly detail: string;
  /** Errors of a refused request; empty if there are none. */
  readonly errors: readonly RequestError[];
  /** `X-Request-Id` of the last answer, which the service's log has. */
  readonly requestId: string | undefined;
  /**
   * True if calls may have been accepted under the key, by any try of this client: also by an earlier request of it under
   * the same key. Then repeat it only under `idempotencyKey`, or somebody may be called twice.
   */
  readonly isMaybeAccepted: boolean;
  /** The key to repeat this request under, with the same calls and options, within 24 hours of its first try. */
  readonly idempotencyKey: string | undefined;
  /** The parts of `placeCalls` that were accepted before this error. */
  readonly accepted: readonly PlacedRequest[];
  /** Milliseconds that the service asked to wait before the next try. */
  readonly retryAfterMs: number | undefined;

  constructor(fields: ErrorFields) {
    super(toLine(fields), fields.cause === undefined ? {} : { cause: fields.cause });
    this.type = fields.type;
    this.status = fields.status;
    this.detail = fields.detail;
    this.errors = fields.errors ?? [];
    this.requestId = fields.requestId;
    this.isMaybeAccepted = fields.isMaybeAccepted;
    this.idempotencyKey = fields.idempotencyKey;
    this.accepted = fields.accepted ?? [];
    this.retryAfterMs = fields.retryAfterMs;
  }
}

/** An error of one type. A refused request has a status. */
type ErrorOf<Type extends ErrorType> = OutboundCallsError & { readonly type: Type };

/** Returns a guard for the errors of one type. */
function guard<Type extends ErrorType>(type: Type) {
  return (error: unknown): error is ErrorOf<Type> =>
    error instanceof OutboundCallsError && error.type === type;
}

/** True if the service refused the request: repeat it only after a change. */
export const isRefused = (
  error: unknown,
): error is ErrorOf<"refused"> & { readonly status: number } =>
  error instanceof OutboundCallsError && error.type === "refused" && error.status !== undefined;
/** True if no try had a final answer: repeat it later, under its key. */
export const isUnavailable: (error: unknown) => error is ErrorOf<"unavailable"> =
  guard("unavailable");
/** True if nothing left this machine. */
export const isNotSent: (error: unknown) => error is ErrorOf<"not_sent"> = guard("not_sent");
/** True if the time of `waitForRequest` is over. */
export const isTimedOut: (error: unknown) => error is ErrorOf<"timed_out"> = guard("timed_out");
/** True if the caller's signal ended it. */
export const isAborted: (error: unknown) => error is ErrorOf<"aborted"> = guard("aborted");

/** Returns an error with other fields in the place of some of its own. */
export function replaceFields(
  error: OutboundCallsError,
  fields: Partial<ErrorFields>,
): OutboundCallsError {
  const { type, detail, status, errors, requestId, isMaybeAccepted, retryAfterMs, cause } = error;
  const own = { type, detail, status, errors, requestId, isMaybeAccepted, retryAfterMs, cause };
  return new OutboundCallsError({ ...own, ...fields });
}

function toLine({ type, status, detail, errors = [], requestId, isMaybeAccepted }: ErrorFields) {
  const [first] = errors;
  const words = first === undefined ? detail : `${placeOf(first)}${first.detail}`;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  const answered = status === undefined ? "" : ` ${status}`;
  const id = requestId === undefined ? "" : ` [X-Request-Id ${requestId}]`;
  const warning = isMaybeAccepted
    ? "; calls may have been accepted: repeat it only under its idempotencyKey"
    : "";
  return `${type}${answered}: ${toTexts(words)}${more}${id}${warning}`.replace(".;", ";");
}

/** The place of a problem: a pointer into the body, a header, or a parameter of the path or query. */
function placeOf({ pointer, header, parameter }: RequestError): string {
  const place = pointer ?? header ?? parameter ?? "";
  return place === "" ? "" : `${place} `;
}

/** One line of bounded length, so that no answer can forge a line of a log. */
function toTexts(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what must go
  const line = text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ").trim();
  return line.length > wordsMax ? `${line.slice(0, wordsMax)}…` : line;
}
