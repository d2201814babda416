import * as z from "zod";
import type { Call } from "../call.ts";

/** What a provider made of one request to place a call. */
export type DialOutcome =
  /** It has the call. */
  | { kind: "placed"; providerCallId?: string | undefined }
  /** It says no to this call, for good. */
  | { kind: "rejected"; code: string }
  /** Surely nothing was placed, and later it may be. */
  | { kind: "not_placed"; code: string; retryAfterSeconds?: number | undefined }
  /** It says no to the account (401, 402): nothing was placed, and no other call would be. */
  | { kind: "account_refused"; code: string }
  /** 403: no, and not said whether to the call or to the account. A person decides. */
  | { kind: "forbidden"; code: string }
  /** The call may have been placed: never sent again, but to an idempotent provider. */
  | { kind: "unknown"; code: string };

/** Hands calls to one kind of dialing provider. `Route` is what the dial plan says of an agent. */
export interface DialingProvider<Route> {
  /** Makes exactly one request, and never throws for what the provider or the network does. */
  dial(call: Call, route: Route, timeoutSeconds: number): Promise<DialOutcome>;
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
  routeSchema: z.ZodType<Route> & z.core.$ZodTypeDiscriminable;
  /** Names the account that is asked: a 401 or 402 holds all calls that go through it. */
  accountOf(route: Route): string;
  /** What a route's secrets are called after the account's name, such as `AUTH_TOKEN`. */
  secretsOf(route: Route): string[];
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
