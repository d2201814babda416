import { sweepLeaseMs } from "#shared/lib/timing.ts";
import type { StoredDocument, ValueOf } from "#shared/ports/document-kinds.ts";
import { sweepKey } from "#shared/policy/ledger-epoch.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { isLeaseHeld, writeLease } from "../runtime/lease.ts";
import { checkEpoch, readEpochs, writeEpoch } from "../runtime/epoch.ts";

type SweepDocument = StoredDocument<"sweep">;

interface Taken {
  lease: SweepDocument;
  /** Set while the ledger counts as restored from a backup. */
  restore: StoredDocument<"restore"> | undefined;
}

/**
 * Takes the lease and raises the epoch, in the ledger and then in the object store.
 *
 * @returns undefined if another sweep has the lease
 * @throws if the ledger or the object store cannot be reached
 */
export async function takeLease(
  deps: Pick<DialerDeps, "documents" | "epochStore" | "clock" | "random" | "log" | "memory">,
): Promise<Taken | undefined> {
  const { clock } = deps;
  const { outside, read } = await readEpochs([], deps);
  const current = read.get("sweep", sweepKey.key);
  const now = clock.now();
  if (await isTaken("sweep", current?.value.leaseUntil, deps)) return undefined;
  const restore = await checkEpoch(outside, read, deps);
  const value: SweepDocument["value"] = current?.value ?? {
    epoch: 0,
    leaseUntil: 0,
    fullRoundAt: now, // the first sweep has not missed anything
    roundBeganAt: now,
    watchAfter: null,
  };
  const isNewRound = value.watchAfter === null;
  const lease = {
    ...sweepKey,
    value: {
      ...value,
      // While dialing is suspended, the ledger's epoch stays behind, so that deliveries see it.
      epoch: restore === undefined ? Math.max(value.epoch, outside) + 1 : value.epoch,
      epochOutside: outside,
      leaseUntil: now + sweepLeaseMs,
      roundBeganAt: isNewRound ? now : value.roundBeganAt,
    },
    expiresAt: null,
  };
  const next = await writeLease(lease, current?.version ?? null, deps);
  if (next === undefined) return undefined;
  if (restore === undefined) await writeEpoch(next.value, outside, deps);
  return { lease: next, restore };
}

/** True while another invocation has a lease of sweeps. */
export function isTaken(
  name: "sweep" | "upkeep",
  until: number | undefined,
  deps: Pick<DialerDeps, "clock" | "documents" | "log">,
): Promise<boolean> {
  return isLeaseHeld({ name, until: until ?? 0, lifeMs: sweepLeaseMs }, deps);
}

/** A document that one invocation alone changes while it has the lease. */
export interface HeldLease<Value> {
  /** The cursors, as they are stored. */
  readonly value: Value;
  /** Stores cursors that have moved, so that the next invocation continues there though this one dies. */
  reach(moved: Partial<Value>): Promise<void>;
}

/** Holds a lease that was taken. Its methods throw once another invocation has taken it. */
export function holdLease<K extends "sweep" | "upkeep">(
  deps: Pick<DialerDeps, "documents" | "random">,
  lease: StoredDocument<K>,
): HeldLease<ValueOf<K>> {
  let stored = lease;
  return {
    get value() {
      return stored.value;
    },
    async reach(moved) {
      const value = { ...stored.value, ...moved };
      if (JSON.stringify(value) === JSON.stringify(stored.value)) return;
      const next = await writeLease({ ...stored, value }, stored.version, deps);
      if (next === undefined) throw new Error("another invocation has taken the lease");
      stored = next;
    },
  };
}
