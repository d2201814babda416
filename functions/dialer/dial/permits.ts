import { accountNameOf, type Route } from "../../../shared/calls/route.ts";
import { accountOf } from "../../../shared/dial-plan/routes.ts";
import { paceKeyOf } from "../../../shared/policy/account-pace.ts";
import type { Pace } from "../../../shared/telephony/rate.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { leadMs, leadMsMax } from "../runtime/round-trips.ts";

/** Maximum wait of a claimed call for its permit: other calls may have taken permits since the claim. */
const waitMsMax = 7_000;
/**
 * Maximum delay of a request after its permit's time, of a pace below 20 a second and of a faster one. Late requests
 * leave with those of the next permits: in any second at most 1.1 times the rate, and the burst.
 */
const permitAgeMsMax = { slow: 50, fast: 100 } as const;
const fastIntervalUsMax = 50_000;
const permitsMax = 3;

function findPace(route: Route, { settings }: Pick<DialerDeps, "settings">) {
  return accountOf(route, settings.plan).pace;
}

/** Permission to send one request. */
export interface Permit {
  /** Milliseconds since the epoch; the request leaves then, or a moment later. */
  permitAt: number;
}

/** Takes permits for the calls of one delivery. Permits requested at the same time share one statement. */
export function createPermits(deps: DialerDeps) {
  const { documents, clock, memory } = deps;
  interface Asking {
    resolve(permitAt: number | undefined): void;
    reject(error: unknown): void;
  }
  const asking = new Map<string, Asking[]>();
  /** True once a permit of this delivery was void: the next ones are requested further ahead. */
  let isVoid = false;

  async function takeFor(account: string, pace: Pace): Promise<void> {
    await Promise.resolve();
    const all = asking.get(account) ?? [];
    asking.delete(account);
    if (all.length === 0) return;
    const askedAt = clock.now();
    const lead = Math.min(leadMs(memory) * (isVoid ? 2 : 1), leadMsMax);
    const window = { notBefore: askedAt + lead, notAfter: askedAt + waitMsMax };
    try {
      const key = paceKeyOf(account);
      const permitTimes = await documents.takePermits(key, pace, { ...window, count: all.length });
      for (const [index, { resolve }] of all.entries()) resolve(permitTimes[index]);
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
      const pace = findPace(route, deps);
      if (pace === undefined) return { permitAt: clock.now() };
      const permitAt = await ask(accountNameOf(route), pace);
      return permitAt === undefined ? undefined : { permitAt };
    },
    /** Returns true if a request may be sent under this permit now. */
    isValid(route: Route, { permitAt }: Permit): boolean {
      const pace = findPace(route, deps);
      if (pace === undefined) return true;
      const late = clock.now() - permitAt;
      const { fast, slow } = permitAgeMsMax;
      const isValid = late >= 0 && late <= (pace.intervalUs <= fastIntervalUsMax ? fast : slow);
      isVoid ||= !isValid;
      return isValid;
    },
    triesMax: permitsMax,
  };
}
export type Permits = ReturnType<typeof createPermits>;
