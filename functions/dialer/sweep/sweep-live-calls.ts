import { hasEnded } from "../../../shared/calls/record-result.ts";
import type { CallRow } from "../../../shared/calls/call-row.ts";
import { accountNameOf } from "../../../shared/calls/call-request.ts";
import { minuteMs } from "../../../shared/lib/units.ts";
import { leaveLive } from "../record/live-calls.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { liveCallsIn, liveKeysOf } from "../../../shared/rules/live-calls.ts";

/** Entries older than this are compared with their rows. Younger ones may be of claims being written. */
const youngMs = minuteMs;

/**
 * Removes entries of calls that are not live by their rows, as a process may have died before it removed them. The
 * entry of a newer claim of the same call stays.
 */
export async function sweepLiveCalls(deps: DialerDeps): Promise<void> {
  const { documents, ledger, clock, settings } = deps;
  const { plan, table } = settings;
  const limits = new Map(
    Object.values(plan.agents).flatMap((route) => {
      const { liveCalls } = table.account(route);
      return liveCalls === undefined ? [] : [[accountNameOf(route), { route, limit: liveCalls }]];
    }),
  );
  if (limits.size === 0) return;
  const keys = [...limits].flatMap(([account, { limit }]) => liveKeysOf(account, limit));
  const read = await documents.read(keys);
  const now = clock.now();
  for (const [account, { route, limit }] of limits) {
    const old = liveCallsIn(read, { account, limit, now }).filter(({ at }) => at <= now - youngMs);
    const { rows, unreadable } = await ledger.read(old.map(({ call }) => call));
    const over = old.filter(({ call }) => !unreadable.has(call) && !mayBeLive(rows.get(call)));
    await leaveLive(
      over.map(({ call: id, claim }) => ({ id, claim, route, isMeasured: false })),
      deps,
    );
  }
}

/** True if the call may be live, by its row. A call without a known end counts until its entry ends. */
function mayBeLive(row: CallRow | undefined): boolean {
  if (row === undefined) return false;
  const { state, result } = row;
  if (state === "PLACED") return !hasEnded(result);
  return state === "DIALING" || state === "UNKNOWN" || state === "NEEDS_REVIEW";
}
