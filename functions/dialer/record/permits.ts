import { getOrMake } from "#shared/lib/get-or-make.ts";
import { permitAgeMsMax } from "#shared/lib/timing.ts";
import { leadMs } from "../runtime/time-limits.ts";
import type { ResolvedAccount } from "#shared/dial-plan/route-table.ts";
import type { Documents } from "#shared/ports/documents.ts";
import type { Pace, PermitRequest } from "#shared/telephony/rate.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { paceKeyOf } from "#shared/rules/pace.ts";
import { recordPermit } from "./paced-claims.ts";
import { permitUseOf, takeLeave, handOutPermits } from "./permit-use.ts";
import DataLoader from "dataloader";
/** Maximum permits that one claim takes, if those before were void. */
const permitsMax = 3;

/** Permission to send one request. */
export interface Permit {
  /** Milliseconds since the epoch. The request leaves at this time or a moment later. */
  permitAt: number;
}

/** Takes permits for the calls of one delivery. Permits requested at the same time share one statement and its window. */
export function createPermits(deps: Pick<DialerDeps, "documents" | "clock" | "memory">) {
  const { documents, clock, memory } = deps;
  const loaders = new Map<string, DataLoader<Pace, number | undefined>>();

  function createLoader(account: string) {
    const takeAll = async (paces: readonly Pace[]): Promise<(number | undefined)[]> => {
      const [pace] = paces;
      if (pace === undefined) return [];
      const times = await handOutPermits(permitUseOf(account, memory), {
        pace,
        count: paces.length,
        leadMs: leadMs(memory),
        take: (window) => documents.takePermits(paceKeyOf(account), pace, window),
        now: clock.now,
      });
      return paces.map((_, index) => times[index]);
    };
    return new DataLoader(takeAll, { cache: false });
  }

  return {
    /**
     * Takes a permit. `permitWaitMsMax` bounds the wait; undefined if the account has no permit in that time. For an
     * account without a pace, permits are for now.
     */
    async take({ name, pace }: ResolvedAccount): Promise<Permit | undefined> {
      if (pace === undefined) return { permitAt: clock.now() };
      const permitAt = await getOrMake(loaders, name, createLoader).load(pace);
      return permitAt === undefined ? undefined : { permitAt };
    },
    /**
     * Waits until a request may be sent under this permit. Resolves to false if it may not: the permit is void.
     *
     * @param isCrowded true if its time passed in the wait for a connection: that does not mean that the machine is slow
     */
    async leave(
      { name, pace }: ResolvedAccount,
      { permitAt }: Permit,
      { isCrowded }: { isCrowded: boolean },
    ): Promise<boolean> {
      if (pace === undefined) return true;
      const now = clock.now();
      const leaveAt = takeLeave(permitUseOf(name, memory), permitAt, { pace, now });
      if (leaveAt === undefined) {
        recordPermit(name, { met: isCrowded ? "crowded" : "late", now }, memory);
        return false;
      }
      if (leaveAt <= permitAt + permitAgeMsMax.fast)
        recordPermit(name, { met: "in_time", now }, memory);
      if (leaveAt > now) await clock.sleep(leaveAt - now);
      return true;
    },
    triesMax: permitsMax,
  };
}

/** Takes one permit of a pace that is no account's. Undefined: there is none in the window. */
export async function takeOneOf(
  name: string,
  { pace, window }: { pace: Pace; window: PermitRequest },
  documents: Pick<Documents, "takePermits">,
): Promise<number | undefined> {
  return (await documents.takePermits(paceKeyOf(name), pace, window)).times[0];
}

export type Permits = ReturnType<typeof createPermits>;
