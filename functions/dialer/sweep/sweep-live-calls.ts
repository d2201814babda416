import { type Unreadable, unreadable } from "#shared/ports/unreadable.ts";
import { hasEnded } from "#shared/calls/ended.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { minuteMs } from "#shared/lib/units.ts";
import { gatherLive, leaveLive } from "../record/live-calls.ts";
import type { DialerDeps } from "../runtime/context.ts";
import {
  type LiveCall,
  liveCallsIn,
  liveKeysOf,
  liveMsMax,
  livePartsIn,
} from "#shared/rules/live-calls.ts";

/** Entries older than this are compared with their rows. Younger ones may be of claims being written. */
const youngMs = minuteMs;

/**
 * Removes entries of calls that are not live by their rows, because a process may have died before it removed them,
 * and entries of calls without a known end within a call's maximum duration. The entry of a newer claim of the same
 * call stays. First entries that an account has under a former, higher limit are moved to where readers look.
 */
export async function sweepLiveCalls(
  deps: Pick<DialerDeps, "ledger" | "documents" | "settings" | "clock" | "random" | "log">,
): Promise<void> {
  const { documents, ledger, clock, settings } = deps;
  const { plan, table } = settings;
  const limits = new Map(
    Object.values(plan.agents).flatMap((route) => {
      const account = table.account(route);
      const { name, liveCalls: limit } = account;
      const lifeMs = liveMsMax(account);
      return limit === undefined ? [] : [[name, { route, limit, lifeMs }] as const];
    }),
  );
  if (limits.size === 0) return;
  const keys = [...limits].flatMap(([account, { limit }]) => liveKeysOf(account, limit));
  let read = await documents.read(keys);
  const spread = [...limits].filter(
    ([account, { limit }]) => livePartsIn(read, account) !== liveKeysOf(account, limit).length,
  );
  for (const [account, { limit }] of spread) await gatherLive(account, limit, deps);
  if (spread.length > 0) read = await documents.read(keys);
  const now = clock.now();
  for (const [account, { route, limit, lifeMs }] of limits) {
    const old = liveCallsIn(read, { account, limit }).filter(({ at }) => at <= now - youngMs);
    const rows = await ledger.read(old.map(({ call }) => call));
    const isOver = ({ call, at }: LiveCall) => at + lifeMs <= now || !mayBeLive(rows.get(call));
    const over = old.filter(isOver);
    await leaveLive(
      over.map(({ call: id, claim }) => ({ id, claim, route, isMeasured: false })),
      deps,
    );
  }
}

/** True if the call may be live, by its row. */
function mayBeLive(row: CallRow | Unreadable | undefined): boolean {
  if (row === unreadable) return true;
  if (row === undefined) return false;
  const { state, result } = row;
  if (state === "PLACED") return !hasEnded(result);
  return state === "DIALING" || state === "UNKNOWN" || state === "NEEDS_REVIEW";
}
