import { accountNameOf, type Route } from "#shared/calls/call-request.ts";

/** Returns what a claim needs of the account of a route. */
export function accountOf(route: Route, timeoutSeconds = 30) {
  return { name: accountNameOf(route), timeoutSeconds };
}
