import { AsyncLocalStorage } from "node:async_hooks";

/** One run of a function: of the API, of the dialer. It may be killed, and it may stand still and go on. */
export interface Invocation {
  name: string;
  state: "running" | "ended" | "killed";
  frozenUntil: number;
  /** What it waits for; with nothing, it is at work, or hangs for good. */
  waits: number;
  /** What it has been told, and when: all that what it does next depends on. */
  told: string[];
  onKilled(): void;
}

/** Something that is to happen: to an invocation, or in the world at large. */
export interface Happening {
  at: number;
  order: number;
  what: string;
  invocation: Invocation | undefined;
  happen(): void;
}

/** Chances of what may befall an invocation whenever it asks something of the outside world. */
export interface Stops {
  kill: number;
  freeze: number;
}

export const noStops: Stops = { kill: 0, freeze: 0 };

/** What runs on when an invocation that stood still is past its deadline. */
const graceMs = 3_000;

const realSetTimeout = globalThis.setTimeout;
const realClearTimeout = globalThis.clearTimeout;
const current = new AsyncLocalStorage<{ world: World; invocation: Invocation }>();

/** A timer of the simulated world, as `setTimeout` answers with one. */
class SimulatedTimer {
  readonly cancel: () => void;
  constructor(cancel: () => void) {
    this.cancel = cancel;
  }
}

/**
 * In an invocation, `setTimeout` is of its world; elsewhere it is the real one. So the code under test needs no
 * other clock than the one it has.
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
 * A world with a clock of its own, in which one thing happens after another. Everything random in it follows from
 * its seed, so a run is repeated by its seed. What an invocation does between two waits takes no time, and nothing
 * happens meanwhile; it may be killed, or stand still for minutes, at any of its waits.
 */
export class World {
  #now: number;
  #state: number;
  #order = 0;
  #happenings: Happening[] = [];
  readonly #invocations = new Set<Invocation>();
  stops = noStops;
  /** How often each step has been taken. */
  readonly #taken = new Map<string, number>();
  /** Steps at which the first to take them is to stand still, and for how long; `settle #2` is the second's. */
  readonly pauses = new Map<string, number>();
  /** Requests that take long on their way: steps as in `pauses`, and for how long. */
  readonly delays = new Map<string, number>();
  readonly #sent = new Map<string, number>();
  /** Whoever goes on after standing still finds the answers before it finds its time limits over. */
  answersFirst = false;
  killed = 0;
  frozen = 0;
  /** What happened, newest last, to be told of a failure. */
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
  /** Log-uniform, as waits are: mostly short, now and then very long. */
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

  /** In the world at large, whatever becomes of any invocation. */
  after(ms: number, what: string, happen: () => void): void {
    this.#add({ at: this.#now + ms, what, invocation: undefined, happen });
  }

  /** In the invocation that asks; answers with how to call it off. */
  timer(what: string, ms: number, happen: () => void): () => void {
    const invocation = this.whoAsks();
    if (invocation?.state === "killed") return () => undefined;
    if (invocation !== undefined) invocation.waits += 1;
    const happening = this.#add({
      at: this.#now + Math.max(0, ms),
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

  /** Waits, as the invocation that asks; one that was killed waits for good. */
  wait = (ms: number, what = "wait"): Promise<void> =>
    new Promise((done) => {
      this.timer(what, ms, done);
    });

  /**
   * What is done outside once it has been sent, whatever becomes of who asked for it. Who asked waits for the answer,
   * and finds it when it goes on.
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

  /** Perhaps kills whoever takes this step, or has it stand still; what it waits for next tells. */
  mayStop(step: string): void {
    const invocation = this.whoAsks();
    if (invocation === undefined || invocation.state !== "running") return;
    const times = (this.#taken.get(step) ?? 0) + 1;
    this.#taken.set(step, times);
    const pause = this.pauses.get(times === 1 ? step : `${step} #${times}`);
    if (pause === undefined && this.chance(this.stops.kill)) this.kill(invocation);
    else if (pause !== undefined || this.chance(this.stops.freeze)) {
      const ms = pause ?? this.between(500, 1_500_000);
      invocation.frozenUntil = this.#now + ms;
      this.frozen += 1;
      this.note(`${invocation.name} stands still for ${ms} ms at ${step}`);
    }
  }

  /** How long a request takes on its way, where that is said. */
  delayOf(step: string): number | undefined {
    const times = (this.#sent.get(step) ?? 0) + 1;
    this.#sent.set(step, times);
    return this.delays.get(times === 1 ? step : `${step} #${times}`);
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

  /** Runs a function; resolves with undefined where it was killed, at its deadline at the latest. */
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
        // Whoever stands still then has some moments left when it goes on.
        const left = invocation.frozenUntil - this.#now;
        if (left > 0) this.after(left + graceMs, `${name} is past its deadline`, overdue);
        else this.kill(invocation);
      };
      this.after(lifeMs, `${name} is at its deadline`, overdue);
      // In nobody's name: who invokes may be an invocation itself, and wait for this one.
      current
        .run({ world: this, invocation }, work)
        .then((result) => end(() => resolve(result)))
        .catch((error: unknown) => end(() => reject(error)));
    });
  }

  /** Lets time pass in which nothing happens. */
  pass(ms: number): void {
    this.#now += ms;
  }

  running(): Invocation[] {
    return [...this.#invocations];
  }

  /** The invocation that is at work. */
  whoAsks(): Invocation | undefined {
    return current.getStore()?.invocation;
  }

  /** Notes what the invocation that asks is told. */
  tell(what: string): void {
    this.whoAsks()?.told.push(what);
  }

  /** What is next by the clock; another order may be put in its stead. */
  pick = (happenings: readonly Happening[]): Happening | undefined => {
    let next: Happening | undefined;
    for (const one of happenings) {
      if (next === undefined || one.at < next.at || (one.at === next.at && one.order < next.order))
        next = one;
    }
    return next;
  };

  /** Lets things happen until the clock stands at `until`, or nothing is left to happen. */
  async run(until: number): Promise<void> {
    for (;;) {
      await this.#computed();
      const next = this.pick(this.#happenings);
      if (next === undefined || next.at > until) break;
      const { invocation } = next;
      this.#now = Math.max(this.#now, next.at);
      if (invocation !== undefined && invocation.frozenUntil > this.#now) {
        next.at = invocation.frozenUntil;
        // Whether its time limits or the answers come first is not said.
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

  /** Until every invocation waits for something. */
  async #computed(): Promise<void> {
    for (let turn = 0; turn < 1000; turn++) {
      await new Promise((done) => setImmediate(done));
      const idle = [...this.#invocations].filter(({ waits }) => waits <= 0);
      if (idle.length === 0) return;
    }
    throw new Error("an invocation waits for nothing that could ever happen");
  }
}
