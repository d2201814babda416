import type { Route } from "#shared/calls/call-request.ts";
import { gatherLive, leaveOver, oldEntries } from "../record/live-calls.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { SweepTime } from "./sweep-time.ts";
import { liveCallsIn, liveKeysOf, livePartsIn } from "#shared/rules/live-calls.ts";

/** Accounts whose calls are read together: at most 500 calls each. */
const accountsPerRead = 10;
/** Accounts by which each sweep begins later. A sweep's part has statements for at least as many. */
const accountsPerSweep = 20;

/**
 * Removes entries of calls that are not live by their rows, because a process may have died before it removed them,
 * and entries of calls without a known end within a call's maximum duration. The entry of a newer claim of the same
 * call stays. First entries that an account has under a former, higher limit are moved to where readers look. Each sweep
 * begins with other accounts, so that all have their turn though a sweep has time for only some of them. The plan names no
 * accounts of test calls: `pollLive` does the same for these.
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

/** An account with `liveCalls`, by its name (`accountNameOf`). */
interface Limited {
  account: string;
  route: Route;
  limit: number;
}

function listLimited({ settings: { plan, table } }: Pick<DialerDeps, "settings">): Limited[] {
  const limited = Object.values(plan.agents).flatMap((route) => {
    const { name: account, liveCalls: limit } = table.account(route);
    return limit === undefined ? [] : [{ account, route, limit }];
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
  const old = accounts.map((one) => ({ ...one, calls: oldEntries(liveCallsIn(read, one), now) }));
  const ids = old.flatMap(({ calls }) => calls.map(({ call }) => call));
  if (ids.length === 0) return;
  const rows = await ledger.read(ids);
  for (const one of old) {
    if (time.isOver()) return;
    await leaveOver(one, rows, deps);
  }
}
