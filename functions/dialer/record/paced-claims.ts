import { isPaced } from "#shared/rules/gates.ts";
import type { ResolvedAccount } from "#shared/dial-plan/route-table.ts";
import type { DialerMemory, PacedClaims } from "../runtime/memory.ts";

/** Claims at once of an account that this process does not know yet, and their bounds. */
const first = 60;
const least = 10;
const ceiling = 2_000;
/** Factors for a permit that was used in time: before the first one was void, and later. */
const atFirst = 1.02;
const afterUse = 1.004;
/** Factor for void permits. Those of a tenth of a second count once, as one stall delays all. */
const afterVoid = 0.85;
const onceMs = 100;

type Memory = Pick<DialerMemory, "paced">;

function claimsOf(account: string, { paced }: Memory): PacedClaims {
  const known = paced.get(account) ?? { atOnce: first, reducedAt: 0, deliveries: new Set() };
  paced.set(account, known);
  return known;
}

/**
 * Records whether a request could leave at its permit's time. A process with more claims than its machine can handle is late
 * for all of them, and each late call takes another permit. So it claims as many at once as leave in time.
 */
export function recordPermit(
  account: string,
  { isInTime, now }: { isInTime: boolean; now: number },
  memory: Memory,
): void {
  const claims = claimsOf(account, memory);
  if (isInTime) {
    const factor = claims.reducedAt === 0 ? atFirst : afterUse;
    claims.atOnce = Math.min(ceiling, claims.atOnce * factor);
  } else if (now > claims.reducedAt + onceMs) {
    claims.atOnce = Math.max(least, claims.atOnce * afterVoid);
    claims.reducedAt = now;
  }
}

/** A delivery's part of what its process claims of paced accounts. */
export interface PacedDelivery {
  /**
   * Returns how many calls of an account the delivery may have claimed, at most `most`. The oldest deliveries have all that they
   * may have and the others wait, as the claims of one delivery share their writes. Requests under way do not count.
   */
  limitOf(account: string, most: number): number;
  /** Counts a request as under way until it has ended. */
  send<Sent>(account: string, request: () => Promise<Sent>): Promise<Sent>;
  /** Ends the delivery's part of an account: none of its calls is left. */
  end(account: string): void;
}

export function createPacedDelivery(
  accounts: readonly (Pick<ResolvedAccount, "name"> & Parameters<typeof isPaced>[0])[],
  memory: Memory,
): PacedDelivery {
  const own = new Map(accounts.filter(isPaced).map(({ name }) => [name, { sending: 0 }]));
  for (const [name, one] of own) claimsOf(name, memory).deliveries.add(one);
  return {
    limitOf(account, most) {
      const one = own.get(account);
      if (one === undefined) return most;
      const { atOnce, deliveries } = claimsOf(account, memory);
      const before = [...deliveries].indexOf(one) * most;
      return Math.min(most, Math.max(0, Math.floor(atOnce) - before) + one.sending);
    },
    async send(account, request) {
      const one = own.get(account) ?? { sending: 0 };
      one.sending += 1;
      return await request().finally(() => (one.sending -= 1));
    },
    end(account) {
      const one = own.get(account);
      if (one !== undefined) claimsOf(account, memory).deliveries.delete(one);
    },
  };
}
