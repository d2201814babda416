import type { PlacedRequest, RequestError } from "./types.ts";

/** The reason why a request ended: the service's answer, no answer, or the caller. */
export type ErrorType =
  /** The service refused it: see `status`, `detail` and `errors`. */
  | "refused"
  /** No try was answered, or each was answered 5XX or 429. */
  | "unavailable"
  /** The time of `waitForRequest` is over. */
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

/** A request that did not succeed. It holds no token, and of the calls only what the service's errors say. */
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
   * True if calls of the request may have been accepted. Then repeat it only under `idempotencyKey`, or somebody may be
   * called twice. False only if the service has answered that nothing was accepted, or nothing was sent.
   */
  readonly isMaybeAccepted: boolean;
  /** The key to repeat this request under, with the same calls and options, within 24 hours of its first try. */
  readonly idempotencyKey: string | undefined;
  /** The parts of `placeCalls` that were accepted before this error. */
  readonly accepted: readonly PlacedRequest[];
  /** Milliseconds that the service asked to wait before the next try. */
  readonly retryAfterMs: number | undefined;

  constructor(fields: ErrorFields) {
    const { type, detail, status, isMaybeAccepted } = fields;
    const words = isMaybeAccepted
      ? " Calls may have been accepted: repeat it only under its idempotencyKey."
      : "";
    const answered = status === undefined ? "" : ` ${status}`;
    super(
      `${type}${answered}: ${detail}${words}`,
      "cause" in fields ? { cause: fields.cause } : {},
    );
    this.type = type;
    this.status = status;
    this.detail = detail;
    this.errors = fields.errors ?? [];
    this.requestId = fields.requestId;
    this.isMaybeAccepted = isMaybeAccepted;
    this.idempotencyKey = fields.idempotencyKey;
    this.accepted = fields.accepted ?? [];
    this.retryAfterMs = fields.retryAfterMs;
  }
}

/** Returns an error with other fields in the place of some of its own. */
export function replaceFields(
  error: OutboundCallsError,
  fields: Partial<ErrorFields>,
): OutboundCallsError {
  const { type, detail, status, errors, requestId, isMaybeAccepted, retryAfterMs, cause } = error;
  const own = { type, detail, status, errors, requestId, isMaybeAccepted, retryAfterMs, cause };
  return new OutboundCallsError({ ...own, ...fields });
}
