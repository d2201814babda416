import * as fc from "fast-check";
import { expect, it } from "vitest";
import { createForecastBench, forecastNumber } from "../support/forecast-bench.ts";

const minuteMs = 60_000;
/** A call that its number's cap has sent back counts from another call's moment, and a sweep may have to find it. */
const cappedMs = 2 * minuteMs;
/** Places by which neighbours in a backlog may be exchanged: hints of one moment are delivered side by side. */
const placesOff = 3;
const lifetimeHours = 30;

const twoDigits = (hour: number) => String(hour).padStart(2, "0");
/** Hours of each day, from one hour on. */
const someHours = fc
  .tuple(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 1, max: 12 }))
  .map(([from, length]) => ({
    "mon-sun": [`${twoDigits(from)}:00-${twoDigits(Math.min(24, from + length))}:00`],
  }));
const zones = ["UTC", "Asia/Tokyo", "America/New_York"];
/** Calls to a number have one time zone, so that those to one number may change places. */
const calls = fc.array(
  fc.integer({ min: 0, max: 30 }).map((n) => ({
    phone_number: forecastNumber(n),
    agent_id: "agent_sales",
    timezone: zones[n % zones.length],
  })),
  { minLength: 1, maxLength: 40, size: "max" },
);
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
  earlier: calls,
  calls,
  startMinute: fc.integer({ min: 0, max: 1439 }),
  waitSeconds: fc.integer({ min: 10, max: 600 }),
});
type Situation = typeof situation extends fc.Arbitrary<infer Value> ? Value : never;

/** Returns the times of some calls, by number and in order. */
function timesByNumber(all: readonly { number: string; at: number }[]): Map<string, number[]> {
  const sorted = all.toSorted((one, other) => one.at - other.at);
  return new Map(
    [...Map.groupBy(sorted, ({ number }) => number)].map(([number, some]) => [
      number,
      some.map(({ at }) => at),
    ]),
  );
}

/** Posts calls, asks for a forecast of others, posts these too, and lets the dialer dial until all is over. */
async function forecastAndDial({ hours, pace, cap, earlier, startMinute, ...one }: Situation) {
  const plan = {
    callingHours: { default: hours },
    ...(pace ? { providers: { webhook: pace } } : {}),
    ...(cap ? { maxCalls: cap } : {}),
    expireAfterHours: lifetimeHours,
  };
  const startAt = new Date(Date.UTC(2026, 5, 1) + startMinute * minuteMs).toISOString();
  const bench = createForecastBench(plan, startAt);
  const { dialer } = bench;
  expect((await bench.post(earlier)).status).toBe(201);
  await dialer.simulate(one.waitSeconds);
  // Calls to one number that are due at one moment may change places, so those that wait have other numbers.
  const dialedTo = Map.groupBy(dialer.dialed, ({ call }) => call.request.phone_number);
  const waiting = new Set(
    [...Map.groupBy(earlier, (call) => call.phone_number)]
      .filter(([number, all]) => dialedTo.get(number)?.length !== all.length)
      .map(([number]) => number),
  );
  const posted = one.calls.filter((call) => !waiting.has(call.phone_number));
  if (posted.length === 0) return undefined;
  const { items = [] } = await bench.forecast(posted);
  const response = await bench.post(posted);
  expect(response.status).toBe(201);
  await dialer.simulate((lifetimeHours + 1) * 3600);
  const requestId = response.headers.get("x-request-id");
  const named = items.flatMap(({ index, at }) =>
    at === undefined ? [] : { number: posted[index]?.phone_number ?? "", at: Date.parse(at) },
  );
  const dialed = dialer.dialed
    .filter(({ call }) => call.requestId === requestId)
    .map(({ call, at }) => ({ number: call.request.phone_number, at }));
  return { named: timesByNumber(named), dialed: timesByNumber(dialed) };
}

it("a forecast names the minute in which each call is then dialed", async () => {
  const seed = Number(process.env["SEED"] ?? Date.now() % 2 ** 31);
  console.log(`forecasts, seed ${seed}`);
  const compared = { calls: 0, mostMs: 0 };
  const property = fc.asyncProperty(situation, async (one) => {
    const times = await forecastAndDial(one);
    if (times === undefined) return;
    const { named, dialed } = times;
    const countsOf = (all: Map<string, number[]>) =>
      new Map([...all].map(([number, some]) => [number, some.length]));
    expect(countsOf(named)).toEqual(countsOf(dialed));
    const intervalMs = one.pace === null ? 0 : 1000 / one.pace.callsPerSecond;
    for (const [number, all] of dialed) {
      for (const [index, at] of all.entries()) {
        const offMs = Math.abs(at - (named.get(number)?.[index] ?? 0));
        compared.calls += 1;
        compared.mostMs = Math.max(compared.mostMs, offMs);
        const mostMs = one.cap === null ? minuteMs : cappedMs;
        expect(offMs).toBeLessThanOrEqual(Math.max(mostMs, placesOff * intervalMs));
      }
    }
  });
  const numRuns = Number(process.env["RUNS"] ?? 25);
  await fc.assert(property, { seed, numRuns, endOnFailure: true, interruptAfterTimeLimit: 60_000 });
  console.log(`${compared.calls} calls, ${compared.mostMs} ms off at most`);
  expect(compared.calls).toBeGreaterThan(0);
}, 120_000);
