import { AsyncLocalStorage } from "node:async_hooks";

/** One run of a function of the API or the dialer. It may be killed, and it may stand still and go on. */
export interface Invocation {
  name: string;
  state: "running" | "ended" | "killed";
  frozenUntil: number;
  /** The chain of invocations that it continues. Absent: it begins one. */
  trace?: string;
  /** Number of answers and timers it waits for. At zero it is at work, or hangs for good. */
  waits: number;
  /** All answers it has received, with their times: its next steps depend on nothing else. */
  told: string[];
  onKilled(): void;
}

/** A future event of an invocation, or of the world at large. */
export interface Happening {
  at: number;
  order: number;
  what: string;
  invocation: Invocation | undefined;
  happen(): void;
}

/** Probabilities of interruptions whenever an invocation asks the outside world. */
export interface Stops {
  kill: number;
  freeze: number;
}

export const noStops: Stops = { kill: 0, freeze: 0 };

/** Name of the invocations of dispatchers. */
const dispatcherName = "dispatch";
/** Time for which an invocation that stood still past its deadline still runs. */
const graceMs = 3_000;

const realSetTimeout = globalThis.setTimeout;
const realClearTimeout = globalThis.clearTimeout;
const current = new AsyncLocalStorage<{ world: World; invocation: Invocation }>();

/** A timer of the simulated world, in the form that `setTimeout` returns. */
class SimulatedTimer {
  readonly cancel: () => void;
  constructor(cancel: () => void) {
    this.cancel = cancel;
  }
}

/**
 * Replaces `setTimeout` by the world's timers within an invocation; elsewhere it stays real. The code under
 * test therefore needs no other clock.
 */
function installTimers(): void {
  const set = (work: () => void, ms = 0, ...rest: unknown[]): unknown => {
    const store = current.getStore();
    if (store === undefined) return Reflect.apply(realSetTimeout, undefined, [work, ms, ...rest]);
    return new SimulatedTimer(store.world.timer("timer", ms, work));
  };
  const clear = (timer: unknown): void => {
    if (timer instanceof SimulatedTimer) timer.cancel();
    else Reflect.apply(realClearTimeout, undefined, [timer]);
  };
  Object.assign(globalThis, { setTimeout: set, clearTimeout: clear });
}
installTimers();

/**
 * A world with its own clock, in which one event happens after another. All randomness follows from its seed,
 * so a run is repeated by its seed. Work between two waits of an invocation takes no time, and no other event
 * happens meanwhile. An invocation may be killed, or stand still for minutes, at any of its waits.
 */
export class World {
  #now: number;
  #state: number;
  #order = 0;
  #happenings: Happening[] = [];
  readonly #invocations = new Set<Invocation>();
  stops = noStops;
  /** Number of times each step has been taken. */
  readonly #taken = new Map<string, number>();
  /**
   * Steps at which the first function to take them stands still, with the duration; `settle #2` means the
   * second function.
   */
  readonly pauses = new Map<string, number>();
  /** Steps, named as in `pauses`, whose requests are slow, with the duration. */
  readonly delays = new Map<string, number>();
  readonly #sent = new Map<string, number>();
  /** True if a function that goes on after standing still finds the answers before its expired time limits. */
  answersFirst = false;
  killed = 0;
  frozen = 0;
  /** Time at which the last function that stands still goes on, but for dispatchers, which others follow. */
  frozenUntil = 0;
  /** Events, newest last, for the report of a failure. */
  readonly trace: string[] = [];
  traced = false;

  constructor(seed: number, startAt: number) {
    this.#state = seed >>> 0;
    this.#now = startAt;
  }

  now = (): number => this.#now;

