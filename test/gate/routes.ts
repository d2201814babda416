import type { Call, Route } from "#shared/calls/call-request.ts";

/** Returns the route of a call by a plan's agents. */
export function routeIn(agents: Record<string, Route>, { request }: Call): Route | undefined {
  return agents[request.agent_id] ?? agents["*"];
}

/** Returns a route as a row has it: with a number of its pool. */
export function withoutPool({ callerIds, ...route }: Route): Route {
  return callerIds === undefined ? route : Object({ ...route, from: callerIds[0] });
}

/** Names the account of a route. */
export function accountIn({ account, url }: Route): string {
  return url === undefined ? account : `${account}:${new URL(url).origin}`;
}
