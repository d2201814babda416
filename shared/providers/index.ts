import type * as z from "zod";
import type { DialingProvider, ProviderOptions, ProviderType } from "./dialing-provider.ts";
import { retell } from "./retell.ts";
import { simulator } from "./simulator.ts";
import { vapi } from "./vapi.ts";
import { webhook } from "./webhook.ts";

/** Every kind of dialing provider there is. */
const known = [retell, simulator, vapi, webhook] as const;

/**
 * Where an agent's calls go, as it is kept with each call: the account's name (`provider`), its `type` and
 * `baseUrl`, and that provider's own fields.
 */
export type Route = z.infer<(typeof known)[number]["routeSchema"]>;

const types: readonly ProviderType<Route>[] = known;
export const typeNames: readonly string[] = types.map(({ name }) => name);

/** Reads a route of a dial plan whose account is of this type; the issues' paths begin at the route. */
export function parseRoute(
  fields: Record<string, unknown>,
  account: { type: string; baseUrl?: string | undefined },
): { route: Route } | { issues: z.core.$ZodIssue[] } {
  const { type, baseUrl } = account;
  const schema = types.find(({ name }) => name === type)?.routeSchema;
  if (schema === undefined) throw new Error("a route names a provider that is not there");
  const { data, error } = schema.safeParse({
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

/** Names of the environment variables that a route's account needs. */
export function secretsOf(route: Route): string[] {
  return typeOf(route)
    .secretsOf(route)
    .map((name) => secretName(route.provider, name));
}

/** `twilio-eu` and `ACCOUNT_SID`: `TWILIO_EU_ACCOUNT_SID`. */
function secretName(account: string, name: string): string {
  return `${account.toUpperCase().replaceAll("-", "_")}_${name}`;
}

/** One dialing provider for every route there is; throws where a secret is malformed. */
export function createProviders(
  {
    environment,
    ...options
  }: Omit<ProviderOptions, "secret"> & {
    environment: Record<string, string | undefined>;
  },
  routes: Route[],
): DialingProvider<Route> {
  const secret = (account: string, name: string) => environment[secretName(account, name)];
  const created = new Map(
    types.map((type) => [
      type.name,
      type.create(
        { ...options, secret },
        routes.filter((route) => route.type === type.name),
      ),
    ]),
  );
  return {
    async dial(call, route, timeoutSeconds) {
      const provider = created.get(route.type);
      if (provider === undefined) throw new Error("a route names a provider that is not there");
      return provider.dial(call, route, timeoutSeconds);
    },
  };
}

function typeOf(route: Route): ProviderType<Route> {
  const type = types.find(({ name }) => name === route.type);
  if (type === undefined) throw new Error("a route names a provider that is not there");
  return type;
}
