import type { Dial } from "#functions/dialer/decide/decide-delivered.ts";
import type { DialerSettings } from "#functions/dialer/runtime/context.ts";
import type { Call, Route } from "#shared/calls/call-request.ts";
import { type CallRow, toCall } from "#shared/calls/call-row.ts";
import type { ClaimedCall } from "#shared/rules/rule.ts";
import { createResolver } from "#shared/rules/resolved-call.ts";

/** Returns the decision to dial a call along a route. */
export function dialOf(
  {
    call,
    row,
    route,
    dialAt,
  }: { call: Call; row: CallRow | undefined; route: Route; dialAt: number },
  { table, numbers }: Pick<DialerSettings, "table" | "numbers">,
): Dial {
  const resolver = createResolver(table, numbers.all);
  const resolved = resolver.resolve(call, row);
  const target = resolver.along(route, resolved.of);
  return Object.assign(resolved, { kind: "dial" as const, row, target, dialAt });
}

/** Returns a call of a row under its claim along a route. */
export function claimedAlong(
  route: Route,
  { row, version }: { row: CallRow; version: string },
  settings: Parameters<typeof dialOf>[1],
): ClaimedCall {
  const call = toCall(row);
  if (call === undefined) throw new Error("the row has lost its call");
  return { dial: dialOf({ call, row, route, dialAt: 0 }, settings), row, version };
}
