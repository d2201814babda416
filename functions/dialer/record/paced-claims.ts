import { getOrMake } from "#shared/lib/get-or-make.ts";
import { isPaced } from "#shared/rules/gates.ts";
import type { ResolvedAccount } from "#shared/dial-plan/route-table.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { DialerMemory, PacedCalls, PacedClaims } from "../runtime/memory.ts";

/**
 * Claims at once of an account that this process does not know yet, and their bounds. The first are so many that they hold
 * nobody up: calls that are claimed one by one share no statement.
 */
const first = 400;
const least = 10;
const ceiling = 2_000;
/** Factors for a permit that was used in time: before the first one was void, and later. */
const atFirst = 1.02;
const afterUse = 1.004;
/** Factor for void permits. Those of a tenth of a second count once, as one stall delays all. */
const afterVoid = 0.85;
const onceMs = 100;

/** Claimed calls per concurrent request: while one is under way, another waits for its permit or for the ledger. */
export const claimsARequest = 2;
/**
 * Time for which a paced account claims no more calls than find a connection, after one of them missed its permit while it
 * waited for a connection: its provider answers slowly, compared with the ledger.
 */
const crowdedMs = 60_000;

type Memory = Pick<DialerMemory, "paced">;

function claimsOf(account: string, { paced }: Memory): PacedClaims {
  return getOrMake(paced, account, () => ({
    atOnce: first,
    reducedAt: 0,
    crowdedAt: -Infinity,
    deliveries: new Set(),
  }));
}

/** The time at which a call could leave, compared with its permit's. */
export type Met = "in_time" | "late" | "crowded";

/**
 * Records whether a request could leave at its permit's time. A process with more claims than its machine can handle is late
 * for all of them, and each late call takes another permit. So it claims as many at once as leave in time. A call that was
 * `crowded`, as it waited for a connection, is no sign of that.
 */
export function recordPermit(
  account: string,
  { met, now }: { met: Met; now: number },
  memory: Memory,
): void {
  const claims = claimsOf(account, memory);
  if (met === "crowded") {
    claims.crowdedAt = now;
  } else if (met === "in_time") {
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
   * Returns how many calls of an account the delivery may have claimed if it may have so many connections. The oldest
   * deliveries have all that they can use and the others wait, as the claims of one delivery share their writes. Requests under
   * way do not count.
   */
  limitOf(account: string, connections: number): number;
  /** Counts a request as under way until it has ended. `onSending` is called once it counts, before it begins. */
  send<Sent>(account: string, request: () => Promise<Sent>): Promise<Sent>;
  /** Counts a call as one that claims, from its wait for a slot until it has ended. */
  claim<Done>(account: string, call: () => Promise<Done>): Promise<Done>;
}

/**
 * @param accounts those of the delivery's calls
 * @param until end of the invocation, in milliseconds since the epoch
 */
export function createPacedDelivery(
  accounts: readonly (Pick<ResolvedAccount, "name"> & Parameters<typeof isPaced>[0])[],
  { until, onSending }: { until: number; onSending(): void },
  { memory, clock }: Pick<DialerDeps, "memory" | "clock">,
): PacedDelivery {
  const own = new Map<string, PacedCalls>(
    accounts.filter(isPaced).map(({ name }) => [name, { left: 0, sending: 0, until }]),
  );
  return {
    limitOf(account, connections) {
      const calls = own.get(account);
      if (calls === undefined) return connections * claimsARequest;
      const { atOnce, crowdedAt, deliveries } = claimsOf(account, memory);
      const isCrowded = clock.now() < crowdedAt + crowdedMs;
      const most = isCrowded ? connections : connections * claimsARequest;
      let free = Math.floor(atOnce);
      for (const older of deliveries) {
        if (older === calls) break;
        if (older.until > clock.now()) free -= Math.min(most, older.left - older.sending);
      }
      return Math.min(most, Math.max(0, free) + calls.sending);
    },
    async send(account, request) {
      const calls = own.get(account);
      if (calls === undefined) return request();
      calls.sending += 1;
      onSending();
      return await request().finally(() => (calls.sending -= 1));
    },
    async claim(account, call) {
      const calls = own.get(account);
      if (calls === undefined) return call();
      const { deliveries } = claimsOf(account, memory);
      deliveries.add(calls);
      calls.left += 1;
      return await call().finally(() => {
        calls.left -= 1;
        if (calls.left === 0) deliveries.delete(calls);
      });
    },
  };
}
