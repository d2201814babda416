import { tellingLedger, type WrittenRow } from "../../shared/ledger/telling-ledger.ts";
import type { Environment } from "../../shared/platform/settings.ts";
import { withTimeLimits } from "../../shared/platform/time-limit.ts";
import type { DialPlan } from "../../shared/dial-plan/plan-schema.ts";
import { createProviders } from "../../shared/providers/create-providers.ts";
import type { DialerDeps, DialerMemory, DialerSettings } from "./context.ts";
import { createPostEvent } from "./events/post-event.ts";
import { noteRoundTrip } from "./delivery/permits.ts";
import { createWindows } from "./delivery/window.ts";

/**
 * Interval between sweeps: the 60 s of both platforms' schedules. A local run sets SWEEP_SECONDS to something
 * shorter.
 */
export function sweepSecondsOf({ SWEEP_SECONDS }: Environment): number {
  return Number(SWEEP_SECONDS) || 60;
}

const ledgerSecondsMax = 5;
/** Maximum rows or documents per time limit of a write: a slow store takes some round trips for 500 of them. */
const itemsPerLimit = 100;
const ledgerWriteSecondsMax = 15;
/**
 * Time limit of a queue call: many messages are sent by a hundred or ten per request, and a body may go to
 * the object store.
 */
export const queueSecondsMax = 30;

/** Time limit of the object store's epoch, which a delivery reads beside its documents. */
const epochSecondsMax = 5;

function ledgerSecondsFor(method: PropertyKey, items: unknown): number {
  const isWrite = method === "write" || method === "purge" || method === "remove";
  const count = isWrite && Array.isArray(items) ? items.length : 1;
  const seconds = ledgerSecondsMax * Math.max(1, Math.ceil(count / itemsPerLimit));
  return Math.min(seconds, ledgerWriteSecondsMax);
}

/**
 * Wraps the dependencies so that each call to ledger, documents, queues and dead letters has a time limit, and so that
 * writes of rows keep what is to be told of them.
 *
 * @param tell has it told. Absent: at once
 */
export function withPortLimits(
  deps: DialerDeps,
  tell?: (written: readonly WrittenRow[]) => Promise<void>,
): DialerDeps {
  const { clock, memory, random, log, settings } = deps;
  const timed = { now: clock.now, note: (ms: number) => noteRoundTrip(memory, ms) };
  const documents = withTimeLimits(deps.documents, ledgerSecondsFor, timed);
  const eventsQueue = withTimeLimits(deps.eventsQueue, queueSecondsMax);
  const telling = { plan: settings.plan, documents, eventsQueue, clock, random, log, tell };
  return {
    ...deps,
    ledger: tellingLedger(withTimeLimits(deps.ledger, ledgerSecondsFor, timed), telling),
    documents,
    queue: withTimeLimits(deps.queue, queueSecondsMax),
    eventsQueue,
    epochStore: withTimeLimits(deps.epochStore, epochSecondsMax),
    deadLetters: withTimeLimits(deps.deadLetters, queueSecondsMax),
  };
}

export function createDialerMemory(): DialerMemory {
  return {
    windows: createWindows(),
    backlogsUsedAt: new Map(),
    roundTripsMs: [],
    countedNumbers: new Map(),
    breakersOpened: 0,
    heartbeatReadAt: -Infinity,
    epochSeen: undefined,
    epochReadAt: -Infinity,
    epochKnownAt: -Infinity,
    restoredAt: 0,
    unverifiedSaidAt: -Infinity,
    slowReceivers: new Map(),
  };
}

/**
 * Connects the dialer to its plan's providers and receivers of events.
 *
 * @throws if a secret of one of them is malformed
 */
export function connect(
  ports: Parameters<typeof createProviders>[0],
  plan: DialPlan,
): Pick<DialerSettings, "providerOf" | "postEvent"> {
  const { environment, fetch, now } = ports;
  return {
    providerOf: createProviders(ports, Object.values(plan.agents)),
    postEvent: createPostEvent(environment, fetch, now, plan),
  };
}

/** The system clock. */
export const systemClock: DialerDeps["clock"] = {
  now: Date.now,
  // A wait of zero sets no timer: timers fire separately, which would part calls that share round trips.
  sleep: (ms) => (ms > 0 ? new Promise((resolve) => setTimeout(resolve, ms)) : Promise.resolve()),
};
