import * as z from "zod";
import type { DialingProvider, ProviderOptions, ProviderType } from "./dialing-provider.ts";
import { simulator } from "./simulator.ts";
import { webhook } from "./webhook.ts";

/** Every kind of dialing provider there is. */
const known = [simulator, webhook] as const;

/** What a dial plan says of an agent: `provider`, and that provider's own fields. */
export type Route = z.infer<(typeof known)[number]["routeSchema"]>;

const types: readonly ProviderType<Route>[] = known;
const names = types.map(({ name }) => name).join(", ");

export const routeSchema: z.ZodType<Route> = z.discriminatedUnion(
  "provider",
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- zod asks for a tuple; any length will do
  known.map((type) => type.routeSchema) as [(typeof known)[number]["routeSchema"]],
  { error: ({ code }) => (code === "invalid_union" ? `must be one of ${names}` : undefined) },
);

export const providerNames: readonly string[] = types.map(({ name }) => name);

/** Names the account that a route's calls are placed under. */
export function accountNameOf(route: Route): string {
  return typeOf(route).accountOf(route);
}

/** Names of the environment variables that a route's provider needs. */
export function secretsOf(route: Route): string[] {
  return typeOf(route).secretsOf(route);
}

/** One dialing provider for every route there is; throws where a secret is malformed. */
export function createProviders(options: ProviderOptions): DialingProvider<Route> {
  const created = new Map(types.map((type) => [type.name, type.create(options)]));
  return {
    async dial(call, route, timeoutSeconds) {
      const provider = created.get(route.provider);
      if (provider === undefined) throw new Error("a route names a provider that is not there");
      return provider.dial(call, route, timeoutSeconds);
    },
  };
}

function typeOf(route: Route): ProviderType<Route> {
  const type = types.find(({ name }) => name === route.provider);
  if (type === undefined) throw new Error("a route names a provider that is not there");
  return type;
}
