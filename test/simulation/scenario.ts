import * as fc from "fast-check";
import { type Checking, checking } from "./checks.ts";
import type { Fates } from "./provider.ts";

/** Probabilities of all faults at once. */
export interface Weather extends Fates {
  kill: number;
  freeze: number;
  before: number;
  after: number;
  slow: number;
  double: number;
  lostResult: number;
  partial: number;
}

export interface Scenario {
  /** Seed of everything that the scenario leaves open. */
  seed: number;
  /** Start, in minutes after the first Thursday noon, UTC, of the plan's time. */
  startMinutes: number;
  /** True if numbers have a cap. */
  capped: boolean;
  /** True if calling hours apply; otherwise it is always open. */
  hours: boolean;
  /** Maximum duration of an invocation of the dialer. */
  lifeSeconds: number;
  consumers: number;
  batchSize: number;
  visibilitySeconds: number;
  attemptsMax: number;
  lateSeconds: number;
  sweepLost: number;
  /** Maximum lag of the ledger's indexes. */
  lagSeconds: number;
  /** The clocks of processes: the same, up to 2 s apart, or besides an hour off for some minutes. */
  clocks: "same" | "apart" | "stepping";
  /**
   * Seconds from the start for which the first process of sweeps, upkeeps and dispatchers is an hour ahead, and the second one
   * an hour behind. What they run dies in its midst, and leaves its lease. All others are right. Absent: none is wrong.
   */
  opposedSeconds?: number;
  /** True if every account has answered quickly before, so that fresh calls need no dispatcher. */
  isKnown: boolean;
  /** True if a dispatcher ends where nothing is due soon, and is woken. */
  endsIdle: boolean;
  /** Lifetime of a call. */
  expireHours: number;
  /** Time for which some dialers run the previous plan, which lacks an agent and has another's account wrong. */
  oldPlanSeconds: number;
  /** Number of dialers of a later version, which knows more fields and states of a row. */
  later: number;
  weather: Weather;
  posts: Post[];
  acts: Act[];
  /** A restore of the ledger from a backup, if there is one. */
  restore?: Restore;
  /** True if the plan asks for results, and providers call back. */
  results: boolean;
  /** True if the plan has calls of some agents tried again, where it asks for results. */
  retries?: boolean;
  /** True if callees of some agents ask to be called back, where the plan asks for results. */
  callBacks?: boolean;
  /** True if the plan has traces. Half of the requests are sampled. */
  traces?: boolean;
  outages: { of: "ledger" | "queue" | "providers"; atSeconds: number; seconds: number }[];
  /** Receivers of events: of all clients without one of their own, and of one client. None: nobody is told. */
  receivers: Receiving[];
  /** Checks before calls. Absent: the plan has none. */
  checks?: Checking | undefined;
  /** Clients and operators who write as much as they may. Absent: nobody does. */
  writes?: Writing[];
}

/** Many writes of one kind, as fast as they are answered. */
export interface Writing {
  atSeconds: number;
  what: "orders" | "opt-outs" | "receivers" | "lists" | "tokens";
  /** The client that writes; of lists and tokens the operator does. */
  token: "valid" | "second";
  count: number;
  which: number;
}

/** Probabilities of what a receiver does with a request, beside taking the event and answering. */
export interface Habits {
  /** 503. */
  failing: number;
  /** 429 with Retry-After. */
  busy: number;
  /** 410, as from a receiver that is gone for good. */
  gone: number;
  /** No answer within the time limit. */
  hanging: number;
  /** The event is taken, and its answer is lost. */
  breakingOff: number;
}

/** A receiver of events. */
export interface Receiving {
  /** Name in the plan. */
  name: "*" | "second";
  /** False: it is told of ends and of finished requests alone. */
  isAllDelivered: boolean;
  requestsPerSecond: number;
  habits: Habits;
  /** Time from the start on for which it takes nothing. */
  downSeconds: number;
  /** Its habit while it is down. */
  downBy: "hanging" | "failing";
}

export const wellBehaved: Habits = { failing: 0, busy: 0, gone: 0, hanging: 0, breakingOff: 0 };

/** A restore of the ledger. All times are seconds since the start. */
interface Restore {
  /** Time of the backup. */
  toSeconds: number;
  /** Time at which the backup replaces the ledger. */
  atSeconds: number;
  /** Time at which the operator begins to look after it. */
  confirmedSeconds: number;
}

export const agents = ["plain", "again", "command", "listed", "known", "office"] as const;

