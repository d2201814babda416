import * as z from "zod";
import type { Call, CallRequest } from "../calls/call.ts";

/** One request to place a call. */
interface DialRequest {
  call: Call;
  /** Counted from 1; where an unknown outcome is sent once more, that of the request that is repeated. */
  attempt: number;
  timeoutSeconds: number;
}

/** What a provider made of one request to place a call. */
export type DialOutcome =
  /** It has the call. */
  | { kind: "placed"; providerCallId?: string | undefined }
  /** It says no to this call, for good. `blamesNumber`: because of the number, which says nothing of the agent. */
  | { kind: "rejected"; code: string; blamesNumber?: boolean }
  /** Surely nothing was placed, and later it may be. `unanswered`: the provider could not be reached. */
  | {
      kind: "not_placed";
      code: string;
      retryAfterSeconds?: number | undefined;
      unanswered?: boolean;
    }
  /** It says no to the account (401, 402): nothing was placed, and no other call would be. */
  | { kind: "account_refused"; code: string }
  /** It says no to what the route brings, such as the number that calls: no other call along it would be placed. */
  | { kind: "route_refused"; code: string }
  /** No, and not said whether to the call or to the account, as by a 403. A person decides. */
  | { kind: "forbidden"; code: string }
  /** The call may have been placed: never sent again, but to an idempotent provider. */
  | { kind: "unknown"; code: string };

/** A call of unknown outcome. Times are milliseconds since the epoch. */
export interface SoughtCall {
  call: Call;
  /** Of the claim whose outcome is unknown. */
  attempt: number;
  /** Placed between then, if at all, */
  from: number;
  /** and then. */
  until: number;
}

/** What a provider's own records say of a sought call. */
export type FoundCall =
  /** One that carries our call's id. */
  | { by: "id"; providerCallId: string }
  /** All that were placed to its number in that time, which may be other calls. */
  | { by: "number"; providerCallIds: string[] };

/** Hands calls to one kind of dialing provider. `Route` is what the dial plan says of an agent. */
export interface DialingProvider<Route> {
  /** Makes exactly one request for the call, and never throws for what the provider or the network does. */
  dial(request: DialRequest, route: Route): Promise<DialOutcome>;
  /**
   * Looks for a call in the provider's records; absent where it has none that could be asked. That nothing was
   * found proves nothing: no provider promises that a new call is in its list at once.
   *
   * @throws where the provider could not be asked
   */
  lookUp?(sought: SoughtCall, route: Route): Promise<FoundCall | undefined>;
}

/** What every route has beside its provider's own fields. */
export const routeFields = {
  /** The account of the dial plan's `providers` that it goes through. */
  provider: z.string(),
  callingHours: z.string().optional(),
};

/** One kind of provider: how its routes look in a dial plan, which secrets it needs, how it dials. */
export interface ProviderType<Route extends { type: string; provider: string }> {
  name: Route["type"];
  /** A strict object of `routeFields`, `type` and the provider's own fields. */
  routeSchema: z.ZodType<Route>;
  /** Names the account that is asked: a 401 or 402 holds all calls that go through it. */
  accountOf(route: Route): string;
  /** What a route's secrets are called after the account's name, such as `AUTH_TOKEN`. */
  secretsOf(route: Route): string[];
  /**
   * What is wrong with a call's context that a request along this route could not carry whole, in words for the
   * client: refused at acceptance. Absent where any context is carried.
   */
  contextProblem?(request: CallRequest, route: Route): string | undefined;
  /**
   * Calls a second of an account for which the plan says nothing; absent where it takes them as they come. Carriers
   * queue what is above their rate, past all calling hours: one a second is what they give a new account.
   */
  callsPerSecond?: number;
  /** @throws where the secret of one of the routes is malformed */
  create(options: ProviderOptions, routes: Route[]): DialingProvider<Route>;
}

export interface ProviderOptions {
  /** A secret of an account, by the name that `secretsOf` gives it. */
  secret(account: string, name: string): string | undefined;
  fetch: typeof fetch;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Where the simulator says what it would have dialed. */
  print(line: string): void;
}
