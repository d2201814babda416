import type { Call, Route } from "../calls/call-request.ts";
import type { CallResult } from "../calls/call-result.ts";
import type { AwsRole } from "../lib/aws-role.ts";
import type { Send } from "../lib/http-client.ts";
import { minuteMs } from "../lib/units.ts";

/** One request to place a call. */
interface DialRequest {
  call: Call;
  /** Number of the attempt, from 1. A resend carries the number of the request that it repeats. */
  attempt: number;
  timeoutSeconds: number;
  /**
   * Wraps `send` with the last look: at the clock, hours and controls. An adapter prepares everything else first, and
   * sends through it the one request by which the phone rings. A request that may no longer leave is withheld.
   *
   * @param secondsMax time limit of that request. Default: `timeoutSeconds`, for adapters with only one request
   */
  guarded(send: Send, secondsMax?: number): Send;
  /** URL to which the provider is to report the call's end. Absent: callbacks are off. */
  callbackUrl?: string | undefined;
  /** True if a callback is to report the answer, too, if the provider can report both. */
  reportsAnswer?: boolean | undefined;
  /** Maximum duration of the call, for providers that take one: the account's `maxCallMinutes`. */
  maxCallMinutes?: number | undefined;
}

/** Maximum `retryAfterSeconds` that is obeyed, in milliseconds. */
export const retryAfterMsMax = 15 * minuteMs;

/** Result of one request to place a call. */
export type DialOutcome =
  /** The provider has accepted the call. */
  | { kind: "placed"; providerCallId?: string | undefined }
  /**
   * The provider refuses this call permanently. `blamesNumber`: because of the number, which says nothing about
   * the agent.
   */
  | { kind: "rejected"; code: string; blamesNumber?: boolean }
  /**
   * The call certainly was not placed, and a later try may succeed. `unreachable`: the provider could not be reached.
   * `isFull`: the account has as many live calls as it may have. `blamesNumber`: because of the number, which says
   * nothing about the account.
   */
  | {
      kind: "not_placed";
      code: string;
      retryAfterSeconds?: number | undefined;
      unreachable?: boolean;
      isFull?: boolean;
      blamesNumber?: boolean;
    }
  /** The provider refuses the account (401, 402): it placed nothing, and would place no other call. */
  | { kind: "account_refused"; code: string }
  /**
   * The provider refuses a part of the route, such as the caller id: no other call along the route would be placed.
   * `isAbsent`: the agent did not join. An agent that has joined within the last hour is late, and a later try may
   * succeed.
   */
  | { kind: "route_refused"; code: string; isAbsent?: boolean }
  /** A refusal that does not say whether it concerns the call or the account, such as a 403. A person decides. */
  | { kind: "forbidden"; code: string }
  /** The call may have been placed. It is never sent again, except to an idempotent provider. */
  | { kind: "unknown"; code: string };

/** An outcome by which the call certainly was not placed, and which says what happens to the call. */
export type NotPlaced = Extract<
  DialOutcome,
  { kind: "rejected" | "not_placed" | "account_refused" | "route_refused" }
>;

/** A call of unknown outcome that is looked up. Times are milliseconds since the epoch. */
export interface SoughtCall {
  call: Call;
  /** Attempt number of the claim whose outcome is unknown. */
  attempt: number;
  /** Earliest time at which the call can have been placed. */
  from: number;
  /** Latest time at which the call can have been placed. */
  until: number;
}

/** Result of searching a provider's records for a call. */
export type FoundCall =
  /** A call that carries our call's id. */
  | { by: "id"; providerCallId: string }
  /**
   * A record that carries our call's id, certainly belongs to the sought attempt, and proves that nothing was placed.
   * A record of an earlier attempt proves nothing about this one.
   */
  | { by: "id"; notPlaced: NotPlaced }
  /** All calls placed to the number in that period, which may be other calls. */
  | { by: "number"; providerCallIds: string[] };

/** A placed call whose result is polled. */
export interface PlacedCall {
  id: string;
  /** Attempt number of the claim that was placed. */
  attempt: number;
  providerCallId: string;
  /** True if its analysis may have a wish or an opt-out: an ended call's result then has `analysis`. */
  mayWish?: boolean;
}

