import { accountNameOf, type Route } from "../../../shared/providers/index.ts";
import { accountOf } from "../../../shared/dial-plan/routes.ts";
import { paceKeyOf } from "../../../shared/schedule/account-pace.ts";
import type { Pace } from "../../../shared/schedule/pacing.ts";
import type { DialerDeps, DialerMemory } from "../context.ts";

/** Maximum wait of a claimed call for its permit: other calls may have taken permits since the claim. */
const waitMsMax = 7_000;
/** Maximum delay of a request after its permit's time: late requests would leave all at once. */
const permitAgeMsMax = 50;
const permitsMax = 3;
/** Minimum lead of a permit until ten round trips are known, and the maximum lead. */
const firstLeadMs = 300;
const leadMsMax = 2_000;
const roundTripsKnown = 10;
const roundTripsKept = 50;

export function paceOfRoute(route: Route, { settings }: Pick<DialerDeps, "settings">) {
  return accountOf(route, settings.plan).pace;
}

/** Records a round trip to the ledger: permits are requested that much ahead. */
export function noteRoundTrip(
  { roundTripsMs }: Pick<DialerMemory, "roundTripsMs">,
  ms: number,
): void {
  roundTripsMs.push(ms);
  if (roundTripsMs.length > roundTripsKept) roundTripsMs.shift();
}

/** The 95th percentile of the latest round trips in milliseconds, 0 if none is known. */
export function knownRoundTripMs({ roundTripsMs }: DialerMemory): number {
  const sorted = roundTripsMs.toSorted((a, b) => a - b);
  return Math.min(leadMsMax, sorted[Math.floor(sorted.length * 0.95)] ?? 0);
}

/** Lead of a permit in milliseconds: a round trip, and at least 300 ms until ten round trips are known. */
export function leadMs(memory: DialerMemory): number {
  const known = knownRoundTripMs(memory);
  return memory.roundTripsMs.length < roundTripsKnown ? Math.max(firstLeadMs, known) : known;
}

/** Permission to send one request. */
export interface Permit {
  /** Milliseconds since the epoch; the request leaves then, or at most 50 ms later. */
  moment: number;
}

/** Takes permits for the calls of one delivery. Permits requested at the same time share one statement. */
export function createPermits(deps: DialerDeps) {
  const { documents, clock, memory } = deps;
  interface Asking {
    resolve(moment: number | undefined): void;
    reject(error: unknown): void;
  }
  const asking = new Map<string, Asking[]>();

  async function takeFor(account: string, pace: Pace): Promise<void> {
    await Promise.resolve();
    const all = asking.get(account) ?? [];
    asking.delete(account);
    if (all.length === 0) return;
    const askedAt = clock.now();
    const window = { notBefore: askedAt + leadMs(memory), notAfter: askedAt + waitMsMax };
    try {
      const key = paceKeyOf(account);
      const moments = await documents.takePermits(key, pace, all.length, window);
      for (const [index, { resolve }] of all.entries()) resolve(moments[index]);
    } catch (error) {
      for (const { reject } of all) reject(error);
    }
  }

  const ask = (account: string, pace: Pace): Promise<number | undefined> => {
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
    const others = asking.get(account);
    asking.set(account, [...(others ?? []), { resolve, reject }]);
    if (others === undefined) void takeFor(account, pace);
    return promise;
  };

  return {
    /**
     * Takes a permit within the next 5 s, or undefined if the account has none. An account without a pace
     * gets one for now.
     */
    async take(route: Route): Promise<Permit | undefined> {
      const pace = paceOfRoute(route, deps);
      if (pace === undefined) return { moment: clock.now() };
      const moment = await ask(accountNameOf(route), pace);
      return moment === undefined ? undefined : { moment };
    },
    /** Returns true if a request may be sent under this permit now. */
    isValid(route: Route, { moment }: Permit): boolean {
      const pace = paceOfRoute(route, deps);
      if (pace === undefined) return true;
      const late = clock.now() - moment;
      // A request later than one interval would leave with the next one: that second would hold more than
      // rate and burst.
      return late >= 0 && late <= permitAgeMsMax && late < pace.intervalUs / 1000;
    },
    triesMax: permitsMax,
  };
}
export type Permits = ReturnType<typeof createPermits>;
