import type { Receiver } from "#shared/dial-plan/receivers.ts";
import type { DocumentKey, DocumentsRead, ValueOf } from "#shared/ports/document-kinds.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { isLeaseHeld, writeLease } from "../runtime/lease.ts";
import { dayMs } from "#shared/lib/units.ts";

/** Time after which an unended lease lapses: enough for a request and the write of its answer. */
const leaseMs = 45_000;
/**
 * Maximum time from now to a receiver's next request. A turn leaves at most eleven seconds, at the slowest pace; a time beyond
 * was written by a clock that is ahead, perhaps by hours.
 */
const nextMsMax = 30_000;
/** Life of a receiver's document after its last turn. */
const storedMs = dayMs;

/** State that a turn leaves to the next one. */
type TurnState = Pick<ValueOf<"receiver">, "nextAt" | "isSlow" | "health">;

/**
 * The lease under which one invocation at a time delivers to a receiver. Others retry their messages at once, so that
 * one receiver's events, even if it hangs, take only one invocation.
 */
export interface ReceiverLease extends TurnState {
  /** Resolves to true while another invocation has it, as read, unless its clock was wrong when it took it. */
  isTaken(): Promise<boolean>;
  /**
   * True if only the sweep's messages are delivered: the receiver is slow, and was tried since the last sweep. A
   * receiver without a request for longer may be well again, so its next event is delivered by its own message.
   */
  isSweptOnly: boolean;
  /** Takes the lease. False: another invocation has taken it since it was read. */
  take(): Promise<boolean>;
  /** Ends the lease. Never throws, as an unended lease lapses. */
  release(state: TurnState): Promise<void>;
}

export function receiverKeyOf(name: string): DocumentKey<"receiver"> {
  return { kind: "receiver", key: name };
}

/** Returns the lease of a receiver from its document. */
export function leaseIn(
  read: DocumentsRead,
  { name }: Pick<Receiver, "name">,
  deps: Pick<DialerDeps, "documents" | "clock" | "random" | "log" | "sweepSeconds">,
): ReceiverLease {
  const { clock, sweepSeconds } = deps;
  const key = receiverKeyOf(name);
  const current = read.get("receiver", name);
  const { leaseUntil = 0, isSlow = false } = current?.value ?? {};
  const nextAt = Math.min(current?.value.nextAt ?? 0, clock.now() + nextMsMax);
  let seen = current?.version ?? null;
  const write = async (value: ValueOf<"receiver">) => {
    const lease = { ...key, value, expiresAt: clock.now() + storedMs };
    const written = await writeLease(lease, seen, deps);
    if (written !== undefined) seen = written.version;
    return written !== undefined;
  };
  return {
    isTaken: () => isLeaseHeld({ name: "receiver", until: leaseUntil, lifeMs: leaseMs }, deps),
    isSweptOnly: isSlow && clock.now() - nextAt < sweepSeconds * 1000,
    nextAt,
    isSlow,
    take: () => write({ ...current?.value, nextAt, isSlow, leaseUntil: clock.now() + leaseMs }),
    async release(state) {
      await write({ ...current?.value, ...state, leaseUntil: 0 }).catch(() => undefined);
    },
  };
}
