import type { Route } from "../calls/call-request.ts";
import { type RouteKinds, secretName } from "../dial-plan/route-kinds.ts";
import type { ProviderKind } from "./define-provider.ts";
import { readCallerPool } from "./caller-pool.ts";
import { type ProviderRoute, providerTypes } from "./list.ts";

const types: readonly ProviderKind<ProviderRoute>[] = providerTypes;
const typesByName = new Map<string, ProviderKind<Route>>(types.map((type) => [type.name, type]));

/** Default of `timeoutSeconds` for types that name none. */
const timeoutSecondsDefault = 30;

/** The kinds of providers as the core knows them. */
export const routeKinds: RouteKinds = {
  parseRoute(fields, { provider, baseUrl, timeoutSeconds }) {
    const kind = typeOf({ provider });
    const pool = readCallerPool(fields["from"], kind.hasCallerId === true);
    if ("issues" in pool) return pool;
    const { callerIds } = pool;
    const { data, error } = kind.routeSchema.safeParse({
      ...fields,
      ...(callerIds === undefined ? {} : { from: callerIds[0] }),
      provider,
      ...(baseUrl === undefined ? {} : { baseUrl }),
    });
    if (data === undefined) return { issues: error?.issues ?? [] };
    const message = kind.timeProblem?.(data, timeoutSeconds ?? timeoutSecondsOf(kind));
    return message === undefined
      ? { route: callerIds === undefined ? data : { ...data, callerIds } }
      : { issues: [{ code: "custom", path: [], message, input: undefined }] };
  },
  listSecrets: (route, hasRole) =>
    typeOf(route)
      .secretsOf(route, hasRole)
      .map((name) => secretName(route.account, name)),
  contextProblem: (request, route) => typeOf(route).contextProblem?.(request, route),
  reportsVoicemail: (route) => typeOf(route).reportsVoicemail?.(route) === true,
  readsWishes: (route) => typeOf(route).readsWishes === true,
  hasLateAgents: (route) => typeOf(route).hasLateAgents === true,
  defaultTimeoutSeconds: (route) => timeoutSecondsOf(typeOf(route)),
  defaultCallsPerSecond: (route) => typeOf(route).callsPerSecond,
  callbackHeadersOf: (type) =>
    type === undefined
      ? [...typesByName.values()].flatMap(({ callbackHeaders = [] }) => callbackHeaders)
      : typeOf({ provider: type }).callbackHeaders,
};

/** True if a look-up along this route finds a call only once it has ended. */
export function listsEndedCalls(route: Route): boolean {
  return typeOf(route).listsEnded === true;
}

function timeoutSecondsOf({ timeoutSeconds = timeoutSecondsDefault }: ProviderKind<Route>): number {
  return timeoutSeconds;
}

function typeOf(route: Pick<Route, "provider">): ProviderKind<Route> {
  const type = typesByName.get(route.provider);
  if (type === undefined) throw new Error("a route names an unknown provider");
  return type;
}
