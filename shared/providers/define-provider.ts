import type { CallRequest, Route } from "../calls/call-request.ts";
import * as z from "../lib/zod.ts";
import { isE164 } from "../telephony/phone-number.ts";
import type { DialingProvider, ProviderAdapter, ProviderOptions } from "./provider.ts";

/** Fields of every route, beside its provider's own. */
const fieldsOf = <Type extends string>(type: Type) => ({
  /** Name of the route's account in the dial plan's `providers`. */
  provider: z.string(),
  callingHours: z.optional(z.string()),
  type: z.literal(type),
});

/** An id or a name, of a provider or at one. */
export const idText = z.string().check(z.minLength(1), z.maxLength(200));

/** A calling number. */
export const phoneNumber = z.string().check(z.refine(isE164, "must be an E.164 number"));

/** Facts of a kind of provider that the API knows, beside the form of its routes and its secrets. */
interface RouteFacts<Own extends Route> {
  /**
   * Describes, in words for the client, why a request along this route could not carry a call's context
   * whole, so that acceptance refuses it. Absent if any context can be carried.
   */
  contextProblem?(request: CallRequest, route: Own): string | undefined;
  /**
   * Default calls per second of an account; absent if it takes calls without a rate limit. Carriers queue
   * calls above their rate, past all calling hours: a new account gets one per second.
   */
  callsPerSecond?: number;
  /** True if its lists have calls that have ended alone, so that a look-up finds none before. */
  listsEnded?: boolean;
  /** Default of an account's `timeoutSeconds`. Absent: that of all accounts. */
  timeoutSeconds?: number;
  /** Describes why a route's own times do not fit into its account's `timeoutSeconds`, or undefined. */
  timeProblem?(route: Own, timeoutSeconds: number): string | undefined;
  /** True if an agent may be late (`isAbsent`), so that a placed call is noted for its agent. */
  hasLateAgents?: boolean;
  /**
   * Names of the headers that sign a callback. Present if its body tells the result itself, and is verified by the
   * dialer. Absent: a callback is a hint, and the provider's record is read.
   */
  callbackHeaders?: readonly string[];
}

/** One kind of provider, as the API knows it: the form of its routes in a dial plan, and the secrets it needs. */
export interface ProviderType<Own extends Route> extends RouteFacts<Own> {
  name: Own["type"];
  routeSchema: z.ZodMiniType<Own>;
  /**
   * Returns the names of a route's secrets without the account's name, such as `AUTH_TOKEN`.
   *
   * @param hasRole true where the dialer's function has an AWS role (`AwsRole`), which may replace secrets
   */
  secretsOf(route: Own, hasRole: boolean): readonly string[];
}

/** Names of a route's secrets, which may depend on the route. */
interface Secrets<Own extends Route> {
  secrets: readonly string[] | ProviderType<Own>["secretsOf"];
}

/**
 * Defines the form of a provider's routes.
 *
 * @param schema makes a strict object of `fields`, which every route has, and the provider's own. It is called with the
 *   first route that is parsed: a plan has routes of few providers, and each start would build the schemas of all
 */
export function defineRoute<Type extends string, Own extends Route & { type: Type }>(
  name: Type,
  schema: (fields: ReturnType<typeof fieldsOf<Type>>) => z.ZodMiniType<Own>,
  { secrets, ...facts }: NoInfer<RouteFacts<Own> & Secrets<Own>>,
): ProviderType<Own> {
  const secretsOf = typeof secrets === "function" ? secrets : () => secrets;
  return { ...facts, name, secretsOf, routeSchema: z.lazy(() => schema(fieldsOf(name))) };
}

/**
 * Defines a provider's adapter, in the file of its routes. The API imports that file for the routes alone. The mark
 * `@__PURE__` at each call, and schemas that are built where they are first used, keep adapters out of its bundle.
 *
 * @param create makes the adapter for the provider's own routes. It throws if one of their secrets is malformed
 */
export function defineProvider<Own extends Route>(
  { name }: ProviderType<Own>,
  create: (options: ProviderOptions, routes: readonly Own[]) => DialingProvider<Own>,
): ProviderAdapter<Own> {
  const isOwn = (route: Route): route is Own => route.type === name;
  return { create: (options, routes) => create(options, routes.filter(isOwn)) };
}
