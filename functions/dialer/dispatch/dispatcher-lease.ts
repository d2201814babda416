import type { ValueOf, StoredDocument } from "#shared/ports/document-kinds.ts";
import { dispatcherKey } from "#shared/policy/dispatcher.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { isLeaseVoid, writeLease } from "../runtime/lease.ts";
import { isBeating, isOutdated } from "../record/wake-dispatcher.ts";

/** Maximum tries to take over, as the earlier dispatcher may beat meanwhile. */
const takeOverTries = 10;

/** The dispatchers' document, as its holder last wrote it. */
export type DispatcherLease = StoredDocument<"dispatcher">;

/**
 * Takes over from a dispatcher that does not beat, whose time is over, or whose plan is outdated. As only plans that
 * were read later displace others, no two dispatchers displace each other during a deployment.
 *
 * @returns undefined if the other dispatcher continues
 */
export async function takeOver(
  deps: Pick<DialerDeps, "documents" | "clock" | "random" | "dispatcher" | "log" | "settings">,
): Promise<DispatcherLease | undefined> {
  const { documents, clock, random, dispatcher, settings } = deps;
  for (let tries = 0; tries < takeOverTries; tries++) {
    const current = (await documents.read([dispatcherKey])).get("dispatcher", dispatcherKey.key);
    const now = clock.now();
    const hasTime = current !== undefined && now - current.value.since < dispatcher.lifeMs;
    if (hasTime && isBeating(current.value, now) && !isOutdated(current.value, deps)) {
      // Neither a beat nor the start of a dispatcher lies in the future.
      const until = Math.max(current.value.beatAt, current.value.since);
      if (!(await isLeaseVoid({ name: "dispatcher", until, lifeMs: 0 }, deps))) return undefined;
    }
    const holder = random.version();
    const own = { holder, since: now, beatAt: now, plan: { ...settings.planRead } };
    const value = { accounts: {}, ...current?.value, ...own };
    const lease = { ...dispatcherKey, value, expiresAt: null };
    const taken = await writeLease(lease, current?.version ?? null, deps);
    if (taken !== undefined) return taken;
  }
  return undefined;
}

/**
 * Writes that the dispatcher is alive, and the facts that the next one needs.
 *
 * @returns undefined if another one has taken over
 */
export async function beat(
  lease: DispatcherLease,
  changes: Partial<ValueOf<"dispatcher">>,
  deps: Pick<DialerDeps, "documents" | "clock" | "random">,
): Promise<DispatcherLease | undefined> {
  const value = { ...lease.value, beatAt: deps.clock.now(), ...changes };
  return writeLease({ ...lease, value }, lease.version, deps);
}

/** Ends the lease. Without a holder, the next dispatcher need not wait until the last beat is old. */
export async function releaseDispatcher(
  lease: DispatcherLease,
  handover: Partial<ValueOf<"dispatcher">>,
  deps: Pick<DialerDeps, "clock" | "documents" | "random">,
): Promise<void> {
  await beat(lease, { ...handover, holder: null }, deps);
}
