import { withHashKeys } from "#shared/settings/settings.ts";
import { slowMs } from "#shared/lib/timing.ts";
import { createRouteTable } from "./plans.ts";
import { toPlanRead } from "#functions/dialer/wiring.ts";
import { createDialerMemory } from "#functions/dialer/runtime/memory.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import { createSchedule } from "#shared/dial-plan/schedule.ts";
import type { Log } from "#shared/lib/log.ts";
import { randomVersion } from "#shared/lib/random.ts";
import type { Documents } from "#shared/ports/documents.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import { apiEnvironment } from "./environment.ts";
import { createMemoryDeadLetters } from "./memory-dead-letters.ts";
import { createMemoryEpochStore } from "./memory-epoch-store.ts";
import { createMemoryJournal } from "./memory-journal.ts";

/** The queue of a dialer whose messages no test looks at. */
const nowhere = {
  send: async () => undefined,
  sendMany: async (all: readonly unknown[]) => all.length,
};

/** Returns what a dialer needs beside its stores, its clock and the world outside, where a test has nothing of its own. */
export const dialerParts = () => ({
  queue: nowhere,
  eventsQueue: nowhere,
  epochStore: createMemoryEpochStore(),
  deadLetters: createMemoryDeadLetters(),
  journal: createMemoryJournal(),
  random: { version: randomVersion, fraction: () => 0.5 },
  concurrency: 5,
  consumers: 10,
  statementsLeft: () => Infinity,
  dispatcher: { lifeMs: 50_000, headsPerLook: 5_000, endsIdle: false },
  sweepSeconds: 60,
  memory: createDialerMemory(),
});

/** Returns the settings of a dialer that follow from its plan. The world outside is a test's own. */
export const settingsUnder = (plan: DialPlan, log: Log, readAt = 0) => {
  const table = createRouteTable(plan);
  const schedule = createSchedule(table, log);
  const keys = withHashKeys({ current: apiEnvironment.HASH_KEY });
  return { plan, table, schedule, ...keys, planRead: toPlanRead(plan, readAt) };
};

/**
 * Returns a sleep that moves a test's clock at once. A watch over a request that is under way for long (`slowMs`) never
 * wakes, as here each request is answered at once.
 */
export const jumpingSleep =
  (advance: (ms: number) => void) =>
  (ms: number): Promise<void> => {
    if (ms === slowMs) return new Promise(() => undefined);
    if (ms > 0) advance(ms);
    return Promise.resolve();
  };

/** A ledger with its documents. */
export interface Stores {
  ledger: CallLedger;
  documents: Documents;
}
