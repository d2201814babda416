import type { Dial } from "../../functions/dialer/decide/decide-delivered.ts";
import type { DialerSettings } from "../../functions/dialer/runtime/context.ts";
import type { Call, Route } from "../../shared/calls/call-request.ts";
import type { CallRow } from "../../shared/calls/call-row.ts";
import {
  createResolver,
  hashesUnder,
  type ResolvedRoute,
} from "../../shared/rules/resolved-call.ts";

type Of = Pick<DialerSettings, "table">;

/** Returns a route as one of the calls of a client to an agent. */
export function targetOf(route: Route, { table }: Of): ResolvedRoute {
  const of = { client: "crm", agentId: "agent_sales" };
  return createResolver(table, () => undefined).along(route, of);
}

/** Returns the decision to dial a call along a route. */
export function dialOf(
  {
    call,
    row,
    route,
    dialAt,
  }: { call: Call; row: CallRow | undefined; route: Route; dialAt: number },
  { table, hashKeys }: Of & Pick<DialerSettings, "hashKeys">,
): Dial {
  const resolver = createResolver(table, hashesUnder(hashKeys));
  const resolved = resolver.resolve(call, row);
  const target = resolver.along(route, resolved.of);
  return Object.assign(resolved, { kind: "dial" as const, row, target, dialAt });
}
