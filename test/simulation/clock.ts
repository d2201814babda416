import { dispatch, handleStoredLetters, sweep, upkeep } from "#test/support/entries.ts";
import type { DialerDeps } from "#functions/dialer/runtime/context.ts";
import { nextWorkAt } from "./next-work.ts";
import type { Processes } from "./processes.ts";
import type { Scenario } from "./scenario.ts";
import type { World } from "./world.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** Time before the next work from which on the clock starts its functions again each minute. */
const aheadMs = 100_000;
/** Maximum interval of the clock's functions while calls only wait. */
const quietMsMax = 6 * hourMs;
/** Life of a dispatcher while calls only wait: it looks three times. */
const quietLifeMs = 15_000;
/** Time from a wake to its dispatcher. */
const wakeMs = 200;

/** The parts of the world that the clock watches. */
export interface Clocked {
  ledger: { stored: Parameters<typeof nextWorkAt>[0]; versions: readonly unknown[] };
  documents: { stored: Parameters<typeof nextWorkAt>[1] };
  queues: readonly { isQuiet(): boolean }[];
  isStormy(): boolean;
  thrown: string[];
}

/**
 * Starts a sweep, an upkeep and a dispatcher each minute. In storms they may fail to start. While calls only
 * wait, the minutes pass without them.
 */
export function createClock(
  world: World,
  { sweepLost, lifeSeconds, endsIdle }: Scenario,
  processes: Pick<Processes, "run">,
  { ledger, documents, queues, isStormy, thrown }: Clocked,
) {
  const runs = {
    async sweep(deps: DialerDeps, deadline: number) {
      await sweep(deps, deadline);
      await handleStoredLetters(deps, deadline);
    },
    upkeep,
    dispatch,
  };
  const isLost = () => isStormy() && world.chance(sweepLost);
  const invoke = (name: keyof typeof runs, lifeMs = lifeSeconds * 1000) => {
    void processes
      .run(name, lifeMs, runs[name])
      .catch((error: unknown) => thrown.push(`thrown: by the ${name}, ${String(error)}`));
  };
  /** True until something is written or sent, or the next work comes near. */
  let isStill = () => false;
  const tick = () => {
    if (isStill()) return;
    const now = world.now();
    const waitsUntil = Math.min(
      nextWorkAt(ledger.stored, documents.stored) - aheadMs,
      now + quietMsMax,
    );
    const areQuiet = () => queues.every((queue) => queue.isQuiet());
    const isQuiet = !isStormy() && areQuiet() && waitsUntil - now > minuteMs;
    if (!isLost()) invoke("sweep");
    if (!isLost()) invoke("upkeep");
    if (!isLost()) invoke("dispatch", isQuiet ? quietLifeMs : undefined);
    if (!isQuiet) return;
    const { length } = ledger.versions;
    isStill = () => world.now() < waitsUntil && ledger.versions.length === length && areQuiet();
  };

  return {
    /** Limits and habits of dispatchers on a platform with such a clock. */
    traits: {
      lifeMs: lifeSeconds > 600 ? 780_000 : 50_000,
      headsPerLook: 5_000,
      endsIdle,
    },
    /** Starts a dispatcher soon. In storms the event may be lost. */
    wakeDispatcher: async () => {
      if (!isLost()) world.after(wakeMs, "a dispatcher is woken", () => invoke("dispatch"));
    },
    begin(endAt: number): void {
      const every = (ms: number, what: string, work: () => void) => {
        const again = () => {
          work();
          if (world.now() < endAt) world.after(ms, what, again);
        };
        world.after(world.random() * ms, what, again);
      };
      every(minuteMs, "the clock's minute", tick);
    },
  };
}
