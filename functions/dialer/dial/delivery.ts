import DataLoader from "dataloader";
import type { CallRow } from "../../../shared/calls/call-row.ts";
import type { CallState } from "../../../shared/calls/states.ts";
import type { Decided } from "../../../shared/calls/transitions.ts";
import type { ControlDocuments } from "../../../shared/policy/controls.ts";
import type { Caps } from "../record/number-caps.ts";
import type { Dial } from "../decide/decide-delivered.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { LiveEntries } from "../record/live-calls.ts";
import type { BatchWriter } from "../record/change-rows.ts";
import type { Semaphore, Slot } from "../runtime/fair-semaphore.ts";
import { accountNameOf, type Route } from "../../../shared/calls/call-request.ts";
import { accountOf } from "../../../shared/dial-plan/dial-plan.ts";
import { paceKeyOf } from "../../../shared/policy/account-pace.ts";
import type { Pace } from "../../../shared/telephony/rate.ts";
import { leadMs, leadMsMax } from "../runtime/time-limits.ts";

/** Result of handling a call. */
export type Result =
  /** The call is settled with this state, or another write came first. */
  | { kind: "done"; state?: CallState }
  /** The call's message must be delivered again. */
  | { kind: "retry" }
  /** The call was not dialed, and that decision is not yet written. */
  | { kind: "not_dialed"; decided: NotDialed };
export type NotDialed =
  | Extract<Decided, { state: "WAITING" }>
  | { state: "EXPIRED"; reason: string };

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
  live: LiveEntries;
  /** Returns the documents that bear on the calls, at most 5 s old at time `at`: now, or the time of a request. */
  documents(at: number): Promise<ControlDocuments>;
  writes: BatchWriter;
  /** Backlogs of which this delivery sends no more, as their requests stay unanswered or are refused. */
  stopped: Set<string>;
  /** Set by the first claim that can neither be made nor read back: the other calls are handed back untouched. */
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

/** The slots of a delivery that a call holds: its own, and a connection while it has one. */
export interface CallSlots extends Slot {
  connection: Slot | undefined;
}

/** A decision to settle under the claim without a request. `counted`: the call has an entry in its number's cap. */
export interface Refusal {
  refused: Decided;
  counted: boolean;
}

/** Lets the call wait on with its former `dueAt`, so that it keeps its position. */
export function toWaiting(reason: string, { dial, row }: Claim): Decided {
  return { state: "WAITING", reason, dueAt: dial.row?.dueAt ?? row.claimedAt ?? dial.dialAt };
}

/** Maximum wait of a claimed call for its permit: other calls may have taken permits since the claim. */
const waitMsMax = 7_000;
/**
 * Maximum delay of a request after its permit's time, of a pace below 20 a second and of a faster one. Late requests
 * leave with those of the next permits: in any second at most 1.1 times the rate, and the burst.
 */
const permitAgeMsMax = { slow: 50, fast: 100 } as const;
const fastIntervalUsMax = 50_000;
const permitsMax = 3;

function findPace(route: Route, { settings }: Pick<DialerDeps, "settings">) {
  return accountOf(route, settings.plan).pace;
}

/** Permission to send one request. */
export interface Permit {
  /** Milliseconds since the epoch; the request leaves then, or a moment later. */
  permitAt: number;
}

/** Takes permits for the calls of one delivery. Permits requested at the same time share one statement. */
export function createPermits(deps: DialerDeps) {
  const { documents, clock, memory } = deps;
  const loaders = new Map<string, DataLoader<Pace, number | undefined>>();
  /** True once a permit of this delivery was void: the next ones are requested further ahead. */
  let isVoid = false;

  function createLoader(account: string) {
    const takeAll = async (paces: readonly Pace[]): Promise<(number | undefined)[]> => {
      const [pace] = paces;
      if (pace === undefined) return [];
      const now = clock.now();
      const lead = Math.min(leadMs(memory) * (isVoid ? 2 : 1), leadMsMax);
      const window = { notBefore: now + lead, notAfter: now + waitMsMax, count: paces.length };
      const permitTimes = await documents.takePermits(paceKeyOf(account), pace, window);
      return paces.map((_, index) => permitTimes[index]);
    };
    return new DataLoader(takeAll, { cache: false });
  }

  return {
    /**
     * Takes a permit within the next 5 s, or undefined if the account has none. An account without a pace
     * gets one for now.
     */
    async take(route: Route): Promise<Permit | undefined> {
      const pace = findPace(route, deps);
      if (pace === undefined) return { permitAt: clock.now() };
      const account = accountNameOf(route);
      const loader = loaders.get(account) ?? createLoader(account);
      loaders.set(account, loader);
      const permitAt = await loader.load(pace);
      return permitAt === undefined ? undefined : { permitAt };
    },
    /** Returns true if a request may be sent under this permit now. */
    isValid(route: Route, { permitAt }: Permit): boolean {
      const pace = findPace(route, deps);
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
