import {
  firstLeadMs,
  leadMsMax,
  ledgerSecondsMax,
  ledgerWriteSecondsMax,
} from "#shared/lib/timing.ts";
import { outboxLedger, type WrittenRow } from "#shared/events/outbox-ledger.ts";
import { withTimeLimit, withTimeLimits } from "#shared/lib/retry.ts";
import type { DialerDeps, DialerMemory } from "./context.ts";

/** Rows or documents of a write per time limit, as a slow store needs several round trips for 500. */
const itemsPerLimit = 100;
/** Time limit of a queue call, which may need many requests of ten or a hundred messages, and the object store. */
export const queueSecondsMax = 30;

/** Time limit of reading or writing the object store's epoch. */
const epochSecondsMax = 5;

function ledgerSecondsFor(method: PropertyKey, items: unknown): number {
  const isWrite = method === "write" || method === "purge" || method === "remove";
  const count = isWrite && Array.isArray(items) ? items.length : 1;
  const seconds = ledgerSecondsMax * Math.max(1, Math.ceil(count / itemsPerLimit));
  return Math.min(seconds, ledgerWriteSecondsMax);
}

/**
 * Wraps the dependencies so that each call to ledger, documents, queues and dead letters has a time limit, and so that
 * writes of rows also write their new events.
 *
 * @param deliver has new events of written rows delivered. Default: at once
 */
export function withPortLimits(
  deps: DialerDeps,
  deliver?: (written: readonly WrittenRow[]) => Promise<void>,
): DialerDeps {
  const { clock, memory, random, log, settings } = deps;
  const timed = { now: clock.now, note: (ms: number) => noteRoundTrip(memory, ms) };
  const documents = withTimeLimits(deps.documents, ledgerSecondsFor, timed);
  const eventsQueue = withTimeLimits(deps.eventsQueue, queueSecondsMax);
  const { ledgerSize } = deps;
  const { ownReceivers } = memory;
  const { plan } = settings;
  const outbox = { plan, documents, eventsQueue, clock, random, log, ownReceivers, deliver };
  return {
    ...deps,
    ledger: outboxLedger(withTimeLimits(deps.ledger, ledgerSecondsFor, timed), outbox),
    ...(ledgerSize && { ledgerSize: () => withTimeLimit(ledgerSize(), ledgerSecondsMax) }),
    documents,
    queue: withTimeLimits(deps.queue, queueSecondsMax),
    eventsQueue,
    epochStore: withTimeLimits(deps.epochStore, epochSecondsMax),
    journal: withTimeLimits(deps.journal, queueSecondsMax),
    deadLetters: withTimeLimits(deps.deadLetters, queueSecondsMax),
  };
}

const roundTripsKnown = 10;
const roundTripsKept = 50;

type LedgerMemory = Pick<DialerMemory, "ledger">;

/** Records the duration of a round trip to the ledger, as permits are requested that far ahead. */
function noteRoundTrip({ ledger: { roundTripsMs } }: LedgerMemory, ms: number): void {
  roundTripsMs.push(ms);
  if (roundTripsMs.length > roundTripsKept) roundTripsMs.shift();
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
