import { findCheck } from "../../../shared/dial-plan/checks.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { DueRows } from "./due-rows.ts";
import type { InFlight } from "./in-flight.ts";
import type { Shareable } from "./shares.ts";
import type { View, Waiting } from "./view.ts";

/** Time for which calls wait for the pace of their checks. */
const checkAheadSeconds = 5;

/**
 * Returns how many more calls of an account may wait for a check, so that each is asked in time: the accounts whose calls wait
 * for it share its room evenly. A call that the check cannot take holds a place of its account for seconds, and in vain.
 */
export function createCheckRoom(
  { view, inFlight, dueRows }: { view: View; inFlight: InFlight; dueRows: DueRows },
  { clock, settings: { plan } }: Pick<DialerDeps, "clock" | "settings">,
): (account: string, check: string) => number {
  const now = clock.now();
  /** Dispatched calls that wait, by check and account. */
  const waiting = new Map<string, Map<string, number>>();
  for (const one of plan.checks === undefined ? [] : view.all()) {
    const { account, route, key } = one;
    for (const check of route.checks ?? []) {
      const count = inFlight.sentIn().get(key) ?? 0;
      if (count === 0 && (one.isPaused || !dueRows.mayBeDue(one.backlog, now))) continue;
      const accounts = waiting.get(check) ?? new Map<string, number>();
      waiting.set(check, accounts);
      accounts.set(account, (accounts.get(account) ?? 0) + count);
    }
  }
  return (account, check) => {
    const rate = findCheck(check, plan)?.requestsPerSecond ?? 0;
    const accounts = waiting.get(check);
    const share = Math.floor((rate * checkAheadSeconds) / Math.max(1, accounts?.size ?? 0));
    return Math.max(0, Math.max(1, share) - (accounts?.get(account) ?? 0));
  };
}

/**
 * Leaves out backlogs for whose calls their checks have no room. Chance decides which ones: the turns would begin with the
 * same client at each look. Backlogs whose heads are unknown come last, as they may be empty. Urgent calls of a client and
 * agent stay or go with the others.
 */
export function withinCheckRoom(
  backlogs: readonly Waiting[],
  { checkRoom, dueRows }: Pick<Shareable, "checkRoom"> & { dueRows: DueRows },
  { random, clock }: Pick<DialerDeps, "random" | "clock">,
): readonly Waiting[] {
  const checked = backlogs.filter(({ route }) => route.checks !== undefined);
  if (checked.length === 0) return backlogs;
  const left = new Map<string, number>();
  const groups = [...Map.groupBy(checked, ({ sharedBy, key }) => sharedBy ?? key)]
    .map(([name, own]) => {
      const isUnknown = own.every(({ backlog }) => dueRows.isUnknown(backlog, clock.now()));
      return { name, one: own[0], place: random.fraction() + (isUnknown ? 1 : 0) };
    })
    .toSorted((a, b) => a.place - b.place);
  const kept = new Set<string>();
  for (const { name, one } of groups) {
    if (one === undefined) continue;
    const { account, route } = one;
    const rooms = (route.checks ?? []).map((check) => {
      const of = JSON.stringify([account, check]);
      return { of, room: left.get(of) ?? checkRoom(account, check) };
    });
    if (rooms.some(({ room }) => room <= 0)) continue;
    for (const { of, room } of rooms) left.set(of, room - 1);
    kept.add(name);
  }
  return backlogs.filter(
    ({ route, sharedBy, key }) => route.checks === undefined || kept.has(sharedBy ?? key),
  );
}
