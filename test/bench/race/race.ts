/** One engine's race: calls are posted and dialed through kills, a hang and an outage of the provider. */
import { setTimeout as sleep } from "node:timers/promises";
import { callRequest } from "../competitors/payload.ts";
import { until } from "#test/support/service.ts";
import { startSide } from "../processes.ts";
import { type Consumption, watchConsumption } from "./consumption.ts";
import type { Engine, EngineState, RunningEngine } from "./engine.ts";
import { createGate } from "./gate.ts";

/** The workload, in seconds and calls. */
export interface Workload {
  /** Length of the phase in which the worker is killed. */
  killSeconds: number;
  /** Time from the worker's restart to its next kill. */
  killEverySeconds: number;
  hangSeconds: number;
  busySeconds: number;
  /** Longest wait for the end of all calls, once the provider is well again. */
  settleSecondsMax: number;
  /** Calls posted at a steady rate in the three phases. */
  calls: number;
}

/** A posted call. Times are in milliseconds since the epoch. */
interface Posted {
  person: string;
  dueAt: number;
  acceptedAt?: number;
  id?: string;
}

/** Everything that was observed of one engine. */
export interface Observed {
  startedAt: number;
  /** Times at which the hang, the outage and the good time after it began. */
  hangAt: number;
  busyAt: number;
  wellAt: number;
  quietAt: number;
  killsAt: number[];
  posted: Posted[];
  phoned: [person: string, at: number][];
  state: EngineState;
  consumption: Consumption;
}

const warmUpCalls = 20;
const warmUpMs = 3_000;
const warmUpMsMax = 60_000;
const lookEveryMs = 3_000;
/** The engine itself lists its calls then, at the expense of its figures: an engine is not to be measured by that. */
const stateEveryMs = 10_000;
/** Calls of the warm-up have numbers from here on. */
const firstWarmUp = 900_000;

interface ProviderAnswers {
  phoned: [person: string, at: number][];
  refused: number[];
}

/** Returns the posts in order of time. */
function scheduleOf(workload: Workload, startedAt: number): Posted[] {
  const { calls, killSeconds, hangSeconds, busySeconds } = workload;
  const everyMs = ((killSeconds + hangSeconds + busySeconds) * 1000) / calls;
  return Array.from({ length: calls }, (_, n) => ({
    person: callRequest(n).phone_number,
    dueAt: startedAt + n * everyMs,
  }));
}

/** Runs one race. @throws if the engine does not accept the calls of the warm-up */
export async function race(engine: Engine, workload: Workload): Promise<Observed> {
  const provider = await startSide("../engines/provider.ts");
  let running: RunningEngine | undefined;
  try {
    running = await engine.start(`http://127.0.0.1:${provider.ready.port}/dial`);
    return await observe(running, workload, {
      become: (mode) => provider.ask({ ask: "mode", mode }),
      answers: () => provider.ask<ProviderAnswers>({ ask: "phoned" }),
    });
  } finally {
    await running?.stop();
    provider.stop();
  }
}

async function observe(
  running: RunningEngine,
  workload: Workload,
  provider: { become(mode: string): Promise<unknown>; answers(): Promise<ProviderAnswers> },
): Promise<Observed> {
  let acceptedCount = 0;
  const gate = createGate(() => acceptedCount);
  const accept = (n: number) =>
    gate.pass(async () => {
      const id = await running.accept(callRequest(n));
      if (id !== undefined) acceptedCount += 1;
      return id;
    });
  await warmUp(accept);
  const watch = watchConsumption(running.roots);
  const startedAt = Date.now();
  const posted = scheduleOf(workload, startedAt);
  const posting = Promise.all(
    posted.map(async (one, n) => {
      await sleep(Math.max(1, one.dueAt - Date.now()));
      const id = await accept(n);
      if (id !== undefined) Object.assign(one, { id, acceptedAt: Date.now() });
    }),
  );
  const killsAt = await killAgainAndAgain(workload, startedAt, async () => {
    watch.sample();
    await running.kill(gate);
  });
  const hangAt = Date.now();
  await provider.become("hangs");
  await sleep(workload.hangSeconds * 1000);
  const busyAt = Date.now();
  await provider.become("busy");
  await sleep(workload.busySeconds * 1000);
  const wellAt = Date.now();
  await provider.become("well");
  await posting;
  const state = await untilQuiet(
    running,
    provider,
    posted,
    wellAt + workload.settleSecondsMax * 1000,
  );
  const quietAt = Date.now();
  const people = new Set(posted.map(({ person }) => person));
  const { phoned } = await provider.answers();
  return {
    startedAt,
    hangAt,
    busyAt,
    wellAt,
    quietAt,
    killsAt,
    posted,
    phoned: phoned.filter(([person]) => people.has(person)),
    state,
    consumption: watch.stop(),
  };
}

async function warmUp(accept: (n: number) => Promise<string | undefined>): Promise<void> {
  let warm = 0;
  // Some engines accept nothing until their worker has created their tables.
  const isWarm = async () => {
    if ((await accept(firstWarmUp + warm)) !== undefined) warm += 1;
    return warm === warmUpCalls;
  };
  await until(isWarm, { hangMs: warmUpMsMax });
  await sleep(warmUpMs);
}

/** Kills again and again until the first phase is over. Resolves to the times of the kills. */
async function killAgainAndAgain(
  { killSeconds, killEverySeconds }: Workload,
  startedAt: number,
  kill: () => Promise<void>,
): Promise<number[]> {
  const killsAt: number[] = [];
  for (;;) {
    await sleep(killEverySeconds * 1000);
    if (Date.now() >= startedAt + killSeconds * 1000) return killsAt;
    await kill();
    killsAt.push(Date.now());
  }
}

/**
 * Waits until nothing is open and everybody has been phoned or is left for a person, or until `endAt`. Engines are asked for
 * their calls only once nobody more was phoned since the last look, as some serve that with the processes that are measured.
 */
async function untilQuiet(
  running: RunningEngine,
  provider: { answers(): Promise<ProviderAnswers> },
  posted: readonly Posted[],
  endAt: number,
): Promise<EngineState> {
  let phonedBefore = -1;
  for (;;) {
    const phoned = new Set((await provider.answers()).phoned.map(([person]) => person));
    const isGrowing = phoned.size > phonedBefore;
    phonedBefore = phoned.size;
    if (isGrowing && Date.now() < endAt) {
      await sleep(lookEveryMs);
      continue;
    }
    const state = await running.state();
    const left = new Set(state.left);
    const isSettled = posted.every(
      ({ id, person }) => id === undefined || phoned.has(person) || left.has(id),
    );
    if ((isSettled && state.open.length === 0) || Date.now() >= endAt) return state;
    await sleep(stateEveryMs);
  }
}
