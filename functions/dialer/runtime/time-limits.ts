import {
  firstLeadMs,
  leadMsMax,
  ledgerSecondsMax,
  ledgerWriteSecondsMax,
} from "#shared/lib/timing.ts";
import { outboxLedger, type WrittenRow } from "#shared/events/outbox-ledger.ts";
import { withTimeLimit, withTimeLimits } from "#shared/lib/retry.ts";
import type { DialerDeps } from "./context.ts";
import type { DialerMemory } from "./memory.ts";
import { logForPlan } from "./telemetry-names.ts";

/** Rows or documents of a write per time limit, as a slow store needs several round trips for 500. */
const itemsPerLimit = 100;
/** Time limit of a queue call, which may need many requests of ten or a hundred messages, and the object store. */
export const queueSecondsMax = 30;

/** Time limits of one call to each port, in seconds. */
const limits = {
  ledger: ledgerSecondsFor,
  documents: ledgerSecondsFor,
  ledgerSize: ledgerSecondsMax,
  queue: queueSecondsMax,
  eventsQueue: queueSecondsMax,
  epochStore: 5,
  journal: queueSecondsMax,
  deadLetters: queueSecondsMax,
};

function ledgerSecondsFor(method: PropertyKey, items: unknown): number {
  const isWrite = method === "write" || method === "purge" || method === "remove";
  const count = isWrite && Array.isArray(items) ? items.length : 1;
  const seconds = ledgerSecondsMax * Math.max(1, Math.ceil(count / itemsPerLimit));
  return Math.min(seconds, ledgerWriteSecondsMax);
}

/**
 * Puts time limits around the ports, and the plan's names into the log (`logForPlan`). The entry does so once, so that no
 * other function knows of them.
 */
export function withPortLimits(deps: DialerDeps): DialerDeps {
  const { clock, memory, ledgerSize, settings } = deps;
  const timed = { now: clock.now, note: (ms: number) => rememberRoundTrip(memory, ms) };
  return {
    ...deps,
    ledger: withTimeLimits(deps.ledger, limits.ledger, timed),
    documents: withTimeLimits(deps.documents, limits.documents, timed),
    ...(ledgerSize && { ledgerSize: () => withTimeLimit(ledgerSize(), limits.ledgerSize) }),
    queue: withTimeLimits(deps.queue, limits.queue),
    eventsQueue: withTimeLimits(deps.eventsQueue, limits.eventsQueue),
    epochStore: withTimeLimits(deps.epochStore, limits.epochStore),
    journal: withTimeLimits(deps.journal, limits.journal),
    deadLetters: withTimeLimits(deps.deadLetters, limits.deadLetters),
    log: logForPlan(deps.log, settings.plan),
  };
}

/**
 * Returns dependencies whose writes of rows also write the rows' new events.
 *
 * @param deliver has new events of written rows delivered. Default: at once
 */
export function withOutbox(
  deps: DialerDeps,
  deliver?: (written: readonly WrittenRow[]) => Promise<void>,
): DialerDeps {
  const { documents, eventsQueue, clock, random, log, memory, settings } = deps;
  const { knownReceivers } = memory;
  const { plan } = settings;
  const outbox = { plan, documents, eventsQueue, clock, random, log, knownReceivers, deliver };
  return { ...deps, ledger: outboxLedger(deps.ledger, outbox) };
}

const roundTripsKnown = 10;
const roundTripsMax = 50;

type LedgerMemory = Pick<DialerMemory, "ledger">;

/** Remembers the duration of a round trip to the ledger, as permits are requested that far ahead. */
function rememberRoundTrip({ ledger: { roundTripsMs } }: LedgerMemory, ms: number): void {
  roundTripsMs.push(ms);
  if (roundTripsMs.length > roundTripsMax) roundTripsMs.shift();
}

/** The 95th percentile of the latest round trips in milliseconds, 0 if none is known. */
export function knownRoundTripMs({ ledger: { roundTripsMs } }: LedgerMemory): number {
  const sorted = roundTripsMs.toSorted((a, b) => a - b);
  return Math.min(leadMsMax, sorted[Math.floor(sorted.length * 0.95)] ?? 0);
}

/** Lead of a permit in milliseconds: a round trip, and at least 300 ms until ten round trips are known. */
export function leadMs(memory: LedgerMemory): number {
  const known = knownRoundTripMs(memory);
  return memory.ledger.roundTripsMs.length < roundTripsKnown ? Math.max(firstLeadMs, known) : known;
}