export interface Post {
  atSeconds: number;
  token: "valid" | "second" | "wrong" | "none" | "of another agent";
  /**
   * Idempotency-Key of the request, which is repeated until it is answered, and `repeats` times after that.
   * `reuses`: the key is that of the client's previous request, for other calls. The last repeat comes
   * `hoursLater`; every repeat does if the client `isPatient`.
   */
  key: { repeats: number; reuses: boolean; hoursLater: number; isPatient?: boolean } | undefined;
  /** Headers that say when the calls are to be dialed. Absent: none. */
  timing?: { laterSeconds: number | undefined; isUrgent: boolean } | undefined;
  /** Undefined: a single call is posted. */
  batch: PostedCall[] | undefined;
  call: PostedCall;
}

export interface PostedCall {
  agent: (typeof agents)[number];
  person: number;
  /** True if its number is invalid, so that its whole request must be refused. */
  bad: boolean;
}

export interface Act {
  atSeconds: number;
  act:
    | "cancel call"
    | "cancel request"
    | "cancel agent"
    | "pause agent"
    | "pause account"
    | "pause client"
    | "redial"
    | "resolve"
    | "do not call"
    | "erase";
  which: number;
  seconds: number;
  /** True if a pause is ordered with its end, and nobody resumes it. */
  endsItself?: boolean;
  /** True if the operator errs about whether the call was placed. */
  errs: boolean;
}

/** People who may be called: numbers, and time zones as posted. */
export const people = [
  { number: "+12125550100", timezone: undefined, zone: "America/New_York" },
  { number: "+12125550101", timezone: "america/los_angeles", zone: "America/Los_Angeles" },
  { number: "+442079460100", timezone: undefined, zone: "Europe/London" },
  { number: "+911155500101", timezone: "Asia/Kolkata", zone: "Asia/Kolkata" },
  { number: "+97715550102", timezone: "+05:45", zone: "+05:45" },
  { number: "+12125550103", timezone: "US/Hawaii", zone: "Pacific/Honolulu" },
  { number: "+61255500102", timezone: "Australia/Lord_Howe", zone: "Australia/Lord_Howe" },
  { number: "+3545550104", timezone: "UTC", zone: "UTC" },
] as const;

const calm: Weather = {
  kill: 0,
  freeze: 0,
  before: 0,
  after: 0,
  slow: 0,
  double: 0,
  lostResult: 0,
  partial: 0,
  lost: 0,
  vanished: 0,
  late: 0,
  busy: 0,
  rejected: 0,
  accountRefused: 0,
  routeRefused: 0,
  forbidden: 0,
  mute: 0,
};
export const calmWeather: Weather = calm;

/** True if nothing fails in a scenario but functions that it makes stand still. */
export function isCalm({ weather, outages, later, oldPlanSeconds }: Scenario): boolean {
  return weather === calmWeather && outages.length === 0 && later === 0 && oldPlanSeconds === 0;
}

const chance = (most: number) =>
  // Whole numbers are used, as shrunk fractions are nearly always close to zero.
  fc.oneof(
    fc.constant(0),
    fc.nat({ max: 100 }).map((percent) => (percent / 100) * most),
  );
const weather: fc.Arbitrary<Weather> = fc.record({
  kill: chance(0.04),
  freeze: chance(0.04),
  before: chance(0.15),
  after: chance(0.15),
  slow: chance(0.03),
  double: chance(0.3),
  lostResult: chance(0.2),
  partial: chance(0.3),
  lost: chance(0.3),
  vanished: chance(0.3),
  late: chance(0.15),
  busy: chance(0.4),
  rejected: chance(0.1),
  accountRefused: chance(0.05),
  routeRefused: chance(0.05),
  forbidden: chance(0.05),
  mute: chance(0.5),
});
const rarely = fc.nat({ max: 60 }).map((n) => n === 60);
const postedCall: fc.Arbitrary<PostedCall> = fc.record({
  agent: fc.constantFrom(...agents),
  person: fc.nat({ max: people.length - 1 }),
  bad: rarely,
});
const post: fc.Arbitrary<Post> = fc.record({
  atSeconds: fc.nat({ max: 1200 }),
  token: fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom("valid", "second") },
    fc.constantFrom("wrong", "none", "of another agent"),
  ),
  key: fc.option(
    fc.record({
      repeats: fc.nat({ max: 2 }),
      reuses: rarely,
      hoursLater: fc.constantFrom(0, 0, 0, 5, 23),
    }),
    { nil: undefined },
  ),
  timing: fc.option(
    fc.record({
      laterSeconds: fc.constantFrom(undefined, undefined, -60, 90, 1200, 7000),
      isUrgent: fc.boolean(),
    }),
    { nil: undefined },
  ),
  batch: fc.option(fc.array(postedCall, { minLength: 1, maxLength: 14 }), { nil: undefined }),
  call: postedCall,
});
const act: fc.Arbitrary<Act> = fc.record({
  atSeconds: fc.nat({ max: 3000 }),
  act: fc.constantFrom(
    "cancel call",
    "cancel request",
    "cancel agent",
    "pause agent",
    "pause account",
    "pause client",
    "redial",
    "redial",
    "resolve",
    "do not call",
  ),
  which: fc.nat({ max: 1000 }),
  seconds: fc.nat({ max: 1200 }),
  endsItself: fc.boolean(),
  errs: rarely,
});