/** A call's result, as its record has it. */
export type ReadResult = CallResult & {
  /** The callee's wish to be called back, if that was asked. It is not stored. */
  analysis?: Analysis;
};

/** The part of a record or a callback that is about a callee's wish to be called back. */
export interface Analysis {
  /** The field `call_back_at`, whatever it holds. Undefined: there is no wish. */
  wished?: unknown;
  /** True if the analysis of the call is complete, so that no wish follows. */
  isAnalyzed: boolean;
  /** Number of requests that the reading took, where there was more than one. */
  requests?: number | undefined;
}

/** A callback whose body contains a result, with the headers that sign it. */
export interface SignedCallback {
  body: string;
  headers: Record<string, string>;
  /** Time at which the API received it, in milliseconds since the epoch. It may have waited long on the queue. */
  receivedAt: number;
}

/** Result of reading a signed callback. */
export type CallbackReport =
  /**
   * The end of a call. `call`: the call and its attempt, if the body names them. `optedOut`: the callee asked not to
   * be called again.
   */
  | {
      kind: "reported";
      result: CallResult;
      call?: { id: string; attempt: number };
      optedOut?: boolean;
      /** The field `call_back_at`, whatever it holds. */
      wished?: unknown;
    }
  /** Signed, but not about the end of a call. */
  | { kind: "other" }
  /** Not signed by this account, or unreadable. */
  | { kind: "unverified" }
  /** Signed, but malformed. */
  | { kind: "malformed" };

/** Places calls with one kind of dialing provider. `Own` is the type of its routes. */
export interface DialingProvider<Own> {
  /**
   * Makes exactly one request by which the phone rings, through `ring`, and never throws because of the provider or the
   * network.
   *
   * @throws Withheld if the last look kept that request from leaving
   */
  dial(request: DialRequest, route: Own): Promise<DialOutcome>;
  /**
   * Looks for a call in the provider's records. Absent if the provider has no records to search. An empty
   * result proves nothing: no provider promises to list a new call at once.
   *
   * @throws if the provider could not be asked
   */
  lookUp?(sought: SoughtCall, route: Own): Promise<FoundCall | undefined>;
  /**
   * Reads the record of one placed call, with a few requests. Undefined if the provider has none yet. Absent if
   * its records do not contain results.
   *
   * @throws if the provider could not be asked
   */
  readResult?(placed: PlacedCall, route: Own): Promise<ReadResult | undefined>;
  /**
   * True if a record's analysis may say, some time after the call's end, that the callee asked not to be called again.
   * The record of a completed call is then read until it has its analysis.
   */
  recordsOptOuts?: boolean;
  /**
   * Reads the records of the account's calls placed at or after `from` (milliseconds since the epoch), oldest first
   * if the provider can, at most five pages. The keys are the provider's ids. Absent if the provider has no list with
   * results. A provider that has this has `readResult`, too.
   *
   * @throws if the provider could not be asked
   */
  listResults?(from: number, route: Own): Promise<Map<string, ReadResult>>;
  /**
   * Verifies a signed callback and reads its result. Present if its type has `callbackHeaders`.
   *
   * @param callId the call's id in the callback's URL, if that has one
   */
  readCallback?(signed: SignedCallback, route: Own, callId?: string): Promise<CallbackReport>;
}

/** The part of a provider that dials (`defineProvider`). */
export interface ProviderAdapter<Own> {
  /**
   * @param routes routes of all types
   * @throws if the secret of one of its own routes is malformed
   */
  create(options: ProviderOptions, routes: readonly Route[]): DialingProvider<Own>;
}

export interface ProviderOptions {
  /** Returns a secret of an account, by its name from `secretsOf`. */
  secret(account: string, name: string): string | undefined;
  /** Only on Lambda. */
  role?: AwsRole | undefined;
  fetch: Send;
  /** Current time in milliseconds since the epoch. */
  now(): number;
  /** Prints the simulator's description of a call. */
  print(line: string): void;
}

/** A provider did not answer, or refused to. Its error is the cause. */
export class ProviderUnreachableError extends Error {
  constructor(cause: unknown) {
    super("the provider did not answer", { cause });
  }
}
