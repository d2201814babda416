import * as fc from "fast-check";
import { expect, it } from "vitest";
import { toCallId } from "#shared/calls/ids.ts";
import { createForecastBench, forecastNumber } from "#test/support/forecast-bench.ts";

const minuteMs = 60_000;
/** A row that its delivery leaves, as it found no permit in time, is dispatched again ten seconds later at most. */
const againMs = 10_000;
/** Agents that share an account. */
const sharing = 3;
/**
 * Maximum difference of two times in different minutes. A row that is dispatched and not yet claimed has had its turn. A
 * forecast gives it another one, so calls of agents that share a pace may go so many turns earlier or later; and one that
 * its delivery leaves waits for a turn more.
 */
const graceMsOf = ({ pace }: Situation) =>
  againMs + (pace === null ? 0 : (sharing * 1_000) / pace.callsPerSecond);
const lifetimeHours = 30;
/**
 * A dialer decides a call up to 5 s before it sends its request, and no later than 35 s before its hours close. Whether a
 * call of these last seconds is dialed, or waits for the next opening, depends on the moment of that decision.
 */
const closingMs = { decision: 35_000, request: 30_000 };
/** Dispatchers live as long as on AWS: one that takes over does not know what the former one has just dispatched. */
const longLife = { lifeMs: 13 * minuteMs };

const twoDigits = (hour: number) => String(hour).padStart(2, "0");
/** Hours of each day, from one hour on. */
const someHours = fc
  .tuple(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 1, max: 12 }))
  .map(([from, length]) => ({
    "mon-sun": [`${twoDigits(from)}:00-${twoDigits(Math.min(24, from + length))}:00`],
  }));
const zones = ["UTC", "Asia/Tokyo", "America/New_York"];
/** Agents of one account with a pace, but for the last one, whose account has another pace. */
const agents = ["agent_sales", "agent_support", "agent_care", "agent_other"];
/**
 * Calls to a number are of one agent and in one time zone: where several may take the last place of the number's cap
 * in the same second, one of them does.
 */
const callsOf = (agentsMax: number) =>
  fc.array(
    fc
      .record({ n: fc.integer({ min: 0, max: 30 }), agent: fc.nat({ max: agentsMax - 1 }) })
      .map(({ n, agent }) => ({
        phone_number: forecastNumber(n * agents.length + agent),
        agent_id: agents[agent] ?? "",
        timezone: zones[n % zones.length],
      })),
    { minLength: 1, maxLength: 40, size: "max" },
  );
const batches = fc
  .constantFrom(1, agents.length)
  .chain((agentsMax) => fc.record({ earlier: callsOf(agentsMax), calls: callsOf(agentsMax) }));
const situation = fc.record({
  hours: fc.oneof(fc.constant<unknown>("always"), { weight: 3, arbitrary: someHours }),
  pace: fc.option(
    fc.record({
      callsPerSecond: fc.constantFrom(0.02, 0.05, 0.2, 1, 3),
      burst: fc.constantFrom(1, 1, 2, 5),
    }),
  ),
  cap: fc.option(
    fc.record({ count: fc.integer({ min: 1, max: 2 }), days: fc.constantFrom(0.05, 0.2, 1) }),
  ),
  batches,
  startMinute: fc.integer({ min: 0, max: 1439 }),
  waitSeconds: fc.integer({ min: 61, max: 660 }),
});
type Situation = typeof situation extends fc.Arbitrary<infer Value> ? Value : never;

/** Calls with the times that a forecast names, and at which they are dialed; undefined: none. */
interface Times {
  number: string;
  named: number | undefined;
  dialed: number | undefined;
}

/** Sorts the times of calls to one number: those that its cap sends back may have changed places. */
function sortedByNumber(all: readonly Times[]): Times[] {
  const sort = (times: readonly (number | undefined)[]) =>
    times.toSorted((one = Infinity, other = Infinity) => one - other);
  return [...Map.groupBy(all, ({ number }) => number)].flatMap(([number, some]) => {
    const [named, dialed] = [
      sort(some.map((one) => one.named)),
      sort(some.map((one) => one.dialed)),
    ];
    return some.map((_, index) => ({ number, named: named[index], dialed: dialed[index] }));
  });
}

const route = (provider: string) => ({ provider, url: "http://127.0.0.1:9/dial" });
const planOf = ({ hours, pace, cap }: Situation) => ({
  agents: Object.fromEntries(
    agents.map((agent) => [agent, route(agent === "agent_other" ? "other" : "webhook")]),
  ),
  callingHours: { default: hours },
  providers: {
    webhook: { ...pace },
    other: { type: "webhook", ...(pace && { callsPerSecond: 0.1 }) },
  },
  ...(cap && { maxCalls: cap }),
  expireAfterHours: lifetimeHours,
});

