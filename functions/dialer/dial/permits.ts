import DataLoader from "dataloader";
import { accountNameOf, type Route } from "../../../shared/calls/route.ts";
import { accountOf } from "../../../shared/dial-plan/routes.ts";
import { paceKeyOf } from "../../../shared/policy/account-pace.ts";
import type { Pace } from "../../../shared/telephony/rate.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { leadMs, leadMsMax } from "../runtime/time-limits.ts";

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
  const loaders = new Map<string, DataLoader<Pace, number | undefined>>();
  /** True once a permit of this delivery was void: the next ones are requested further ahead. */
  let isVoid = false;

  function createLoader(account: string) {
    const takeAll = async (paces: readonly Pace[]): Promise<(number | undefined)[]> => {
      const [pace] = paces;
      if (pace === undefined) return [];
      const now = clock.now();
      const lead = Math.min(leadMs(memory) * (isVoid ? 2 : 1), leadMsMax);
      const window = { notBefore: now + lead, notAfter: now + waitMsMax, count: paces.length };
      const permitTimes = await documents.takePermits(paceKeyOf(account), pace, window);
      return paces.map((_, index) => permitTimes[index]);
    };
    return new DataLoader(takeAll, { cache: false });
  }

  return {
    /**
     * Takes a permit within the next 5 s, or undefined if the account has none. An account without a pace
     * gets one for now.
     */
    async take(route: Route): Promise<Permit | undefined> {
      const pace = findPace(route, deps);
      if (pace === undefined) return { permitAt: clock.now() };
      const account = accountNameOf(route);
      const loader = loaders.get(account) ?? createLoader(account);
      loaders.set(account, loader);
      const permitAt = await loader.load(pace);
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
