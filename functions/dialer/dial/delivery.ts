import {
  fastIntervalUsMax,
  leadMsMax,
  permitAgeMsMax,
  permitWaitMsMax,
} from "../../../shared/lib/timing.ts";
import DataLoader from "dataloader";
import type { CallRow } from "../../../shared/calls/call-row.ts";
import type { CallState } from "../../../shared/calls/states.ts";
import type { Decided } from "../../../shared/calls/transitions.ts";
import type { ControlDocuments } from "../../../shared/policy/controls.ts";
import { toDecided, type Verdict } from "../../../shared/rules/rule.ts";
import type { Caps } from "../record/number-caps.ts";
import type { Dial } from "../decide/decide-delivered.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { Lines } from "../../../shared/rules/live-calls.ts";
import type { BatchWriter } from "../record/change-rows.ts";
import type { Semaphore, Slot } from "../runtime/fair-semaphore.ts";
import type { ResolvedAccount } from "../../../shared/dial-plan/route-table.ts";
import { paceKeyOf } from "../../../shared/policy/account-pace.ts";
import type { Pace } from "../../../shared/telephony/rate.ts";
import { leadMs } from "../runtime/time-limits.ts";

/** Result of handling a call. */
export type Result =
  /** The call is settled with this state; without one, another write came first. */
  | { kind: "done"; state?: CallState }
  /** The call's message must be delivered again. */
  | { kind: "retry" }
  /** The call was not dialed, and that decision is not yet written. */
  | { kind: "not_dialed"; verdict: Verdict };

/** State that the calls of one delivery share. */
export interface Delivery {
  deps: DialerDeps;
  /** End of the invocation, in milliseconds since the epoch. */
  deadline: number;
  /** Slots for claimed calls. */
  slots: Semaphore;
  /** Slots for requests under way. */
  connections: Semaphore;
  permits: Permits;
  caps: Caps;
  live: Lines;
  /** Returns the documents that control the calls, at most 5 s old at `at`, which is now or the time of a request. */
  documents(at: number): Promise<ControlDocuments>;
  writes: BatchWriter;
  /** Backlogs of which this delivery sends no more calls, as requests stay unanswered or are refused. */
  stopped: Set<string>;
  /**
   * Set by the first claim that can be neither written nor read. The delivery's other calls are then retried
   * untouched.
   */
  ledger: { isDown: boolean };
}

/** A claim that this process holds: the row as written, and the dial decision that led to it. */
export interface Claim {
  dial: Dial;
  row: CallRow;
  version: string;
  /** Time at which the work under the claim began, in milliseconds since the epoch. */
  startedAt: number;
}

/** The slots that a call holds: one for its claim, and a connection while it has one. */
export interface CallSlots extends Slot {
  connection: Slot | undefined;
}

/** A decision to settle the claim without a request. */
export interface Refusal {
  refused: Decided;
}

/** Returns the state that a verdict demands under a claim. A call that keeps its place keeps its earlier `dueAt`. */
export function settleBy(verdict: Verdict, { dial, row }: Claim): Decided {
  return toDecided(verdict, dial.row?.dueAt ?? row.claimedAt ?? dial.dialAt);
}

/** Keeps the call waiting with its earlier `dueAt`, so that it keeps its position. */
export function toWaiting(reason: string, claim: Claim): Decided {
  return settleBy({ kind: "hold", reason }, claim);
}

const permitsMax = 3;

/** Permission to send one request. */
export interface Permit {
  /** Milliseconds since the epoch. The request leaves at this time or a moment later. */
  permitAt: number;
}

/** Takes permits for the calls of one delivery. Permits requested at the same time share one statement and its window. */
export function createPermits(deps: DialerDeps) {
  const { documents, clock, memory } = deps;
  const loaders = new Map<string, DataLoader<Pace, number | undefined>>();
  /** True once a permit of this delivery was void. The next ones are requested further ahead. */
  let isVoid = false;

  function createLoader(account: string) {
    const takeAll = async (paces: readonly Pace[]): Promise<(number | undefined)[]> => {
      const [pace] = paces;
      if (pace === undefined) return [];
      const now = clock.now();
      const lead = Math.min(leadMs(memory) * (isVoid ? 2 : 1), leadMsMax);
      const window = {
        notBefore: now + lead,
        notAfter: now + permitWaitMsMax,
        count: paces.length,
      };
      const permitTimes = await documents.takePermits(paceKeyOf(account), pace, window);
      return paces.map((_, index) => permitTimes[index]);
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
      const loader = loaders.get(name) ?? createLoader(name);
      loaders.set(name, loader);
      const permitAt = await loader.load(pace);
      return permitAt === undefined ? undefined : { permitAt };
    },
    /** True if a request may be sent under this permit now. */
    isValid({ pace }: ResolvedAccount, { permitAt }: Permit): boolean {
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
type Permits = ReturnType<typeof createPermits>;
