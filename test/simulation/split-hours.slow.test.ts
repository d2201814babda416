import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { createDialerMemory } from "#functions/dialer/runtime/memory.ts";
import type { Bench } from "#test/support/dialer-calls.ts";
import { busy, completed, createBench, minuteMs, twilio } from "#test/support/results-bench.ts";
import { retry } from "#test/support/retry-bench.ts";
import { armViolations, listRows, postToSplit, splitName } from "./split-rules.ts";

/** `npm run test:schedules` has more runs. */
const isLong = process.env["LONG"] === "1";

/** A Monday, and the first of weeks without a holiday of the preset. */
const startAt = "2026-06-01T00:00Z";
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const dayOf = (at: number) => Math.floor(at / dayMs);
/** Time between two looks at results, and maximum time from when a call is due until it is dialed or waits again. */
const lookMinutes = 20;
const lateMsMax = 2 * lookMinutes * minuteMs;
const times = { sweepSeconds: 600, dispatchEverySeconds: 300 };
const calleesMax = 12;
const padded = (number: number) => String(number).padStart(2, "0");
/** Zones with a prefix of numbers there: where a number's country keeps no such time, the number's own zones count too. */
const places = [
  { timezone: "America/New_York", prefix: "+12125550" },
  { timezone: "Asia/Kolkata", prefix: "+91115550" },
  { timezone: "Pacific/Honolulu", prefix: "+18085550" },
  { timezone: "America/Los_Angeles", prefix: "+12135550" },
];
const callee = (index: number) => {
  const { timezone = "", prefix = "" } = places[index % places.length] ?? {};
  return { timezone, phone_number: `${prefix}1${padded(index)}` };
};

/** The arm with hours and caps of its own. The other one may dial whenever its calls are due. */
const timed = "agent_timed";
const free = "agent_free";

/** The preset's own words, not read from its table: hours of weekdays, and calls to one number in 30 days. */
const france = { open: [10, 11, 12, 14, 15, 16, 17, 18, 19], days: 30, calls: 4 };

interface Rules {
  /** Hours from one to another in the callee's zone; undefined: those of the preset. */
  own: readonly [from: number, to: number] | undefined;
  callsPerDay: number;
}
const rules: fc.Arbitrary<Rules> = fc.record({
  own: fc.option(
    fc.tuple(fc.nat(20), fc.integer({ min: 1, max: 10 })).map(([from, hours]) => {
      return [from, Math.min(23, from + hours)] as const;
    }),
    { nil: undefined },
  ),
  callsPerDay: fc.integer({ min: 1, max: 9 }),
});
const weights = fc.record({
  [timed]: fc.integer({ min: 0, max: 3 }),
  [free]: fc.integer({ min: 1, max: 3 }),
});
const callees = fc.array(fc.nat(calleesMax - 1), { minLength: 1, maxLength: 9 });
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ post: callees }) },
  { weight: 3, arbitrary: fc.record({ passHours: fc.integer({ min: 1, max: 15 }) }) },
  fc.record({ weights }),
  fc.constantFrom("restart" as const, "deliver again" as const),
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

function planOf({ own, callsPerDay }: Rules, split: Record<string, number>) {
  const [from = 0, to = 0] = own ?? [];
  const late = { "mon-sun": [`${padded(from)}:00-${padded(to)}:00`] };
  return {
    agents: {
      [timed]: {
        ...twilio.agents.agent_sales,
        retry,
        callingHours: own === undefined ? "france" : "late",
      },
      [free]: { provider: "vapi", agent: "a", from: "f", retry },
      [splitName]: { split },
    },
    providers: { twilio: { callsPerDay }, vapi: {} },
    callingHours: { default: "always", ...(own === undefined ? {} : { late }) },
    destinations: { allow: ["US", "IN"] },
    results: {},
  };
}

/** Returns the weekday and the hour of a callee's clock, by the runtime's time zones. */
function clockOf(zone: string, at: number) {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    weekday: "short",
    hour: "numeric",
    hourCycle: "h23",
  });
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
  return { weekday: parts.get("weekday") ?? "", hour: Number(parts.get("hour")) };
}

function isOpen({ own }: Rules, zone: string, at: number): boolean {
  const { weekday, hour } = clockOf(zone, at);
  if (own !== undefined) return hour >= own[0] && hour < own[1];
  return !weekday.startsWith("S") && france.open.includes(hour);
}

