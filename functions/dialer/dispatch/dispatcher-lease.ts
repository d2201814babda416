import type { ValueOf, StoredDocument } from "#shared/ports/document-kinds.ts";
import { dispatcherKey } from "#shared/policy/dispatcher.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { isLeaseVoid } from "../runtime/void-lease.ts";
import { isBeating } from "../record/wake-dispatcher.ts";

/** Maximum tries to take over, as the earlier dispatcher may beat meanwhile. */
const takeOverTries = 10;

/** The dispatchers' document, as its holder last wrote it. */
export type DispatcherLease = StoredDocument<"dispatcher">;

/** Takes over from a dispatcher that does not beat or has run its time. Undefined: the other dispatcher goes on. */
export async function takeOver(
  deps: Pick<DialerDeps, "documents" | "clock" | "random" | "dispatcher" | "log">,
): Promise<DispatcherLease | undefined> {
  const { documents, clock, random, dispatcher } = deps;
  for (let tries = 0; tries < takeOverTries; tries++) {
    const current = (await documents.read([dispatcherKey])).get("dispatcher", dispatcherKey.key);
    const now = clock.now();
    const hasTime = current !== undefined && now - current.value.since < dispatcher.lifeMs;
    if (hasTime && isBeating(current.value, now)) {
      // A beat is never ahead, nor is the time since which a dispatcher has run.
      const until = Math.max(current.value.beatAt, current.value.since);
      if (!(await isLeaseVoid({ name: "dispatcher", until, lifeMs: 0 }, deps))) return undefined;
    }
    const version = random.version();
    const value = { accounts: {}, ...current?.value, holder: version, since: now, beatAt: now };
    const next: DispatcherLease = { ...dispatcherKey, version, value, expiresAt: null };
    const [isMine] = await documents.write([{ next, seen: current?.version ?? null }]);
    if (isMine === true) return next;
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
  { documents, clock, random }: Pick<DialerDeps, "documents" | "clock" | "random">,
): Promise<DispatcherLease | undefined> {
  const value = { ...lease.value, beatAt: clock.now(), ...changes };
  const next = { ...lease, version: random.version(), value };
  const [isMine] = await documents.write([{ next, seen: lease.version }]);
  return isMine === true ? next : undefined;
}

/** Ends the lease. Without a holder, the next dispatcher need not wait until the last beat is old. */
export async function releaseDispatcher(
  lease: DispatcherLease,
  outliving: Partial<ValueOf<"dispatcher">>,
  deps: Pick<DialerDeps, "clock" | "documents" | "random">,
): Promise<void> {
  await beat(lease, { ...outliving, holder: null }, deps);
}
