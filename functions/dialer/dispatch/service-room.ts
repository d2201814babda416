import { checkAheadSeconds } from "#shared/lib/timing.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { DueRows } from "./due-rows.ts";
import type { DispatcherState } from "./dispatcher-state.ts";
import type { Shareable } from "./shares.ts";
import type { Waiting } from "./snapshot.ts";

/** The state of a service among the backlogs of an account. */
interface Asking {
  /** Dispatched calls that wait for it. */
  waiting: number;
  backlogs: number;
  /** True if calls wait for it, or may soon. */
  isActive: boolean;
}

const none: Asking = { waiting: 0, backlogs: 0, isActive: false };

/** True if services are asked about the calls of a backlog. */
function asksServices({ target }: Waiting): boolean {
  return target.services.length > 0;
}

/**
 * Returns how many more calls of an account may wait for a service, so that it is asked about each in time: the accounts whose
 * calls wait for the service share its room evenly. A call that the service cannot take occupies a place of its account
 * for seconds without success. While the account has calls of other agents, half of its places are reserved for them.
 */
export function createServiceRoom(
  {
    snapshot,
    inFlight,
    dueRows,
    records,
  }: Pick<DispatcherState, "snapshot" | "inFlight" | "dueRows" | "records">,
  { clock }: Pick<DialerDeps, "clock">,
): Shareable["serviceRoom"] {
  const now = clock.now();
  const askingOf = new Map<string, Map<string, Asking>>();
  /** Backlogs of each account, and the combinations of services of its agents. */
  const accounts = new Map<string, { backlogs: number; named: Set<string> }>();
  const all = [...snapshot.all()];
  // Most plans have no such service, and nothing is counted.
  for (const one of all.some(asksServices) ? all : []) {
    const { account, key } = one;
    const services = one.target.services.map(({ name }) => name);
    const { backlogs, named } = accounts.get(account) ?? { backlogs: 0, named: new Set() };
    if (services.length > 0) named.add(services.join());
    accounts.set(account, { backlogs: backlogs + 1, named });
    const count = inFlight.sentIn().get(key) ?? 0;
    const isActive = count > 0 || (!one.isStopped && dueRows.mayBeDue(one.backlog, now));
    for (const service of services) {
      const asking = askingOf.get(service) ?? new Map<string, Asking>();
      askingOf.set(service, asking);
      const known = asking.get(account) ?? none;
      asking.set(account, {
        waiting: known.waiting + count,
        backlogs: known.backlogs + 1,
        isActive: known.isActive || isActive,
      });
    }
  }
  return (account, { name, requestsPerSecond }) => {
    const asking = askingOf.get(name) ?? new Map<string, Asking>();
    const own = asking.get(account) ?? none;
    const active = [...asking.values()].filter((one) => one.isActive).length;
    const { backlogs = 0, named } = accounts.get(account) ?? {};
    const share = Math.floor((requestsPerSecond * checkAheadSeconds) / Math.max(1, active));
    const most = Math.max(records.mostOf(account), 2) / ((named?.size ?? 0) + 1);
    const places = backlogs > own.backlogs ? Math.floor(most) : Infinity;
    return Math.max(0, Math.max(1, Math.min(share, places)) - own.waiting);
  };
}

/**
 * Leaves out backlogs if their services have no room for their calls. The choice is random, because turns would begin
 * with the same client at each tick. Backlogs with unknown heads come last, because they may be empty. Urgent calls
 * of a client and agent stay or go with the others.
 */
export function withinServiceRoom(
  backlogs: readonly Waiting[],
  { serviceRoom, dueRows }: Pick<Shareable, "serviceRoom"> & { dueRows: DueRows },
  { random, clock }: Pick<DialerDeps, "random" | "clock">,
): readonly Waiting[] {
  const asking = backlogs.filter(asksServices);
  if (asking.length === 0) return backlogs;
  const left = new Map<string, number>();
  const groups = [...Map.groupBy(asking, ({ allowanceKey, key }) => allowanceKey ?? key)]
    .map(([name, own]) => {
      const isUnknown = own.every(({ backlog }) => dueRows.isUnknown(backlog, clock.now()));
      return { name, one: own[0], place: random.fraction() + (isUnknown ? 1 : 0) };
    })
    .toSorted((a, b) => a.place - b.place);
  const kept = new Set<string>();
  for (const { name, one } of groups) {
    if (one === undefined) continue;
    const { account } = one;
    const rooms = one.target.services.map((service) => {
      const of = JSON.stringify([account, service.name]);
      return { of, room: left.get(of) ?? serviceRoom(account, service) };
    });
    if (rooms.some(({ room }) => room <= 0)) continue;
    for (const { of, room } of rooms) left.set(of, room - 1);
    kept.add(name);
  }
  return backlogs.filter((one) => !asksServices(one) || kept.has(one.allowanceKey ?? one.key));
}
