import { accountNameOf, type Route } from "../../../shared/providers/index.ts";
import { accountOf } from "../../../shared/dial-plan/dial-plan.ts";
import type { DocumentKey, DocumentsRead } from "../../../shared/documents/documents.ts";
import type { Pace } from "../../../shared/schedule/pacing.ts";
import type { DialerMemory, ReadyDeps } from "../dialer.ts";

/** A call whose moment lies further ahead is not claimed: it waits in the ledger. */
export const claimAheadMsMax = 5_000;
/** A claimed call waits so long for its moment: others may have taken moments between its claim and its permit. */
const waitMsMax = 7_000;
/** A request that cannot leave this soon after its moment must not go: late requests would go all at once. */
const permitAgeMsMax = 50;
const permitsMax = 3;
/** The least lead of a permit until ten round trips are known, and the longest one. */
const firstLeadMs = 300;
const leadMsMax = 2_000;
const roundTripsKnown = 10;
const roundTripsKept = 50;

export function paceOfRoute(route: Route, { settings }: Pick<ReadyDeps, "settings">) {
  return accountOf(route, settings.plan).pace;
}

export function paceKeyOf(account: string): DocumentKey<"pace"> {
  return { kind: "pace", key: account };
}

export function calledUpKeyOf(account: string): DocumentKey<"called-up"> {
  return { kind: "called-up", key: account };
}

/** The earliest moment at which a request of the account may leave, as its pace was read; in milliseconds. */
export function nextPermitAt(account: string, pace: Pace, documents: DocumentsRead): number {
  const arrivalUs = documents.get("pace", account)?.value.arrivalUs ?? 0;
  return (arrivalUs - (pace.burst - 1) * pace.intervalUs) / 1000;
}

/** Up to when calls of the account are called up, as that was read; in milliseconds since the epoch. */
export function calledUpTo(account: string, documents: DocumentsRead): number {
  return (documents.get("called-up", account)?.value.arrivalUs ?? 0) / 1000;
}

/** Notes how long the ledger took to answer: permits are asked for that much ahead. */
export function noteRoundTrip(
  { roundTripsMs }: Pick<DialerMemory, "roundTripsMs">,
  ms: number,
): void {
  roundTripsMs.push(ms);
  if (roundTripsMs.length > roundTripsKept) roundTripsMs.shift();
}

/** The 95th percentile of the latest round trips, as far as any are known; in milliseconds. */
export function knownRoundTripMs({ roundTripsMs }: DialerMemory): number {
  const sorted = roundTripsMs.toSorted((a, b) => a - b);
  return Math.min(leadMsMax, sorted[Math.floor(sorted.length * 0.95)] ?? 0);
}

/** How far ahead a permit's moment is asked for: a round trip, and at least 300 ms until ten of them are known. */
export function leadMs(memory: DialerMemory): number {
  const known = knownRoundTripMs(memory);
  return memory.roundTripsMs.length < roundTripsKnown ? Math.max(firstLeadMs, known) : known;
}

/** Leave to send one request. */
export interface Permit {
  /** Milliseconds since the epoch; the request leaves then, or at most 50 ms later. */
  moment: number;
}

/**
 * Permits for the calls of one delivery. Those that are asked for at the same moment share one statement.
 */
export function createPermits(deps: ReadyDeps) {
  const { documents, clock, memory } = deps;
  interface Asking {
    resolve(moment: number | undefined): void;
    reject(error: unknown): void;
  }
  const asking = new Map<string, Asking[]>();

  /** @param doubled after a void permit: the ledger, or this process, was slower than thought */
  async function takeFor(account: string, pace: Pace, doubled: boolean): Promise<void> {
    await Promise.resolve();
    const all = asking.get(account) ?? [];
    asking.delete(account);
    if (all.length === 0) return;
    const askedAt = clock.now();
    const lead = Math.min(leadMsMax, leadMs(memory) * (doubled ? 2 : 1));
    const window = { notBefore: askedAt + lead, notAfter: askedAt + waitMsMax };
    try {
      const key = paceKeyOf(account);
      const moments = await documents.takePermits(key, pace, all.length, window);
      for (const [index, { resolve }] of all.entries()) resolve(moments[index]);
    } catch (error) {
      for (const { reject } of all) reject(error);
    }
  }

  const ask = (account: string, pace: Pace, doubled: boolean): Promise<number | undefined> => {
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
    const others = asking.get(account);
    asking.set(account, [...(others ?? []), { resolve, reject }]);
    if (others === undefined) void takeFor(account, pace, doubled);
    return promise;
  };

  return {
    /** A permit within the next 5 s; undefined where the account has none. An account without a pace has one now. */
    async take(route: Route, tries = 0): Promise<Permit | undefined> {
      const pace = paceOfRoute(route, deps);
      if (pace === undefined) return { moment: clock.now() };
      const moment = await ask(accountNameOf(route), pace, tries > 0);
      return moment === undefined ? undefined : { moment };
    },
    /** Whether a request may leave by this permit now. */
    isValid(route: Route, { moment }: Permit): boolean {
      const pace = paceOfRoute(route, deps);
      if (pace === undefined) return true;
      const late = clock.now() - moment;
      // Later than an interval it would leave with the next one: a second would hold more than rate and burst.
      return late >= 0 && late <= permitAgeMsMax && late < pace.intervalUs / 1000;
    },
    triesMax: permitsMax,
  };
}
export type Permits = ReturnType<typeof createPermits>;
