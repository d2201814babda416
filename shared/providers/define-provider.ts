import type { CallRequest, Route } from "../calls/call-request.ts";
import type { ProviderType } from "../calls/provider-types.ts";
import * as z from "../lib/zod.ts";
import { isE164 } from "../telephony/phone-number.ts";
import type { DialingProvider, ProviderAdapter, ProviderOptions } from "./provider.ts";

/** Fields that every route has beside those of its provider. */
const fieldsOf = <Type extends ProviderType>(type: Type) => ({
  /** Name of the route's account in the dial plan's `providers`. */
  account: z.string().brand<"AccountName">(),
  callingHours: z.optional(z.string()),
  /** Names of the checks that are asked before a call is dialed. */
  checks: z.optional(
    z.array(z.string()).check(
      z.minLength(1),
      z.maxLength(3),
      z.refine((names) => new Set(names).size === names.length, "must name each check once"),
    ),
  ),
  provider: z.literal(type),
});

/** An id or a name that a provider assigned. */
export const idText = z.string().check(z.minLength(1), z.maxLength(200));

/** A calling number. */
export const phoneNumber = z.string().check(z.refine(isE164, "must be an E.164 number"));

/** Facts that the API knows of a kind of provider, beside its routes' schema and its secrets. */
interface RouteFacts<Own extends Route> {
  /**
   * Describes to the client why a request along this route could not carry the whole context of a call, which the API
   * then refuses. Absent if any context can be carried.
   */
  contextProblem?(request: CallRequest, route: Own): string | undefined;
  /**
   * Default calls per second of an account. Absent: no rate limit. Carriers queue calls above their rate, past all
   * calling hours; the default is a new account's rate.
   */
  callsPerSecond?: number;
  /** True if a route's `from` is a phone number, so that it may be a pool of them. */
  hasCallerId?: boolean;
  /** True if the provider lists only calls that have ended, so that a look-up cannot find a live one. */
  listsEnded?: boolean;
  /** Default of an account's `timeoutSeconds`. Absent: the common default. */
  timeoutSeconds?: number;
  /** Describes why a route's own times do not fit into its account's `timeoutSeconds`, or undefined. */
  timeProblem?(route: Own, timeoutSeconds: number): string | undefined;
  /** Returns true if a result along a route can say that a machine answered. Absent: it never can. */
  reportsVoicemail?(route: Own): boolean;
  /** True if its records or callbacks may say when a callee wants to be called back (`ReadResult.wished`). */
  readsWishes?: boolean;
  /** True if an agent may join late (`isAbsent`). A placed call is then noted for its agent. */
  hasLateAgents?: boolean;
  /**
   * Names of the headers that sign a callback. Present if the callback's body contains the result, which the dialer
   * verifies. Absent: a callback is a hint, upon which the provider's record is read.
   */
  callbackHeaders?: readonly string[];
}

/** One kind of provider as the API knows it: the schema of its routes, and the names of its secrets. */
export interface ProviderKind<Own extends Route> extends RouteFacts<Own> {
  name: Own["provider"];
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
  secrets: readonly string[] | ProviderKind<Own>["secretsOf"];
}

/**
 * Defines a provider's routes.
 *
 * @param schema makes a strict object of `fields`, which every route has, and the provider's fields. It is called
 * when the first route is parsed, so that a start does not build the schemas of providers that the plan does not use
 */
export function defineRoute<Type extends ProviderType, Own extends Route & { provider: Type }>(
  name: Type,
  schema: (fields: ReturnType<typeof fieldsOf<Type>>) => z.ZodMiniType<Own>,
  { secrets, ...facts }: NoInfer<RouteFacts<Own> & Secrets<Own>>,
): ProviderKind<Own> {
  const secretsOf = typeof secrets === "function" ? secrets : () => secrets;
  return { ...facts, name, secretsOf, routeSchema: z.lazy(() => schema(fieldsOf(name))) };
}

/**
 * Defines a provider's adapter, in the same file as its routes. The API imports that file only for the routes. Its
 * bundle has no adapter because each call of this function is marked `@__PURE__`, and schemas are built at first use.
 *
 * @param create makes the adapter for this provider's routes. It throws if one of their secrets is malformed
 */
export function defineProvider<Own extends Route>(
  { name }: ProviderKind<Own>,
  create: (options: ProviderOptions, routes: readonly Own[]) => DialingProvider<Own>,
): ProviderAdapter<Own> {
  const isOwn = (route: Route): route is Own => route.provider === name;
  return { create: (options, routes) => create(options, routes.filter(isOwn)) };
}
