import { sweepLeaseMs } from "#shared/lib/timing.ts";
import type { StoredDocument, ValueOf } from "#shared/ports/document-kinds.ts";
import { sweepKey } from "#shared/policy/controls.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { isLeaseVoid } from "../runtime/void-lease.ts";
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
export async function takeLease(deps: DialerDeps): Promise<Taken | undefined> {
  const { documents, clock, random } = deps;
  const { outside, read } = await readEpochs([], deps);
  const current = read.get("sweep", sweepKey.key);
  const now = clock.now();
  if (current !== undefined && (await isTaken("sweep", current.value.leaseUntil, deps))) {
    return undefined;
  }
  const restore = await checkEpoch(outside, read, deps);
  const value: SweepDocument["value"] = current?.value ?? {
    epoch: 0,
    leaseUntil: 0,
    fullRoundAt: now, // the first sweep has missed nothing yet
    roundBeganAt: now,
    watchAfter: null,
  };
  const isNewRound = value.watchAfter === null;
  const next: SweepDocument = {
    ...sweepKey,
    version: random.version(),
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
  const [isMine] = await documents.write([{ next, seen: current?.version ?? null }]);
  if (isMine !== true) return undefined;
  if (restore === undefined) await writeEpoch(next.value, outside, deps);
  return { lease: next, restore };
}

/** True while another invocation has a lease of sweeps, unless its clock was wrong when it took it. */
export async function isTaken(
  name: "sweep" | "upkeep",
  until: number,
  deps: Pick<DialerDeps, "clock" | "documents" | "log">,
): Promise<boolean> {
  return (
    until > deps.clock.now() && !(await isLeaseVoid({ name, until, lifeMs: sweepLeaseMs }, deps))
  );
}

/** A document that one invocation alone changes while it has the lease. */
export interface HeldLease<Value> {
  /** The cursors, as they are stored. */
  readonly value: Value;
  /** Stores cursors that have moved, so that the next invocation goes on there though this one dies. */
  reach(moved: Partial<Value>): Promise<void>;
}

/** Holds a lease that was taken. Its methods throw once another invocation has taken it. */
export function holdLease<K extends "sweep" | "upkeep">(
  { documents, random }: Pick<DialerDeps, "documents" | "random">,
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
      const next = { ...stored, version: random.version(), value };
      const [isWritten] = await documents.write([{ next, seen: stored.version }]);
      if (isWritten !== true) throw new Error("another invocation has taken the lease");
      stored = next;
    },
  };
}
