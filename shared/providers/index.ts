import type * as z from "zod";
import type { CallRequest } from "../calls/call.ts";
import type { DialingProvider, ProviderOptions, ProviderType } from "./dialing-provider.ts";
import { elevenlabs } from "./elevenlabs.ts";
import { livekit } from "./livekit.ts";
import { retell } from "./retell.ts";
import { simulator } from "./simulator.ts";
import { telnyx } from "./telnyx.ts";
import { twilio } from "./twilio.ts";
import { vapi } from "./vapi.ts";
import { webhook } from "./webhook.ts";

/** Every kind of dialing provider there is. */
const known = [elevenlabs, livekit, retell, simulator, telnyx, twilio, vapi, webhook] as const;

/**
 * Route of an agent's calls, as kept with each call: the account's name (`provider`), its `type` and
 * `baseUrl`, and that provider's own fields.
 */
export type Route = z.infer<(typeof known)[number]["routeSchema"]>;

const types: readonly ProviderType<Route>[] = known;
const typesByName = new Map<string, ProviderType<Route>>(types.map((type) => [type.name, type]));
export const typeNames: readonly string[] = types.map(({ name }) => name);

/** Parses a route of a dial plan whose account is of this type. Paths of issues begin at the route. */
export function parseRoute(
  fields: Record<string, unknown>,
  account: { type: string; baseUrl?: string | undefined },
): { route: Route } | { issues: z.core.$ZodIssue[] } {
  const { type, baseUrl } = account;
  const { data, error } = typeOf({ type }).routeSchema.safeParse({
    ...fields,
    type,
    ...(baseUrl === undefined ? {} : { baseUrl }),
  });
  return data === undefined ? { issues: error?.issues ?? [] } : { route: data };
}

/** Names the account that a route's calls are placed under. */
export function accountNameOf(route: Route): string {
  return typeOf(route).accountOf(route);
}

/** Returns the names of the environment variables that a route's account needs. */
export function secretsOf(route: Route): string[] {
  return typeOf(route)
    .secretsOf(route)
    .map((name) => secretName(route.provider, name));
}

/** Describes why a call's context could not be carried whole along this route, or undefined. */
export function contextProblem(request: CallRequest, route: Route): string | undefined {
  return typeOf(route).contextProblem?.(request, route);
}

/** Returns the default calls per second of a route's account; undefined: no rate limit. */
export function defaultCallsPerSecond(route: Route): number | undefined {
  return typeOf(route).callsPerSecond;
}

/** Composes a variable's name: `twilio-eu` and `ACCOUNT_SID` give `TWILIO_EU_ACCOUNT_SID`. */
function secretName(account: string, name: string): string {
  return `${account.toUpperCase().replaceAll("-", "_")}_${name}`;
}

/**
 * Returns a function that finds the dialing provider of a route. @throws if a secret of one of `routes` is
 * malformed
 */
export function createProviders(
  {
    environment,
    ...options
  }: Omit<ProviderOptions, "secret"> & {
    environment: Record<string, string | undefined>;
  },
  routes: Route[],
): (route: Route) => DialingProvider<Route> {
  const secret = (account: string, name: string) => environment[secretName(account, name)];
  const created = new Map(
    types.map((type) => [
      type,
      type.create(
        { ...options, secret },
        routes.filter((route) => route.type === type.name),
      ),
    ]),
  );
  return (route) => {
    const provider = created.get(typeOf(route));
    if (provider === undefined) throw new Error("a route names an unknown provider");
    return provider;
  };
}

function typeOf(route: { type: string }): ProviderType<Route> {
  const type = typesByName.get(route.type);
  if (type === undefined) throw new Error("a route names an unknown provider");
  return type;
}