const receiver = (name: Receiving["name"]): fc.Arbitrary<Receiving> =>
  fc.record({
    name: fc.constant(name),
    isAllDelivered: fc.nat({ max: 3 }).map((n) => n > 0),
    requestsPerSecond: fc.constantFrom(20, 20, 1, 0.2),
    habits: fc.oneof(
      fc.constant(wellBehaved),
      fc.record({
        failing: chance(0.5),
        busy: chance(0.2),
        gone: chance(0.05),
        hanging: chance(0.3),
        breakingOff: chance(0.3),
      }),
    ),
    downSeconds: fc.constantFrom(0, 0, 0, 0, 1_800, 14_400),
    downBy: fc.constantFrom("hanging", "failing"),
  });

const writing: fc.Arbitrary<Writing> = fc.record({
  atSeconds: fc.nat({ max: 1800 }),
  what: fc.constantFrom("orders", "orders", "opt-outs", "receivers", "lists", "tokens"),
  token: fc.constantFrom("valid", "second"),
  count: fc.constantFrom(3, 20, 90, 130),
  which: fc.nat({ max: 1000 }),
});

/** Generates everything that may happen to a few dozen calls. Shrinks to fewer calls, faults and acts. */
export const scenarios: fc.Arbitrary<Scenario> = fc.record({
  seed: fc.nat({ max: 2 ** 32 - 1 }),
  startMinutes: fc.oneof(
    fc.nat({ max: 7 * 24 * 60 }),
    // Starts minutes before closing time in London, New York and Nepal, on any of these days.
    fc
      .tuple(fc.nat({ max: 6 }), fc.constantFrom(420, 720, 135), fc.nat({ max: 40 }))
      .map(([day, closing, before]) => day * 24 * 60 + closing - before),
  ),
  capped: fc.boolean(),
  hours: fc.boolean(),
  lifeSeconds: fc.constantFrom(120, 900),
  consumers: fc.integer({ min: 1, max: 4 }),
  batchSize: fc.integer({ min: 1, max: 12 }),
  visibilitySeconds: fc.constantFrom(20, 120, 720),
  attemptsMax: fc.constantFrom(5, 100),
  lateSeconds: fc.constantFrom(0, 5, 90),
  sweepLost: chance(0.3),
  lagSeconds: fc.constantFrom(0, 1, 5),
  clocks: fc.constantFrom("same", "same", "apart", "stepping"),
  isKnown: fc.boolean(),
  endsIdle: fc.boolean(),
  expireHours: fc.constantFrom(30, 30, 3),
  oldPlanSeconds: fc.constantFrom(0, 0, 600, 3600),
  later: chance(0.6),
  weather,
  posts: fc.array(post, { minLength: 1, maxLength: 8 }),
  acts: fc.array(act, { maxLength: 5 }),
  outages: fc.array(
    fc.record({
      of: fc.constantFrom("ledger", "queue", "providers"),
      atSeconds: fc.nat({ max: 1500 }),
      seconds: fc.nat({ max: 900 }),
    }),
    { maxLength: 2 },
  ),
  results: fc.boolean(),
  receivers: fc
    .tuple(
      fc.option(receiver("*"), { nil: undefined }),
      fc.option(receiver("second"), { nil: undefined }),
    )
    .map((both) => both.flatMap((one) => one ?? [])),
  checks: fc.option(checking, { nil: undefined, freq: 2 }),
  retries: fc.boolean(),
  writes: fc.array(writing, { maxLength: 2 }),
  callBacks: fc.boolean(),
  traces: fc.boolean(),
});
