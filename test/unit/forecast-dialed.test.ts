import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createForecastBench, forecastNumber } from "../support/forecast-bench.ts";

const minuteMs = 60_000;
/** How far a dialer's permit leads, and its timers lag: a call forecast this close to a minute's end may slip over it. */
const slackMs = 15_000;

/** A week in plans: hours, a pace and a cap, each or none. */
const hours = fc.oneof(
  { weight: 1, arbitrary: fc.constant<unknown>("always") },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 1, max: 12 }))
      .map(([from, length]) => {
        const two = (hour: number) => String(hour).padStart(2, "0");
        return { "mon-sun": [`${two(from)}:00-${two(Math.min(24, from + length))}:00`] };
      }),
  },
);
const pace = fc.option(
  fc.record({
    callsPerSecond: fc.constantFrom(0.02, 0.05, 0.2, 1, 3),
    burst: fc.constantFrom(1, 1, 2, 5),
  }),
);
const cap = fc.option(
  fc.record({ count: fc.integer({ min: 1, max: 2 }), days: fc.constantFrom(0.05, 0.2, 1) }),
);
const zones = ["UTC", "Asia/Tokyo", "America/New_York"];
/** Calls to a number have one time zone: then those of one number may change places. */
const calls = fc.array(
  fc.integer({ min: 0, max: 30 }).map((n) => ({
    phone_number: forecastNumber(n),
    agent_id: "agent_sales",
    timezone: zones[n % zones.length],
  })),
  { minLength: 1, maxLength: 40, size: "max" },
);

const situation = fc.record({
  hours,
  pace,
  cap,
  earlier: calls,
  calls,
  startMinute: fc.integer({ min: 0, max: 1439 }),
  waitSeconds: fc.integer({ min: 10, max: 600 }),
});

describe("a forecast", () => {
  it("names the minute in which each call is then dialed", { timeout: 100_000 }, async () => {
    const seed = Number(process.env["SEED"] ?? Date.now() % 2 ** 31);
    console.log(`seed ${seed}`);
    let checked = 0;
    let worst = 0;
    await fc.assert(
      fc.asyncProperty(situation, async (one) => {
        console.error(
          JSON.stringify({ ...one, earlier: one.earlier.length, calls: one.calls.length }),
        );
        const plan = {
          callingHours: { default: one.hours },
          ...(one.pace ? { providers: { webhook: one.pace } } : {}),
          ...(one.cap ? { maxCalls: one.cap } : {}),
          expireAfterHours: 30,
        };
        const startAt = new Date(Date.UTC(2026, 5, 1) + one.startMinute * minuteMs).toISOString();
        const bench = createForecastBench(plan, startAt);
        const { dialer } = bench;
        expect((await bench.post(one.earlier)).status).toBe(201);
        await dialer.simulate(one.waitSeconds);
        const before = new Set(dialer.dialed.map(({ call }) => call.id));
        // Calls to one number that are due at one moment may change places, so those that wait have other numbers.
        const waits = new Set(one.earlier.map((call) => call.phone_number));
        const counted = Map.groupBy(dialer.dialed, ({ call }) => call.request.phone_number);
        for (const [number, all] of Map.groupBy(one.earlier, (call) => call.phone_number)) {
          if (counted.get(number)?.length === all.length) waits.delete(number);
        }
        const posted = one.calls.filter((call) => !waits.has(call.phone_number));
        if (posted.length === 0) return;
        const forecast = await bench.forecast(posted);
        const response = await bench.post(posted);
        expect(response.status).toBe(201);
        const requestId = response.headers.get("x-request-id");
        await dialer.simulate(31 * 3600);
        expect(dialer.dialed.filter(({ call }) => before.has(call.id)).length).toBe(before.size);
        const dialed = dialer.dialed.filter(({ call }) => call.requestId === requestId);
        const off = (
          named: readonly { at: number }[],
          were: readonly { at: number }[],
          most: number,
        ) => {
          const [one, other] = [named, were].map((all) =>
            all.map(({ at }) => at).toSorted((x, y) => x - y),
          );
          const iso = (t: number | undefined) =>
            t === undefined ? "never" : new Date(t).toISOString();
          return Array.from({ length: Math.max(named.length, were.length) }, (_, n) => {
            const [x, y] = [one?.[n], other?.[n]];
            checked += 1;
            if (x !== undefined && y !== undefined) worst = Math.max(worst, Math.abs(x - y));
            return x !== undefined && y !== undefined && Math.abs(x - y) <= most
              ? []
              : [[n, iso(x), iso(y)]];
          }).flat();
        };
        const named = (forecast.items ?? []).flatMap(({ index, at }) =>
          at === undefined
            ? []
            : [{ at: Date.parse(at), number: posted[index]?.phone_number ?? "" }],
        );
        for (const number of new Set(posted.map((call) => call.phone_number))) {
          expect({
            number,
            off: off(
              named.filter((n) => n.number === number),
              dialed.filter(({ call }) => call.request.phone_number === number),
              minuteMs,
            ),
          }).toEqual({ number, off: [] });
        }
        expect(off(named, dialed, one.cap ? minuteMs : slackMs).slice(0, 4)).toEqual([]);
      }),
      {
        seed,
        numRuns: Number(process.env["RUNS"] ?? 10),
        interruptAfterTimeLimit: 60_000,
        endOnFailure: true,
      },
    );
    console.log({ checked, worst });
  });
});