/** Returns the time at which the calls of the forecast are posted, in milliseconds since the epoch. */
function postedAtOf({ startMinute, waitSeconds }: Situation): number {
  return Date.UTC(2026, 5, 1) + startMinute * minuteMs + waitSeconds * 1000;
}

/** Posts calls, asks for a forecast of others, posts these too, and lets the dialer dial until all is over. */
async function forecastAndDial(one: Situation): Promise<Times[]> {
  const { cap, batches: posts, waitSeconds } = one;
  const startAt = new Date(postedAtOf(one) - waitSeconds * 1000).toISOString();
  const bench = createForecastBench(planOf(one), startAt);
  const { dialer } = bench;
  expect((await bench.post(posts.earlier)).status).toBe(201);
  const dispatcher = () => ({ dispatcher: { ...dialer.deps.dispatcher, ...longLife } });
  await dialer.simulate(waitSeconds, { dispatcher });
  const dialedTo = Map.groupBy(dialer.dialed, ({ call }) => call.request.phone_number);
  // With a cap, numbers whose earlier calls still wait are left out: either of their calls may come first.
  const waiting = new Set(
    [...Map.groupBy(posts.earlier, (call) => call.phone_number)]
      .filter(([number, all]) => dialedTo.get(number)?.length !== all.length)
      .map(([number]) => number),
  );
  const calls = posts.calls.filter((call) => cap === null || !waiting.has(call.phone_number));
  if (calls.length === 0) return [];
  const { items = [] } = await bench.forecast(calls);
  const response = await bench.post(calls);
  expect(response.status).toBe(201);
  // Sweeps go on once a minute.
  const firstSweepSeconds = 60 - (waitSeconds % 60);
  await dialer.simulate((lifetimeHours + 1) * 3600, { firstSweepSeconds, dispatcher });
  const requestId = response.headers.get("x-request-id") ?? "";
  const dialed = new Map(dialer.dialed.map(({ call, at }) => [call.id, at]));
  const times = items.map(({ index, at }) => ({
    number: calls[index]?.phone_number ?? "",
    named: at === undefined ? undefined : Date.parse(at),
    dialed: dialed.get(toCallId(requestId, index)),
  }));
  expect(times).toHaveLength(calls.length);
  return cap === null ? times : sortedByNumber(times);
}

const minuteOf = (at: number) => Math.floor(at / minuteMs);

/**
 * True if a call is named, or dialed, in the last seconds before an hour, where all hours here close, or before its expiry,
 * and otherwise later or never.
 */
function isAtEdge({ named = Infinity, dialed = Infinity }: Times, one: Situation): boolean {
  const graceMs = graceMsOf(one);
  const hourMs = 60 * minuteMs;
  const [earlier, later] = [Math.min(named, dialed), Math.max(named, dialed)];
  const closesAt = (Math.floor(earlier / hourMs) + 1) * hourMs;
  const leftMs = closesAt - earlier;
  const isLast = leftMs >= closingMs.request && leftMs <= closingMs.decision + graceMs;
  if (one.hours !== "always" && isLast && later > closesAt) return true;
  const expiresAt = postedAtOf(one) + lifetimeHours * hourMs;
  return earlier < Infinity && later === Infinity && expiresAt - earlier <= graceMs;
}

it("a forecast names the minute in which each call is then dialed", async () => {
  const seed = Number(process.env["SEED"] ?? Date.now() % 2 ** 31);
  console.log(`forecasts, seed ${seed}`);
  const compared = { forecasts: 0, calls: 0, otherMinute: 0, mostMs: 0 };
  const property = fc.asyncProperty(situation, async (one) => {
    const times = await forecastAndDial(one);
    if (times.length > 0) compared.forecasts += 1;
    // Where a cap counts such a call, the later ones to its number move with it.
    const numbersAtEdge = new Set(
      times.flatMap((call) => (isAtEdge(call, one) ? call.number : [])),
    );
    for (const { number, named, dialed } of times) {
      if (numbersAtEdge.has(number)) continue;
      expect(named === undefined).toBe(dialed === undefined);
      if (named === undefined || dialed === undefined) continue;
      const offMs = Math.abs(dialed - named);
      compared.calls += 1;
      compared.mostMs = Math.max(compared.mostMs, offMs);
      if (minuteOf(named) === minuteOf(dialed)) continue;
      compared.otherMinute += 1;
      expect(offMs).toBeLessThanOrEqual(graceMsOf(one));
    }
  });
  const numRuns = Number(process.env["RUNS"] ?? 15);
  await fc.assert(property, { seed, numRuns, endOnFailure: true, interruptAfterTimeLimit: 60_000 });
  const { forecasts, calls, otherMinute, mostMs } = compared;
  console.log(
    `${forecasts} forecasts, ${calls} calls, ${otherMinute} across a minute's edge, ${mostMs} ms off at most`,
  );
  expect(calls).toBeGreaterThan(0);
});
