import DataLoader from "dataloader";
import { errorForLog } from "#shared/lib/log.ts";
import type { Route } from "#shared/calls/call-request.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import {
  countCalls,
  countOnce,
  dayKeyOf,
  leaveCalls,
  nextDayAt,
} from "#shared/policy/day-counts.ts";
import type { AccountDays } from "#shared/rules/calls-per-day.ts";
import type { ClaimedCall } from "#shared/rules/rule.ts";
import type { DialerDeps } from "../runtime/context.ts";

type DayDeps = Pick<DialerDeps, "documents" | "log">;
/** Handles calls of one day together. Returns those for which it succeeded. */
type Handle = (claims: readonly ClaimedCall[], deps: DayDeps) => Promise<readonly ClaimedCall[]>;

/**
 * Counts the claimed calls of one delivery towards the days of their accounts. Calls of one day that are counted or
 * subtracted at the same time share a statement. No day waits for another's.
 */
export function createAccountDays(deps: DayDeps): AccountDays {
  const together = (handle: Handle) => {
    const days = new Map<string, DataLoader<ClaimedCall, boolean>>();
    return async (claim: ClaimedCall): Promise<boolean> => {
      const name = dayNameOf(claim);
      const loader =
        days.get(name) ??
        new DataLoader<ClaimedCall, boolean>(
          async (claims) => {
            const handled = await handle(claims, deps);
            return claims.map((one) => handled.includes(one));
          },
          { cache: false },
        );
      days.set(name, loader);
      return loader.load(claim);
    };
  };
  const leave = together(leaveDay);
  return { enter: together(enterDay), leave: async (claim) => void (await leave(claim)) };
}

function dayNameOf({ dial, row }: ClaimedCall): string {
  return dayKeyOf({ account: dial.target.account.name }, row.claimedAt ?? 0).key;
}

/** Counts calls towards one day. Returns those that its account may still place on it. */
async function enterDay(
  claims: readonly ClaimedCall[],
  { documents, log }: DayDeps,
): Promise<readonly ClaimedCall[]> {
  const [first] = claims;
  if (first === undefined) return [];
  const { account, route } = first.dial.target;
  const { name, mode, callsPerDay: limit = Infinity } = account;
  const at = first.row.claimedAt ?? 0;
  const count = (calls: number) => countCalls({ account: name }, { at, calls, limit }, documents);
  const all = await count(claims.length);
  if (all.isCounted) return claims;
  if (all.isFirst) {
    const fields = { account: route.account, due_at: new Date(nextDayAt(at)).toISOString() };
    log(mode === "test" ? "info" : "alarm", "account.calls_per_day", fields);
  }
  const left = Math.min(all.left, claims.length);
  if (left === 0) return [];
  // Another delivery may have taken this room meanwhile. The calls then wait, and go as long as the day has room.
  return (await count(left)).isCounted ? claims.slice(0, left) : [];
}

/** Subtracts the counts of one day. If this fails, its account may place fewer calls on that day. */
async function leaveDay(
  claims: readonly ClaimedCall[],
  { documents, log }: DayDeps,
): Promise<readonly ClaimedCall[]> {
  const [first] = claims;
  if (first === undefined) return [];
  const of = { account: first.dial.target.account.name };
  const given = { at: first.row.claimedAt ?? 0, calls: claims.length };
  await leaveCalls(of, given, documents).catch((error: unknown) => {
    log("warning", "guard.release_failed", { call_id: first.row.id, error: errorForLog(error) });
  });
  return claims;
}

/**
 * Counts a call that may have rung towards the day of its claim, whether or not its account has room. It counts once,
 * however often it is counted so.
 *
 * @returns a function that gives the count back
 */
export async function countOnDay(
  { id, claimedAt }: Pick<CallRow, "id" | "claimedAt">,
  route: Route,
  { documents, clock, settings }: Pick<DialerDeps, "documents" | "clock" | "settings">,
): Promise<() => Promise<void>> {
  const { name: account, callsPerDay } = settings.table.account(route);
  if (callsPerDay === undefined) return async () => undefined;
  return countOnce({ account, call: id }, claimedAt ?? clock.now(), documents);
}
