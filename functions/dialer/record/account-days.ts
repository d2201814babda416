import DataLoader from "dataloader";
import { errorForLog } from "../../../shared/lib/log.ts";
import {
  countCalls,
  dayKeyOf,
  nextDayAt,
  releaseCalls,
} from "../../../shared/policy/day-counts.ts";
import type { AccountDays } from "../../../shared/rules/calls-per-day.ts";
import type { ClaimedCall } from "../../../shared/rules/rule.ts";
import type { DialerDeps } from "../runtime/context.ts";

type DayDeps = Pick<DialerDeps, "documents" | "log">;

/**
 * Counts the claimed calls of one delivery towards the days of their accounts. Those counted, or given back, at the same
 * time share a statement.
 */
export function createAccountDays(deps: DayDeps): AccountDays {
  /** Has each day's claims handled together, and returns for each whether it is among the results. */
  const together = (handle: (claims: readonly ClaimedCall[]) => Promise<readonly ClaimedCall[]>) =>
    new DataLoader<ClaimedCall, boolean>(
      async (claims) => {
        const byDay = [...Map.groupBy(claims, dayNameOf).values()];
        const handled = await Promise.allSettled(byDay.map(handle));
        return claims.map((one) => {
          const result = handled[byDay.findIndex((some) => some.includes(one))];
          if (result?.status === "fulfilled") return result.value.includes(one);
          return new Error("the calls of a day could not be counted", { cause: result?.reason });
        });
      },
      { cache: false },
    );
  const entering = together((claims) => enterDay(claims, deps));
  const leaving = together((claims) => leaveDay(claims, deps));
  return {
    enter: (claim) => entering.load(claim),
    leave: async (claim) => void (await leaving.load(claim)),
  };
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
    const fields = { provider: route.provider, due_at: new Date(nextDayAt(at)).toISOString() };
    log(mode === "test" ? "info" : "alarm", "account.calls_per_day", fields);
  }
  const left = Math.min(all.left, claims.length);
  if (left === 0) return [];
  // Another delivery may have taken this room meanwhile: the calls then wait, and go while the day has some.
  return (await count(left)).isCounted ? claims.slice(0, left) : [];
}

/** Gives back the counts of one day. If this fails, its account may place fewer calls on it. */
async function leaveDay(
  claims: readonly ClaimedCall[],
  { documents, log }: DayDeps,
): Promise<readonly ClaimedCall[]> {
  const [first] = claims;
  if (first === undefined) return [];
  const of = { account: first.dial.target.account.name };
  const given = { at: first.row.claimedAt ?? 0, calls: claims.length };
  await releaseCalls(of, given, documents).catch((error: unknown) => {
    log("warning", "guard.release_failed", { call_id: first.row.id, error: errorForLog(error) });
  });
  return claims;
}
