import { hasEnded } from "../../../shared/calls/record-result.ts";
import type { CallRow } from "../../../shared/calls/call-row.ts";
import { accountNameOf } from "../../../shared/calls/call-request.ts";
import { accountOf } from "../../../shared/dial-plan/dial-plan.ts";
import { minuteMs } from "../../../shared/lib/units.ts";
import { liveCallsIn, liveKeysOf } from "../../../shared/policy/live-calls.ts";
import { leaveLive } from "../record/live-calls.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** Age from which on an entry is held against its row: younger ones are those of claims under way. */
const youngMs = minuteMs;

/**
 * Removes entries of live calls whose rows say that they are not: a process may have died before it removed them. A call
 * that was claimed anew meanwhile has an entry of its new claim, which stays.
 */
export async function sweepLiveCalls(deps: DialerDeps): Promise<void> {
  const { documents, ledger, clock, settings } = deps;
  const { plan } = settings;
  const limits = new Map(
    Object.values(plan.agents).flatMap((route) => {
      const { liveCalls } = accountOf(route, plan);
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

/** True if the call may ring or be under way, by its row. One whose end nobody knows counts until its entry ends. */
function mayBeLive(row: CallRow | undefined): boolean {
  if (row === undefined) return false;
  const { state, result } = row;
  if (state === "PLACED") return !hasEnded(result);
  return state === "DIALING" || state === "UNKNOWN" || state === "NEEDS_REVIEW";
}