  /** 0 ≤ random < 1 (mulberry32). */
  random = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let word = this.#state;
    word = Math.imul(word ^ (word >>> 15), word | 1);
    word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
    return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32;
  };
  chance = (of: number): boolean => of > 0 && this.random() < of;
  /** Log-uniform, like real waits: mostly short, now and then very long. */
  between = (least: number, most: number): number =>
    Math.round(least * (most / least) ** this.random());
  hex = (): string =>
    Array.from({ length: 4 }, () =>
      Math.floor(this.random() * 2 ** 32)
        .toString(16)
        .padStart(8, "0"),
    ).join("");
  /** A version of a row or a document. */
  version = (): string => this.hex().slice(0, 20);

  note(what: string): void {
    if (this.traced) this.trace.push(`${new Date(this.#now).toISOString()} ${what}`);
  }

  /** Schedules an event of the world at large, independent of any invocation. */
  after(ms: number, what: string, happen: () => void): void {
    this.#add({ at: this.#now + ms, what, invocation: undefined, happen });
  }

  /** Sets a timer of the current invocation. Returns a function that cancels it. */
  timer(what: string, ms: number, happen: () => void): () => void {
    const invocation = this.whoAsks();
    if (invocation?.state === "killed") return () => undefined;
    if (invocation !== undefined) invocation.waits += 1;
    const happening = this.#add({
      at: this.#now + Math.max(0, Math.ceil(ms)), // a clock has whole milliseconds
      what,
      invocation,
      happen: () => {
        if (invocation !== undefined) invocation.waits -= 1;
        happen();
      },
    });
    return () => {
      const before = this.#happenings.length;
      this.#happenings = this.#happenings.filter((one) => one !== happening);
      if (invocation !== undefined && this.#happenings.length < before) invocation.waits -= 1;
    };
  }

  /** Waits in the current invocation. A killed invocation waits for good. */
  wait = (ms: number, what = "wait"): Promise<void> =>
    new Promise((done) => {
      this.timer(what, ms, done);
    });

  /**
   * Performs an effect outside, which happens once it has been sent, whatever happens to the caller. The
   * caller receives the answer when it goes on.
   */
  outside<Result>(ms: number, what: string, effect: () => Promise<Result>): Promise<Result> {
    const invocation = this.whoAsks();
    if (invocation !== undefined) invocation.waits += 1;
    return new Promise((resolve, reject) => {
      const answer = (tell: () => void) => {
        if (invocation?.state === "killed") return;
        const happen = () => {
          if (invocation !== undefined) invocation.waits -= 1;
          tell();
        };
        this.#add({ at: this.#now, what: `${what} answers`, invocation, happen });
      };
      this.after(ms, what, () => {
        effect().then(
          (result) => answer(() => resolve(result)),
          (error: unknown) => answer(() => reject(error)),
        );
      });
    });
  }

  /** May kill the invocation that takes this step, or make it stand still. Its next wait shows which. */
  mayStop(step: string): void {
    const invocation = this.whoAsks();
    if (invocation === undefined || invocation.state !== "running") return;
    const pause = this.pauses.get(nameOfTurn(this.#taken, stepOf(invocation, step)));
    if (pause === undefined && this.chance(this.stops.kill)) this.kill(invocation);
    else if (pause !== undefined || this.chance(this.stops.freeze)) {
      const ms = pause ?? this.between(500, 1_500_000);
      invocation.frozenUntil = this.#now + ms;
      if (invocation.name !== dispatcherName)
        this.frozenUntil = Math.max(this.frozenUntil, invocation.frozenUntil);
      this.frozen += 1;
      this.note(`${invocation.name} stands still for ${ms} ms at ${step}`);
    }
  }

  /** Returns the duration of a request, if set by `delays`. */
  delayOf(step: string): number | undefined {
    return this.delays.get(nameOfTurn(this.#sent, stepOf(this.whoAsks(), step)));
  }

  kill(invocation: Invocation): void {
    if (invocation.state !== "running") return;
    invocation.state = "killed";
    this.#invocations.delete(invocation);
    this.#happenings = this.#happenings.filter((one) => one.invocation !== invocation);
    this.killed += 1;
    this.note(`${invocation.name} is killed`);
    invocation.onKilled();
  }

  /** Runs a function. Resolves to undefined if it was killed, at its deadline at the latest. */
  invoke<Result>(
    name: string,
    work: () => Promise<Result>,
    lifeMs: number,
  ): Promise<Result | undefined> {
    return new Promise((resolve, reject) => {
      const invocation: Invocation = {
        name,
        state: "running",
        frozenUntil: 0,
        waits: 0,
        told: [],
        onKilled: () => resolve(undefined),
      };
      this.#invocations.add(invocation);
      const end = (tell: () => void) => {
        if (invocation.state !== "running") return;
        invocation.state = "ended";
        this.#invocations.delete(invocation);
        tell();
      };
      const overdue = () => {
        // An invocation that stands still then has some time left when it goes on.
        const left = invocation.frozenUntil - this.#now;
        if (left > 0) this.after(left + graceMs, `${name} is past its deadline`, overdue);
        else this.kill(invocation);
      };
      this.after(lifeMs, `${name} is at its deadline`, overdue);
      // The context is a new one: the caller may be an invocation itself, and wait for this one.
      current
        .run({ world: this, invocation }, work)
        .then((result) => end(() => resolve(result)))
        .catch((error: unknown) => end(() => reject(error)));
    });
  }

  /** Lets time pass without events. */
  pass(ms: number): void {
    this.#now += ms;
  }

  running(): Invocation[] {
    return [...this.#invocations];
  }

  /** Returns the current invocation. */
  whoAsks(): Invocation | undefined {
    return current.getStore()?.invocation;
  }

  /** Records an answer for the current invocation. */
  tell(what: string): void {
    this.whoAsks()?.told.push(what);
  }

  /** Picks the next event by the clock. Tests may replace it by another order. */
  pick = (happenings: readonly Happening[]): Happening | undefined => {
    let next: Happening | undefined;
    for (const one of happenings) {
      if (next === undefined || one.at < next.at || (one.at === next.at && one.order < next.order))
        next = one;
    }
    return next;
  };

  /** Runs events until the clock stands at `until`, or none is left. */
  async run(until: number): Promise<void> {
    for (;;) {
      await this.#computed();
      const next = this.pick(this.#happenings);
      if (next === undefined || next.at > until) break;
      const { invocation } = next;
      this.#now = Math.max(this.#now, next.at);
      if (invocation !== undefined && invocation.frozenUntil > this.#now) {
        next.at = invocation.frozenUntil;
        // Time limits and answers come in random order, unless answers come first.
        const isFirst = this.answersFirst && next.what !== "timer";
        next.order = isFirst ? 0 : this.random() * 1e6;
        continue;
      }
      this.#happenings.splice(this.#happenings.indexOf(next), 1);
      invocation?.told.push(`${next.what} ${this.#now}`);
      next.happen();
    }
    if (Number.isFinite(until)) this.#now = Math.max(this.#now, until);
  }

  #add(happening: Omit<Happening, "order">): Happening {
    this.#order += 1;
    const added = { ...happening, order: this.#order };
    this.#happenings.push(added);
    return added;
  }

  /** Resolves once every invocation waits. */
  async #computed(): Promise<void> {
    for (let turn = 0; turn < 1000; turn++) {
      await new Promise((done) => setImmediate(done));
      const idle = [...this.#invocations].filter(({ waits }) => waits <= 0);
      if (idle.length === 0) return;
    }
    throw new Error("an invocation waits for nothing that could ever happen");
  }
}

/** Names a step. A dispatcher's steps have names of their own, as it takes them every two seconds. */
function stepOf(invocation: Invocation | undefined, step: string): string {
  return invocation?.name === dispatcherName ? `dispatch: ${step}` : step;
}

/** Counts a step, and returns its name with its number from the second one on. */
function nameOfTurn(counts: Map<string, number>, step: string): string {
  const times = (counts.get(step) ?? 0) + 1;
  counts.set(step, times);
  return times === 1 ? step : `${step} #${times}`;
}
