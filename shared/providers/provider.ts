import type { Call, Route } from "../calls/call-request.ts";
import type { CallResult } from "../calls/call-result.ts";
import type { Send } from "../lib/http-client.ts";

/** One request to place a call. */
interface DialRequest {
  call: Call;
  /** Number of the attempt, from 1. A resend carries the number of the request that it repeats. */
  attempt: number;
  timeoutSeconds: number;
  /**
   * Looks a last time whether the call may go: at clock, hours and orders. An adapter sends the one request by which the
   * phone rings through it, and prepares everything else before. What may not go any more is withheld.
   *
   * @param secondsMax time limit of that request. Absent: `timeoutSeconds`, as of the only request of an adapter
   */
  ring(send: Send, secondsMax?: number): Send;
  /** Address at which the provider is to tell of the call's end. Absent: callbacks are off. */
  callbackUrl?: string | undefined;
  /** True if a callback is to tell that the call was answered, where the provider can do so beside its end. */
  tellsAnswer?: boolean | undefined;
  /** Maximum duration of the call, for providers that take one: the account's `maxCallMinutes`. */
  maxCallMinutes?: number | undefined;
}

/** Result of one request to place a call. */
export type DialOutcome =
  /** The provider has accepted the call. */
  | { kind: "placed"; providerCallId?: string | undefined }
  /**
   * The provider refuses this call for good. `blamesNumber`: because of the number, which says nothing about
   * the agent.
   */
  | { kind: "rejected"; code: string; blamesNumber?: boolean }
  /**
   * The call surely was not placed, and a later try may succeed. `unanswered`: the provider could not be reached.
   * `isFull`: the account has as many calls at once as it may. `blamesNumber`: because of the number, which says nothing
   * about the account.
   */
  | {
      kind: "not_placed";
      code: string;
      retryAfterSeconds?: number | undefined;
      unreachable?: boolean;
      isFull?: boolean;
      blamesNumber?: boolean;
    }
  /** The provider refuses the account (401, 402): nothing was placed, and no other call would be. */
  | { kind: "account_refused"; code: string }
  /**
   * The provider refuses a part of the route, such as the caller id: no other call along it would be placed.
   * `isAbsent`: the agent did not come. If it came within the last hour, it is late, and a later try may succeed.
   */
  | { kind: "route_refused"; code: string; isAbsent?: boolean }
  /** A refusal that does not say whether it concerns the call or the account, such as a 403. A person decides. */
  | { kind: "forbidden"; code: string }
  /** The call may have been placed. It is never sent again, except to an idempotent provider. */
  | { kind: "unknown"; code: string };

/** An outcome by which the call surely was not placed, and which says what is to become of it. */
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
   * A record that carries our call's id, is surely of the sought attempt, and proves that nothing was placed.
   * A record of an earlier attempt proves nothing about this one.
   */
  | { by: "id"; notPlaced: NotPlaced }
  /** All calls placed to its number in that period, which may be other calls. */
  | { by: "number"; providerCallIds: string[] };

/** A placed call whose result is asked for. */
export interface PlacedCall {
  id: string;
  /** Attempt number of the claim that was placed. */
  attempt: number;
  providerCallId: string;
}

export type ReadResult = CallResult;

/** A callback whose body tells a result itself, with the headers that sign it. */
export interface SignedCallback {
  body: string;
  headers: Record<string, string>;
  /** Time at which the API took it, in milliseconds since the epoch: it may have waited long on the queue. */
  receivedAt: number;
}

/** Result of reading a signed callback. */
export type ToldResult =
  /**
   * The end of a call. `call`: the call and its attempt, where the body names them. `optedOut`: the callee asked not to
   * be called again.
   */
  | {
      kind: "told";
      result: CallResult;
      call?: { id: string; attempt: number };
      optedOut?: boolean;
    }
  /** Signed, and about something else. */
  | { kind: "other" }
  /** Not signed by this account, or not readable. */
  | { kind: "unverified" }
  /** Signed, and not in its form. */
  | { kind: "malformed" };

/** Hands calls to one kind of dialing provider. `Own` is the dial plan's route of an agent. */
export interface DialingProvider<Own> {
  /**
   * Makes exactly one request by which the phone rings, through `ring`, and never throws because of the provider or the
   * network.
   *
   * @throws Withheld if that request did not leave, as the last look did not allow it
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
   * Reads the record of one placed call, with one or two requests. Undefined if the provider has none yet.
   * Absent if its records do not tell what became of a call.
   *
   * @throws if the provider could not be asked
   */
  readResult?(placed: PlacedCall, route: Own): Promise<ReadResult | undefined>;
  /**
   * Reads the records of the account's calls placed at or after `from` (milliseconds since the epoch), oldest
   * first where the provider can, at most five pages. The keys are the provider's ids. Absent if it has no
   * list that tells what became of calls; a type that has this has `readResult` too.
   *
   * @throws if the provider could not be asked
   */
  listResults?(from: number, route: Own): Promise<Map<string, ReadResult>>;
  /**
   * Verifies a signed callback and reads its result. Present if its type has `callbackHeaders`.
   *
   * @param callId the call of its address, if that is of one call
   */
  readCallback?(signed: SignedCallback, route: Own, callId?: string): Promise<ToldResult>;
}

/** The part of a provider that dials, apart from the form of its routes (`defineProvider`). */
export interface ProviderAdapter<Own> {
  /**
   * @param routes routes of all types
   * @throws if the secret of one of its own routes is malformed
   */
  create(options: ProviderOptions, routes: readonly Route[]): DialingProvider<Own>;
}

/** Credentials of a Lambda function's role, which Lambda puts into the function's environment. */
export interface AwsRole {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken: string;
}

export interface ProviderOptions {
  /** Returns a secret of an account, by its name from `secretsOf`. */
  secret(account: string, name: string): string | undefined;
  /** Absent on every platform but Lambda. */
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
