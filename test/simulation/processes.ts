import type { DialerDeps } from "#functions/dialer/runtime/context.ts";
import type { DialerMemory } from "#functions/dialer/runtime/memory.ts";
import { createDialerMemory } from "#functions/dialer/runtime/memory.ts";
import type { Scenario } from "./scenario.ts";
import type { World } from "./world.ts";
import { asOneInvocation } from "../support/count-queries.ts";

/** A process that runs dialers. It keeps its memory between them until it is killed. */
export interface Process {
  memory: DialerMemory;
  /** True if it runs the plan that was deployed before. */
  isOld: boolean;
  /** True if it runs a later version of the code, which knows more fields and states of a row. */
  isLater: boolean;
  /** True if its clock is an hour ahead or behind, and it runs only what the clock starts. */
  isOpposed: boolean;
  underWay: number;
  /** The time by its own clock. */
  now(): number;
}

/** Maximum difference of a clock that is set by NTP, and a step of one that was set wrongly. */
const apartMs = 2_000;
const stepMs = 3_600_000;

/** Creates the clock of one process: it differs from the others', or is an hour off for some minutes. */
export function createOwnClock(world: World, clocks: Scenario["clocks"]): () => number {
  if (clocks === "same") return world.now;
  const offsetMs = Math.round((2 * world.random() - 1) * apartMs);
  const stepsAt = world.now() + world.between(1_000, 600_000);
  const stepsBackAt = stepsAt + world.between(1_000, 600_000);
  const ofStepMs = clocks === "stepping" && world.chance(0.5) ? stepMs : 0;
  const directed = world.chance(0.5) ? ofStepMs : -ofStepMs;
  return () => {
    const now = world.now();
    return now + offsetMs + (now >= stepsAt && now < stepsBackAt ? directed : 0);
  };
}

/** Functions that the clock starts, to which wrong processes are left. */
const clocked: ReadonlySet<string> = new Set(["sweep", "upkeep", "dispatch"]);
/** Differences of the clocks of the two processes that are wrong. */
const opposedMs = [stepMs, -stepMs] as const;
/** Maximum time after which what a wrong process runs dies, and leaves its lease behind. */
const opposedLifeMs = 400;

/** Creates the processes of a dialer. A free one is reused, and now and then a busy one, like a Worker's isolate. */
export function createProcesses(
  world: World,
  traits: () => { isOld: boolean; isLater: boolean },
  { clocks, opposedSeconds = 0 }: Pick<Scenario, "clocks" | "opposedSeconds">,
  depsOf: (process: Process) => DialerDeps,
) {
  const opposedUntil = world.now() + opposedSeconds * 1000;
  const traitsOfAll = { isOld: false, isLater: false, underWay: 0 };
  let processes: Process[] = opposedMs.slice(0, opposedSeconds > 0 ? 2 : 0).map((wrongMs) => ({
    ...traitsOfAll,
    memory: createDialerMemory(),
    isOpposed: true,
    now: () => world.now() + (world.now() < opposedUntil ? wrongMs : 0),
  }));

  const take = (name: string): Process => {
    const { isOld, isLater } = traits();
    const fits = processes.filter(
      (one) =>
        one.isOld === isOld &&
        one.isLater === isLater &&
        (!one.isOpposed || clocked.has(name)) &&
        (one.underWay === 0 || world.chance(0.3)),
    );
    const found = fits[Math.floor(world.random() * fits.length)];
    if (found !== undefined) return found;
    const now = createOwnClock(world, opposedSeconds > 0 ? "apart" : clocks);
    const made = {
      ...traitsOfAll,
      memory: createDialerMemory(),
      isOld,
      isLater,
      isOpposed: false,
      now,
    };
    processes.push(made);
    return made;
  };

  return {
    /** Runs a function in a process. Resolves to undefined if the function was killed, and with it the process. */
    async run<Result>(
      name: string,
      lifeMs: number,
      work: (deps: DialerDeps, deadline: number) => Promise<Result>,
    ): Promise<Result | undefined> {
      const process = take(name);
      process.underWay += 1;
      const deadline = process.now() + lifeMs;
      const isOpposed = process.isOpposed && world.now() < opposedUntil;
      const ended = await world.invoke(
        name,
        async () => ({ result: await work(asOneInvocation(depsOf(process)), deadline) }),
        isOpposed ? world.between(1, opposedLifeMs) : lifeMs,
      );
      process.underWay -= 1;
      if (ended === undefined && !isOpposed) processes = processes.filter((one) => one !== process);
      return ended?.result;
    },
  };
}
export type Processes = ReturnType<typeof createProcesses>;
