import type { CallRequest, Route } from "../calls/call-request.ts";
import type { ProviderType } from "../calls/provider-types.ts";
import type * as z from "../lib/zod.ts";

/** An account of a dial plan, whose settings a route's schema depends on. */
interface AccountOfRoute {
  provider: ProviderType;
  baseUrl?: string | undefined;
  timeoutSeconds?: number | undefined;
}

/** Facts about the kinds of providers for the core, which knows no provider. The entries pass them in. */
export interface RouteKinds {
  /** Parses the fields of a dial plan's route by its account's type. Paths of issues are relative to the route. */
  parseRoute(
    fields: Record<string, unknown>,
    account: AccountOfRoute,
  ): { route: Route } | { issues: z.core.$ZodIssue[] };
  /**
   * Returns the names of the environment variables that a route's account needs.
   *
   * @param hasRole true for a Lambda function, whose role may replace secrets
   */
  listSecrets(route: Route, hasRole: boolean): string[];
  /** Describes why a call's context could not be carried whole along this route, or undefined. */
  contextProblem(request: CallRequest, route: Route): string | undefined;
  /** True if a result along this route can say that a machine answered. */
  reportsVoicemail(route: Route): boolean;
  /** True if the provider's records or callbacks may say when a callee wants to be called back. */
  readsWishes(route: Pick<Route, "provider">): boolean;
  /** True if a route's agent may join late, so that its absence need not be the route's fault. */
  hasLateAgents(route: Route): boolean;
  /** Returns the default time limit for an answer of a route's provider, in seconds. */
  defaultTimeoutSeconds(route: Pick<Route, "provider">): number;
  /** Returns the default calls per second of a route's account; undefined: no rate limit. */
  defaultCallsPerSecond(route: Pick<Route, "provider">): number | undefined;
  /**
   * Returns the headers that sign the callbacks of a type of account. Undefined: its callbacks are hints. Without a type, those
   * of all types.
   */
  callbackHeadersOf(type: ProviderType | undefined): readonly string[] | undefined;
}

/** Composes a variable's name: `twilio-eu` and `ACCOUNT_SID` give `TWILIO_EU_ACCOUNT_SID`. */
export function secretName(account: string, name: string): string {
  return `${account.toUpperCase().replaceAll("-", "_")}_${name}`;
}