/** Returns what was dialed against the hours and caps of the arm that has them. */
function timeViolations(own: Rules, rows: readonly CallRow[], { dialed }: Pick<Bench, "dialed">) {
  const found: string[] = [];
  const claimedAt = new Map(rows.map((row) => [row.id, row.claimedAt ?? 0]));
  const onDay = new Map<number, number>();
  for (const { call, at } of dialed) {
    const { agent_id, phone_number, timezone = "" } = call.request;
    if (agent_id !== timed) continue;
    if (!isOpen(own, timezone, at))
      found.push(`${call.id} is dialed at ${new Date(at).toISOString()}, outside of ${timezone}`);
    // A call counts on the day of its claim.
    const day = dayOf(claimedAt.get(call.id) ?? 0);
    onDay.set(day, (onDay.get(day) ?? 0) + 1);
    const before = dialed.filter(
      (other) =>
        other.call.request.phone_number === phone_number &&
        other.at <= at &&
        other.at > at - france.days * dayMs,
    );
    if (own.own === undefined && before.length > france.calls)
      found.push(`${phone_number} is called ${before.length} times`);
  }
  for (const [day, count] of onDay)
    if (count > own.callsPerDay) found.push(`${count} calls on the day ${day}`);
  return found;
}

/** Returns the calls that are due and wait, though neither hours nor caps of their arm hold them. */
function lateCalls({ callsPerDay }: Rules, rows: readonly CallRow[], { now }: Pick<Bench, "now">) {
  const day = dayOf(now() - lateMsMax);
  const onDay = rows.filter(({ agentId, claimedAt }) => {
    return agentId === timed && dayOf(claimedAt ?? 0) === day;
  });
  const isFull = (agentId: string) => agentId === timed && onDay.length >= callsPerDay;
  return rows
    .filter(({ state, dueAt }) => state === "WAITING" && (dueAt ?? 0) < now() - lateMsMax)
    .filter(({ agentId }) => !isFull(agentId))
    .map(({ id, agentId, reason }) => `${id} of ${agentId} waits for ${reason}`);
}

function createHours(own: Rules, begun: Record<string, number>) {
  const bench = createBench({}, planOf(own, begun), { startAt });
  // Half of the callees are always busy: their chains go on to the last try.
  bench.record = async ({ id }) => {
    const dialed = bench.dialed.find(({ call }) => call.id === id)?.call.request.phone_number;
    return Number(dialed?.at(-1)) % 2 === 0 ? busy : completed;
  };
  let last: Awaited<ReturnType<typeof postToSplit>> | undefined;
  async function post(persons: readonly number[]): Promise<void> {
    last = await postToSplit(bench, persons.map(callee));
    await bench.simulate(10, { firstSweepSeconds: 60 });
  }
  async function take(one: Step): Promise<string[]> {
    if (one === "restart") bench.deps.memory = createDialerMemory();
    else if (one === "deliver again") await (last && bench.send(last));
    else if ("post" in one) await post(one.post);
    else if ("weights" in one) bench.changePlan(planOf(own, one.weights));
    else {
      const until = bench.now() + one.passHours * hourMs;
      while (bench.now() < until) {
        await bench.simulate(lookMinutes * 60, times);
        await bench.deliverEvents();
      }
      return lateCalls(own, await listRows(bench), bench);
    }
    return [];
  }
  return { bench, take };
}

type Example = [Rules, Record<string, number>, Step[]];
const everybody = Array.from({ length: calleesMax }, (_, index) => index);
/** A change of weights while calls wait for their hours, at an account that is full every day. */
const fullDays: Example = [
  { own: [9, 17], callsPerDay: 2 },
  { [timed]: 1, [free]: 1 },
  [
    { post: everybody },
    { passHours: 15 },
    { weights: { [timed]: 0, [free]: 1 } },
    { post: everybody.slice(0, 4) },
    { passHours: 15 },
    "deliver again",
  ],
];
/** More calls to each callee than the preset permits in a month. */
const fullMonth: Example = [
  { own: undefined, callsPerDay: 100 },
  { [timed]: 1, [free]: 1 },
  [{ post: everybody }, { passHours: 15 }, { post: [...everybody, ...everybody, ...everybody] }],
];

describe("an arm with hours and caps of its own", () => {
  it("dials only within them, while the other arm continues and nobody changes arms", async () => {
    const property = async (
      own: Rules,
      begun: Record<string, number>,
      steps: readonly Step[],
    ): Promise<void> => {
      const { bench, take } = createHours(own, begun);
      const found: string[] = [];
      for (const one of steps) found.push(...(await take(one)));
      found.push(...(await take({ passHours: 30 })));
      const rows = await listRows(bench);
      found.push(...armViolations(rows, bench), ...timeViolations(own, rows, bench));
      for (const { id, agentId, ancestors, acceptedAt, claimedAt } of rows)
        if (agentId === free && ancestors.length === 0)
          if ((claimedAt ?? Infinity) > acceptedAt + lateMsMax)
            found.push(`${id} waits for nothing`);
      expect(found).toEqual([]);
    };
    await fc.assert(
      fc.asyncProperty(rules, weights, fc.array(step, { minLength: 4, maxLength: 12 }), property),
      {
        numRuns: isLong ? 40 : 4,
        examples: [fullDays, fullMonth],
      },
    );
  });
});
