import type { CallRequest } from "../../calls/call.ts";
import * as z from "../../platform/zod.ts";

/** Fields of every route, beside its provider's own. */
export const routeFields = {
  /** Name of the route's account in the dial plan's `providers`. */
  provider: z.string(),
  callingHours: z.optional(z.string()),
};

/** One kind of provider, as the API knows it: the form of its routes in a dial plan, and the secrets it needs. */
export interface ProviderType<Route extends { type: string; provider: string }> {
  name: Route["type"];
  /**
   * A strict object of `routeFields`, `type` and the provider's own fields. It is lazy: a plan has routes of few providers,
   * and each start would build the schemas of all.
   */
  routeSchema: z.ZodMiniType<Route>;
  /** Names the provider account: a 401 or 402 holds all calls that go through it. */
  accountOf(route: Route): string;
  /**
   * Returns the names of a route's secrets without the account's name, such as `AUTH_TOKEN`.
   *
   * @param hasRole true where the dialer's function has an AWS role (`AwsRole`), which may replace secrets
   */
  secretsOf(route: Route, hasRole: boolean): string[];
  /**
   * Describes, in words for the client, why a request along this route could not carry a call's context
   * whole, so that acceptance refuses it. Absent if any context can be carried.
   */
  contextProblem?(request: CallRequest, route: Route): string | undefined;
  /**
   * Default calls per second of an account; absent if it takes calls without a rate limit. Carriers queue
   * calls above their rate, past all calling hours: a new account gets one per second.
   */
  callsPerSecond?: number;
  /**
   * Names of the headers that sign a callback. Present if its body tells the result itself, and is verified by the
   * dialer. Absent: a callback is a hint, and the provider's record is read.
   */
  callbackHeaders?: readonly string[];
}
