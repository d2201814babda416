import { slotWaitMsMax } from "#shared/lib/timing.ts";
import { createSemaphore, type Semaphore, type Slot } from "../runtime/fair-semaphore.ts";
import { claimsARequest, createPacedDelivery, type PacedDelivery } from "../record/paced-claims.ts";
import { createPermits, type Permits } from "../record/permits.ts";
import { createAccountDays } from "../record/account-days.ts";
import { createLiveEntries } from "../record/live-calls.ts";
import { createCaps, type Caps } from "../record/number-caps.ts";
import { createBatchWriter, type BatchWriter } from "../record/change-rows.ts";
import type { Verdict } from "#shared/rules/rule.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import type { CallState } from "#shared/calls/states.ts";
import type { ControlDocuments } from "#shared/policy/ledger-epoch.ts";
import type { Dial } from "../decide/decide-delivered.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { requestLimits, type TakeContext } from "#shared/rules/gates.ts";

/** Result of handling a call. */
export type Result =
  /** The call is settled with this state; without one, another write came first. */
  | { kind: "done"; state?: CallState }
  /** The call's message must be delivered again. */
  | { kind: "retry" }
  /** The call was not dialed, and that decision is not yet written. */
  | { kind: "not_dialed"; verdict: Verdict };

/** State that the calls of one delivery share. */
export interface DialBatch {
  deps: DialerDeps;
  /** End of the invocation, in milliseconds since the epoch. */
  deadline: number;
  /** Slots for claimed calls. */
  slots: Semaphore;
  /** Slots for requests under way. */
  connections: Semaphore;
  paced: PacedDelivery;
  permits: Permits;
  caps: Caps;
  days: TakeContext["days"];
  live: TakeContext["lines"];
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

/** Why a claimed call is settled without a request. */
export interface Refusal {
  refused: Verdict;
}

/**
 * Creates what the calls of a delivery share. `end` is to be called once a call has ended, as no account holds more
 * than half of the slots while calls of another are left.
 */
export function createDialBatch(
  dials: readonly Dial[],
  { documents, deadline }: Pick<DialBatch, "documents" | "deadline">,
  deps: DialerDeps,
): { batch: DialBatch; end(dial: Dial): void } {
  const { clock, concurrency } = deps;
  /** Number of calls left, by account. */
  const left = new Map<string, number>();
  const count = ({ target: { account } }: Dial, more: number) => {
    left.set(account.name, (left.get(account.name) ?? 0) + more);
  };
  for (const dial of dials) count(dial, 1);
  const limits = limitsOf(dials, concurrency);
  const limitOf = (name: string) => Math.min(limits.get(name) ?? concurrency, concurrency);
  const half = Math.ceil(concurrency / 2);
  const paced = createPacedDelivery(
    dials.map(({ target: { account } }) => account),
    { until: deadline, onSending: () => batch.slots.look() },
    deps,
  );
  const isShared = (account: string) =>
    [...left].some(([one, callsLeft]) => one !== account && callsLeft > 0);
  const common = { isShared, waitMsMax: slotWaitMsMax, clock };
  const batch: DialBatch = {
    deps,
    deadline,
    slots: createSemaphore({
      ...common,
      total: concurrency * claimsARequest,
      limitOf: (account) =>
        paced.limitOf(account, Math.min(limitOf(account), isShared(account) ? half : concurrency)),
    }),
    connections: createSemaphore({ ...common, total: concurrency, limitOf }),
    paced,
    permits: createPermits(deps),
    caps: createCaps(deps),
    days: createAccountDays(deps),
    live: createLiveEntries(deps),
    documents,
    writes: createBatchWriter(dials.length, deps),
    stopped: new Set(),
    ledger: { isDown: false },
  };
  return { batch, end: (dial) => count(dial, -1) };
}

/**
 * Returns the maximum requests at once of accounts, and of services that are asked before the request. These leave half of the
 * connections to calls.
 */
function limitsOf(
  dials: readonly Dial[],
  concurrency: number,
): ReadonlyMap<string, number | undefined> {
  const services = new Set(dials.flatMap(({ target }) => target.services.map(({ name }) => name)));
  const ofService = Math.max(1, Math.floor(Math.ceil(concurrency / 2) / services.size));
  return new Map([
    ...requestLimits(dials.map(({ target: { account } }) => account)),
    ...[...services].map((service) => [service, ofService] as const),
  ]);
}
