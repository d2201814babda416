import { describe, expect, it } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import { toCanonical } from "#shared/telephony/renumbered.ts";
import { afterClaims } from "#test/support/claims.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { localTime } from "#test/support/local-time.ts";
import { inSlowTier, perTier } from "#test/support/per-tier.ts";
import { places } from "#test/support/places.ts";
import {
  aCallNow,
  type Bench,
  callsNow,
  due,
  inUtc,
  iso,
  putIn,
  rowOf,
  rowsIn,
  sendEach,
  stateOf,
  webhook,
} from "#test/support/dialer-calls.ts";

const nine = { default: { "mon-sun": ["09:00-17:00"] } };
/** Sends calls in UTC, unless `fields` has another zone. */
const sendCalls = async (bench: Bench, count: number, fields: Partial<Call["request"]> = {}) => {
  const calls = callsNow(bench, count, { timezone: "UTC", ...fields });
  await sendEach(bench, ...calls);
  return calls;
};
const sendOne = async (bench: Bench, fields: Partial<Call["request"]> = {}): Promise<Call> => {
  const call = aCallNow(bench, { ...inUtc(), ...fields });
  await sendEach(bench, call);
  return call;
};

describe("calling hours", () => {
  it("keep a call waiting until they open, and it is dialed then", async () => {
    const bench = createDialerBench({ plan: { callingHours: nine }, startAt: "2026-06-01T08:00Z" });
    const call = await sendOne(bench);
    await bench.simulate(1);
    const { state, reason, dueAt } = await rowOf(bench, call);
    expect([state, reason, iso(dueAt)]).toEqual([
      "WAITING",
      "hours:callingHours.default",
      "2026-06-01T09:00:02",
    ]);
    await bench.simulate(3590);
    expect(bench.dialed).toEqual([]);
    await bench.simulate(20);
    expect(bench.dialed.map(({ at }) => iso(at))).toEqual(["2026-06-01T09:00:02"]);
  });

  it("open zone by zone for a batch over many", inSlowTier, async () => {
    const plan = { callingHours: nine, destinations: { allow: ["*"] } };
    const bench = createDialerBench({ plan, startAt: "2026-06-01T00:00Z" });
    const zones = [
      ["Asia/Tokyo", "+81312345678", "2026-06-01T00:00:02"],
      ["Asia/Kolkata", "+911123456789", "2026-06-01T03:30:02"],
      ["Europe/Berlin", "+493012345678", "2026-06-01T07:00:02"],
      ["Europe/London", "+442071838750", "2026-06-01T08:00:02"],
      ["America/New_York", "+12125550100", "2026-06-01T13:00:02"],
      ["America/Los_Angeles", "+12125550100", "2026-06-01T16:00:02"],
    ];
    for (const [timezone, phone_number = ""] of zones.toReversed()) {
      await sendCalls(bench, 3, { timezone, phone_number });
    }
    await bench.simulate(17 * 3600);
    const dialed = bench.dialed.map(({ call, at }) => [call.request.timezone, iso(at)]);
    expect(dialed).toEqual(
      zones.flatMap(([timezone, , at]) => Array.from({ length: 3 }, () => [timezone, at])),
    );
  });

  it("take the zones from the number where the call names none", async () => {
    const plan = { callingHours: { default: "us-federal" } };
    const bench = createDialerBench({ plan, startAt: "2026-06-01T11:00Z" });
    const [newYork, tollFree] = ["+12125550100", "+18005550100"].map((phone_number) =>
      aCallNow(bench, { phone_number }),
    );
    if (newYork === undefined || tollFree === undefined) throw new Error("two calls were made");
    await sendEach(bench, newYork, tollFree);
    await bench.deliver();
    expect(iso((await rowOf(bench, newYork)).dueAt)).toBe("2026-06-01T12:00:02");
    // It is open at once in all of the calling code's zones, from Guam to Hawaii.
    expect(iso((await rowOf(bench, tollFree)).dueAt)).toBe("2026-06-01T22:00:02");
  });

  it.each(["2026-07-15", "2026-01-15"].slice(0, perTier({ quick: 1, long: 2 })))(
    "of 8 to 21 o'clock are kept at each place, whatever the hour of %s",
    inSlowTier,
    async (date) => {
      const plan = { callingHours: { default: "us-federal" }, destinations: { allow: ["*"] } };
      const wrong: string[] = [];
      let dialed = 0;
      for (let hour = 0; hour < 24; hour++) {
        const bench = createDialerBench({
          plan,
          startAt: `${date}T${String(hour).padStart(2, "0")}:30Z`,
        });
        await sendEach(
          bench,
          ...places.map(({ number }) => aCallNow(bench, { phone_number: number })),
        );
        await bench.deliver();
        dialed += bench.dialed.length;
        for (const { call, at } of bench.dialed) {
          const found = places.find(
            ({ number }) => toCanonical(number) === call.request.phone_number,
          );
          const local = localTime(found?.zone ?? "UTC")(at);
          if (!/T(?:0[89]|1\d|20):/.test(local)) wrong.push(`${found?.place}: ${local}`);
        }
      }
      expect(wrong).toEqual([]);
      expect(dialed).toBeGreaterThan(10 * places.length);
    },
  );

  it("end a call that a changed plan forbids for good, and name the rule", inSlowTier, async () => {
    const bench = createDialerBench({ plan: { callingHours: nine }, startAt: "2026-06-01T08:00Z" });
    const call = await sendOne(bench);
    await bench.deliver();
    const dates = Array.from({ length: 9 }, (_, day) => `2026-06-0${day + 1}`);
    bench.changePlan({ callingHours: nine, blackoutDates: dates });
    await bench.simulate(3700);
    expect(await rowOf(bench, call)).toMatchObject({
      state: "EXPIRED",
      reason: "hours:blackoutDates",
      request: inUtc(),
    });
    expect(bench.dialed).toEqual([]);
    expect(bench.eventsOf("call.expired")).toHaveLength(1);
  });

  it(
    "that a changed plan closes for longer have a waiting call wait on, in its new place",
    inSlowTier,
    async () => {
      const bench = createDialerBench({
        plan: { callingHours: nine },
        startAt: "2026-06-01T08:00Z",
      });
      const call = await sendOne(bench);
      await bench.deliver();
      bench.changePlan({ callingHours: { default: { "mon-sun": ["13:00-17:00"] } } });
      await bench.simulate(4.9 * 3600);
      expect(bench.dialed).toEqual([]);
      expect(iso((await rowOf(bench, call)).dueAt)).toBe("2026-06-01T13:00:02");
      await bench.simulate(600);
      expect(bench.dialed.map(({ at }) => iso(at))).toEqual(["2026-06-01T13:00:02"]);
    },
  );

  it(
    "that a changed plan opens earlier are followed at the call's due time",
    inSlowTier,
    async () => {
      const bench = createDialerBench({
        plan: { callingHours: nine },
        startAt: "2026-06-01T08:00Z",
      });
      const call = await sendOne(bench);
      await bench.deliver();
      bench.changePlan({ callingHours: { default: "always" } });
      await bench.simulate(3590);
      expect(await stateOf(bench, call)).toBe("WAITING");
      await bench.simulate(20);
      expect(bench.dialed.map(({ at }) => iso(at))).toEqual(["2026-06-01T09:00:02"]);
    },
  );

  it("end a call whose zone nobody knows, where they are not always open", async () => {
    const bench = createDialerBench({ plan: { callingHours: nine }, startAt: "2026-06-01T10:00Z" });
    bench.changePlan({
      callingHours: nine,
      destinations: { allow: ["*"], allowServices: ["satellite"] },
    });
    const call = aCallNow(bench, { phone_number: "+881612345678" });
    await sendEach(bench, call);
    await bench.deliver();
    expect(await rowOf(bench, call)).toMatchObject({
      state: "EXPIRED",
      reason: "hours:no_time_zone",
    });
  });

  it("are checked again when a place comes late", async () => {
    const bench = createDialerBench({
      plan: { callingHours: nine },
      concurrency: 1,
      startAt: "2026-06-01T16:59:20Z",
    });
    bench.answer = async () => {
      await bench.sleep(4_900); // the next call has waited for its place by then
      bench.advance(10_000);
      return { kind: "placed" };
    };
    // Two of them are claimed, one for the connection and one ahead: the third waits for a place.
    const calls = callsNow(bench, 3, { timezone: "UTC" });
    for (const call of calls) await putIn(bench, "WAITING", call, { dueAt: bench.now() });
    await bench.send(due(...calls));
    await bench.deliver();
    expect(bench.dialed).toHaveLength(1);
    const rows = await Promise.all(calls.map((call) => rowOf(bench, call)));
    const told = rows.map((row) => [row.state, row.attempt, iso(row.dueAt)]);
    expect(told).toContainEqual(["PLACED", 1, null]);
    expect(told).toContainEqual(["WAITING", 0, "2026-06-02T09:00:02"]);
    // The one that was claimed ahead is found closed by the next look of a dispatcher.
    bench.advance(30_000);
    await bench.dispatch();
    expect((await rowsIn(bench, "WAITING")).map(({ dueAt }) => iso(dueAt))).toEqual([
      "2026-06-02T09:00:02",
      "2026-06-02T09:00:02",
    ]);
  });

  it("are checked once more right before the request: if closed by then, the call waits undialed", async () => {
    const bench = createDialerBench({
      plan: { callingHours: nine, maxCalls: { count: 1, days: 1 } },
      startAt: "2026-06-01T16:59:24Z",
    });
    afterClaims(bench, () => bench.advance(7000));
    const call = await sendOne(bench);
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    const row = await rowOf(bench, call);
    expect(row).toMatchObject({
      state: "WAITING",
      reason: "hours:callingHours.default",
      attempt: 1,
    });
    expect(iso(row.dueAt)).toBe("2026-06-02T09:00:02");
    // The call was not counted: another call to the number may go first.
    bench.repairLedger();
    bench.changePlan({ maxCalls: { count: 1, days: 1 } });
    const other = await sendOne(bench);
    await bench.deliver();
    expect(bench.dialed.map((one) => one.call.id)).toEqual([other.id]);
  });

  it("that are closed for good by then end the call EXPIRED undialed", async () => {
    const bench = createDialerBench({
      plan: { callingHours: nine, expireAfterHours: 1 },
      startAt: "2026-06-01T16:59:24Z",
    });
    afterClaims(bench, () => bench.advance(7000));
    const call = await sendOne(bench);
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "EXPIRED", request: call.request });
  });

  it("hold for a call that an idempotent provider would be sent again", async () => {
    const bench = createDialerBench({
      plan: {
        agents: { agent_sales: { ...webhook, idempotent: true } },
        callingHours: nine,
        reviewAfterSeconds: 600,
      },
      startAt: "2026-06-01T16:59:20Z",
    });
    bench.answer = async () => ({ kind: "unknown", code: "http_500" });
    const call = await sendOne(bench);
    await bench.simulate(3600);
    expect(bench.dialed.length).toBeGreaterThan(0);
    for (const { at } of bench.dialed) expect(at).toBeLessThan(Date.parse("2026-06-01T16:59:30Z"));
    expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
  });

  it("keep a call that came due just before they close from being claimed", async () => {
    const bench = createDialerBench({
      plan: { callingHours: nine },
      startAt: "2026-06-01T16:59:23Z",
    });
    const call = aCallNow(bench, inUtc());
    // The call is due in 4 s, when less than the provider's 30 s and the margin of 5 s are left.
    await putIn(bench, "WAITING", call, { dueAt: bench.now() + 4_000 });
    await bench.send(due(call));
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "WAITING", attempt: 0 });
    expect(iso((await rowOf(bench, call)).dueAt)).toBe("2026-06-02T09:00:02");
  });
});
