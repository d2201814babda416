import type { Route } from "../calls/call-request.ts";
import { secretName } from "../dial-plan/route-kinds.ts";
import { findRole } from "../lib/aws-role.ts";
import { adapters } from "./list.ts";
import type { DialingProvider, ProviderAdapter, ProviderOptions } from "./provider.ts";

/**
 * Returns a function that finds the dialing provider of a route. @throws if a secret of one of `routes` is
 * malformed
 */
export function createProviders(
  {
    environment,
    ...options
  }: Omit<ProviderOptions, "secret" | "role"> & {
    environment: Record<string, string | undefined>;
  },
  routes: Route[],
): (route: Route) => DialingProvider<Route> {
  const secret = (account: string, name: string) => environment[secretName(account, name)];
  const role = findRole(environment);
  const created = new Map(
    Object.entries<ProviderAdapter<Route>>(adapters).map(([type, adapter]) => [
      type,
      adapter.create({ ...options, secret, role }, routes),
    ]),
  );
  return (route) => {
    const provider = created.get(route.provider);
    if (provider === undefined) throw new Error("a route names an unknown provider");
    return provider;
  };
}
