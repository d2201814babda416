import * as fc from "fast-check";
import type { Fates } from "./provider.ts";

/** How bad it gets: chances of what may go wrong, of every kind at once. */
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
  /** Of everything that is not said here. */
  seed: number;
  /** Minutes after the first Thursday noon, UTC, of the plan's time. */
  startMinutes: number;
  /** Whether numbers have a cap. */
  capped: boolean;
  /** Whether calling hours hold, or it is always open. */
  hours: boolean;
  /** How long an invocation of the dialer may run. */
  lifeSeconds: number;
  consumers: number;
  batchSize: number;
  visibilitySeconds: number;
  attemptsMax: number;
  lateSeconds: number;
  sweepLost: number;
  /** How many seconds the ledger's indexes may be behind. */
  lagSeconds: number;
  /** When a call's time is over. */
  expireHours: number;
  /** For so long some dialers run the plan before, which lacks an agent and has another's account wrong. */
  oldPlanSeconds: number;
  /** How many of the dialers are of a later version, which knows more fields of a row, and more states. */
  later: number;
  weather: Weather;
  posts: Post[];
  acts: Act[];
  outages: { of: "ledger" | "queue" | "providers"; atSeconds: number; seconds: number }[];
}

export const agents = ["plain", "again", "command", "listed", "known", "office"] as const;

export interface Post {
  atSeconds: number;
  token: "valid" | "second" | "wrong" | "none" | "of another agent";
  /**
   * Under an Idempotency-Key: repeated until it is answered, and this often once it is. Where it `reuses` one, that is
   * the key of the client's request before, which was for other calls. The last repeat comes `hoursLater`; of a
   * client who is patient every one.
   */
  key: { repeats: number; reuses: boolean; hoursLater: number; isPatient?: boolean } | undefined;
  /** A single call is posted where this is undefined. */
  batch: PostedCall[] | undefined;
  call: PostedCall;
}

export interface PostedCall {
  agent: (typeof agents)[number];
  person: number;
  /** Its number is none: all of its request is to be refused. */
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
    | "redial"
    | "resolve"
    | "do not call";
  which: number;
  seconds: number;
  /** The operator errs about whether the call was placed. */
  errs: boolean;
}

/** People who may be called: numbers, and time zones as they are posted. */
export const people = [
  { number: "+12125550100", timezone: undefined, zone: "America/New_York" },
  { number: "+12125550101", timezone: "america/los_angeles", zone: "America/Los_Angeles" },
  { number: "+442079460100", timezone: undefined, zone: "Europe/London" },
  { number: "+442079460101", timezone: "Asia/Kolkata", zone: "Asia/Kolkata" },
  { number: "+12125550102", timezone: "+05:45", zone: "+05:45" },
  { number: "+12125550103", timezone: "US/Hawaii", zone: "Pacific/Honolulu" },
  { number: "+442079460102", timezone: "Australia/Lord_Howe", zone: "Australia/Lord_Howe" },
  { number: "+12125550104", timezone: "UTC", zone: "UTC" },
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

const chance = (most: number) =>
  // Of whole numbers: those with a point are nearly always next to nothing.
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
    "redial",
    "redial",
    "resolve",
    "do not call",
  ),
  which: fc.nat({ max: 1000 }),
  seconds: fc.nat({ max: 1200 }),
  errs: rarely,
});

/** Everything that may happen to a few dozen calls. Shrinks to fewer calls, fewer faults and fewer acts. */
export const scenarios: fc.Arbitrary<Scenario> = fc.record({
  seed: fc.nat({ max: 2 ** 32 - 1 }),
  startMinutes: fc.oneof(
    fc.nat({ max: 7 * 24 * 60 }),
    // Minutes before it closes in London, New York and Nepal, on any of these days.
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
});
