import { type Unreadable, unreadable } from "#shared/ports/unreadable.ts";
import { hasEnded } from "#shared/calls/ended.ts";
import type { Route } from "#shared/calls/call-request.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { minuteMs } from "#shared/lib/units.ts";
import { gatherLive, leaveLive } from "../record/live-calls.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { SweepTime } from "./sweep-time.ts";
import {
  type LiveCall,
  liveCallsIn,
  liveKeysOf,
  liveMsMax,
  livePartsIn,
} from "#shared/rules/live-calls.ts";

/** Entries older than this are compared with their rows. Younger ones may be of claims being written. */
const youngMs = minuteMs;

/** Accounts whose calls are read together: at most 500 calls each. */
const accountsPerRead = 10;
/** Accounts by which each sweep begins later. A sweep's part has statements for at least as many. */
const accountsPerSweep = 20;

/**
 * Removes entries of calls that are not live by their rows, because a process may have died before it removed them,
 * and entries of calls without a known end within a call's maximum duration. The entry of a newer claim of the same
 * call stays. First entries that an account has under a former, higher limit are moved to where readers look. Each sweep
 * begins with other accounts, so that all have their turn though a sweep has time for only some of them.
 *
 * @param last.epoch the number of sweeps so far
 */
export async function sweepLiveCalls(
  { epoch }: { epoch: number },
  time: SweepTime,
  deps: Pick<DialerDeps, "ledger" | "documents" | "settings" | "clock" | "random" | "log">,
): Promise<void> {
  const accounts = listLimited(deps);
  const start = accounts.length === 0 ? 0 : (epoch * accountsPerSweep) % accounts.length;
  const turns = [...accounts.slice(start), ...accounts.slice(0, start)];
  for (let first = 0; first < turns.length; first += accountsPerRead) {
    if (time.isOver()) return;
    await sweepSome(turns.slice(first, first + accountsPerRead), time, deps);
  }
}

/** An account with `liveCalls`, by its name (`accountNameOf`), and how long a call counts if no end is known. */
interface Limited {
  account: string;
  route: Route;
  limit: number;
  lifeMs: number;
}

function listLimited({ settings: { plan, table } }: Pick<DialerDeps, "settings">): Limited[] {
  const limited = Object.values(plan.agents).flatMap((route) => {
    const resolved = table.account(route);
    const { name: account, liveCalls: limit } = resolved;
    return limit === undefined ? [] : [{ account, route, limit, lifeMs: liveMsMax(resolved) }];
  });
  return [...new Map(limited.map((one) => [one.account, one])).values()];
}

async function sweepSome(
  accounts: readonly Limited[],
  time: SweepTime,
  deps: Pick<DialerDeps, "ledger" | "documents" | "settings" | "clock" | "random" | "log">,
): Promise<void> {
  const { documents, ledger, clock } = deps;
  const keys = accounts.flatMap(({ account, limit }) => liveKeysOf(account, limit));
  let read = await documents.read(keys);
  const spread = accounts.filter(
    ({ account, limit }) => livePartsIn(read, account) !== liveKeysOf(account, limit).length,
  );
  for (const { account, limit } of spread) {
    if (time.isOver()) return;
    await gatherLive(account, limit, deps);
  }
  if (spread.length > 0) read = await documents.read(keys);
  const now = clock.now();
  const old = accounts.map((one) => ({
    ...one,
    calls: liveCallsIn(read, one).filter(({ at }) => at <= now - youngMs),
  }));
  const ids = old.flatMap(({ calls }) => calls.map(({ call }) => call));
  if (ids.length === 0) return;
  const rows = await ledger.read(ids);
  for (const { route, lifeMs, calls } of old) {
    const isOver = ({ call, at }: LiveCall) => at + lifeMs <= now || !mayBeLive(rows.get(call));
    const ended = calls.filter(isOver);
    if (ended.length === 0) continue;
    if (time.isOver()) return;
    await leaveLive(
      ended.map(({ call: id, claim }) => ({ id, claim, route, isMeasured: false })),
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
