import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CallResult } from "#shared/calls/call-result.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { createSchedule } from "#shared/dial-plan/schedule.ts";
import { decideCallBack } from "#shared/policy/call-back.ts";
import { aCall } from "#test/support/calls.ts";
import { testPlan } from "#test/support/environment.ts";
import { createRouteTable, parseDialPlan } from "#test/support/plans.ts";
import { completed } from "#test/support/results-bench.ts";
import { webhook } from "#test/support/dialer-calls.ts";
import { rowIn } from "#test/support/rows.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const rule = { within: "14d", most: 2 };
/** Tuesday, 10:00 in New York. */
const acceptedAt = Date.parse("2026-11-24T15:00:00Z");
const office = { "mon-fri": ["09:00-17:00"] };
const always = { "mon-sun": ["00:00-24:00"] };

interface Given {
  hours?: object | string;
  timezone?: string | undefined;
  phone_number?: string;
  /** Time after the call's end at which its wish is read. */
  afterMs?: number;
  row?: Partial<CallRow>;
  made?: number;
  result?: Partial<CallResult>;
  defaultTimeZone?: string;
}

/** Decides about a wish of a callee whose call ended at 10:05 in New York. */
function decide(wished: unknown, given: Given = {}) {
  const { hours = always, afterMs = minuteMs, made = 0, row = {}, result = {} } = given;
  const { phone_number = "+12025550123", timezone = "America/New_York" } = given;
  const plan = parseDialPlan(
    {
      ...testPlan,
      ...(given.defaultTimeZone === undefined ? {} : { defaultTimeZone: given.defaultTimeZone }),
      agents: { agent_sales: { ...webhook, callBacks: rule } },
      callingHours: { default: hours },
      destinations: { allow: ["*"] },
      results: {},
    },
    {},
  );
  const table = createRouteTable(plan);
  const schedule = createSchedule(table, () => undefined);
  const zone = "timezone" in given && given.timezone === undefined ? {} : { timezone };
  const request = { phone_number, agent_id: "agent_sales", ...zone };
  const endedAt = acceptedAt + 5 * minuteMs;
  const callBacks = { most: 2, made, until: acceptedAt + 14 * dayMs };
  const tries = { number: 1, budget: 1, until: acceptedAt, dialedAt: [], callBacks };
  const placed = {
    ...rowIn("PLACED", aCall({ request }), { at: acceptedAt }),
    acceptedAt,
    claimedAt: acceptedAt,
    request,
    tries,
    result: { ...completed, endedAt, ...result },
    ...row,
  };
  const inputs = { table, schedule, now: endedAt + afterMs };
  const decision = decideCallBack(placed, { wished, request: placed.request }, inputs);
  return (
    decision &&
    ("at" in decision ? new Date(decision.at).toISOString().slice(0, 19) : decision.reason)
  );
}

describe("a callee's wish to be called back", () => {
  it("is not read from the client's own context, which a provider's record may repeat", () => {
    const wish = "2026-11-26T14:30:00-05:00";
    const said = (call_back_at: string) => ({
      row: {
        request: {
          phone_number: "+12025550123",
          agent_id: "agent_sales",
          context: { call_back_at },
        },
      },
    });
    expect(decide(wish, said(wish))).toBeUndefined();
    expect(decide(wish, said("2026-11-27T14:30:00-05:00"))).toBe("2026-11-26T19:30:00");
  });

  it.each([
    ["2026-11-26T14:30:00-05:00", "2026-11-26T19:30:00"],
    ["2026-11-26T19:30:00Z", "2026-11-26T19:30:00"],
    ["2026-11-26 14:30", "2026-11-26T19:30:00"],
    [" 2026-11-26T14:30:20.5 ", "2026-11-26T19:30:20"],
    // Saturday
    ["2026-11-28T12:00:00", "2026-11-30T14:00:02"],
    // 3 am
    ["2026-11-26T03:00:00", "2026-11-26T14:00:02"],
  ])("for %s is granted at the first permitted time, %s", (wished, at) => {
    expect(decide(wished, { hours: office })).toBe(at);
  });

  it.each([
    ["2026-11-24T10:05:00", "past"],
    ["2019-01-01T10:00:00Z", "past"],
    ["2036-11-24T10:00:00", "too_far"],
    ["2026-12-08T10:00:00", "too_far"],
    ["tomorrow at three", "unreadable"],
    ["2026-02-30T10:00:00", "unreadable"],
    ["2026-11-26T24:10", "unreadable"],
    ["2026-11-26T10:60", "unreadable"],
    ["2026-11-26T10:00+25:00", "unreadable"],
    ["2026-11-26", "unreadable"],
    ["9".repeat(100_000), "unreadable"],
    ["", "unreadable"],
    [1_795_251_601, "unreadable"],
    [{ at: "2026-11-26T10:00:00Z" }, "unreadable"],
    [["2026-11-26T10:00:00Z"], "unreadable"],
    [true, "unreadable"],
  ])("for %s is not granted: %s", (wished, reason) => {
    expect(decide(wished)).toBe(reason);
  });

  it("is in the call's zone, else in those of the number if they agree", () => {
    const wished = "2026-11-26T12:00";
    expect(decide(wished, { timezone: "Asia/Kolkata" })).toBe("2026-11-26T06:30:00");
    expect(decide(wished, { timezone: "+05:30" })).toBe("2026-11-26T06:30:00");
    expect(decide(wished, { timezone: undefined, phone_number: "+442079460958" })).toBe(
      "2026-11-26T12:00:00",
    );
    // Idaho, in two zones, and a number that rings anywhere.
    expect(decide(wished, { timezone: undefined, phone_number: "+12085550123" })).toBe(
      "zone_unknown",
    );
    const anywhere = { timezone: undefined, phone_number: "+870773111632" };
    expect(decide(wished, { ...anywhere, defaultTimeZone: "UTC" })).toBe("zone_unknown");
  });

  it.each([
    // The clocks of Lord Howe Island go forward by half an hour on October 4, and those of New York back on November 1.
    { timezone: "Australia/Lord_Howe", wished: "2026-10-04T02:15", at: "2026-10-03T15:45:00" },
    { timezone: "America/New_York", wished: "2026-11-01T01:30", at: "2026-11-01T06:30:00" },
    { timezone: "America/New_York", wished: "2026-03-08T02:30", at: "2026-03-08T07:30:00" },
  ])("for $wished in $timezone is at $at", ({ timezone, wished, at }) => {
    const before = Date.parse(`${at}Z`) - dayMs;
    const own = { acceptedAt: before - hourMs, claimedAt: before - hourMs };
    const tries = {
      number: 1,
      budget: 1,
      until: 0,
      dialedAt: [],
      callBacks: { most: 2, made: 0, until: before + 3 * dayMs },
    };
    const afterMs = before - acceptedAt - 5 * minuteMs;
    const result = { endedAt: before - 30 * minuteMs };
    expect(decide(wished, { timezone, row: { ...own, tries }, afterMs, result })).toBe(at);
  });

  it("is judged against the call's end, and overdue by at most two hours", () => {
    const wished = "2026-11-24T10:30:00";
    expect(decide(wished, { afterMs: hourMs })).toBe("2026-11-24T16:05:00");
    expect(decide(wished, { afterMs: 2 * hourMs + 25 * minuteMs })).toBe("2026-11-24T17:30:00");
    expect(decide(wished, { afterMs: 2 * hourMs + 26 * minuteMs })).toBe("too_late");
  });

  it("is not granted after the time for call-backs, whether or not there are hours", () => {
    const wished = "2026-11-24T10:30:00";
    const callBacks = { most: 2, made: 0, until: acceptedAt + hourMs };
    const tries = { number: 1, budget: 1, until: acceptedAt, dialedAt: [], callBacks };
    for (const hours of [always, "always"]) {
      const given = { hours, row: { tries } };
      expect(decide(wished, { ...given, afterMs: 50 * minuteMs })).toBe("2026-11-24T15:55:00");
      expect(decide(wished, { ...given, afterMs: 55 * minuteMs })).toBe("too_far");
    }
  });

  it("is not granted after an opt-out, after enough call-backs, or once the call was decided otherwise", () => {
    const wished = "2026-11-26T10:00";
    expect(decide(wished, { row: { optedOut: true } })).toBe("opted_out");
    expect(decide(wished, { made: 2 })).toBe("too_many");
    expect(decide(wished, { row: { request: null } })).toBe("too_late");
    const step = { at: acceptedAt, state: "PLACED", reason: "found" } as const;
    expect(decide(wished, { row: { history: [{ ...step, by: "ann" }] } })).toBe("too_late");
    const contradicted = { ...step, reason: "result_contradicted" };
    expect(decide(wished, { row: { history: [contradicted] } })).toBe("too_late");
  });

  it(
    "is promised within hours and bounds, whatever it says and whenever it is read",
    inSlowTier,
    () => {
      const texts = fc.oneof(
        fc.string(),
        fc.anything(),
        fc
          .tuple(
            fc.integer({ min: -3, max: 20 * 24 * 60 }),
            fc.constantFrom("", "Z", "-05:00", "+14:00"),
          )
          .map(([minutes, zone]) => {
            const local = new Date(acceptedAt + minutes * minuteMs).toISOString().slice(0, 16);
            return `${local}${zone}`;
          }),
      );
      fc.assert(
        fc.property(texts, fc.integer({ min: 0, max: 4 * 60 }), (wished, minutes) => {
          const afterMs = minutes * minuteMs;
          const decided = decide(wished, { hours: office, afterMs });
          if (decided === undefined || !/^\d/.test(decided)) return;
          const at = Date.parse(`${decided}Z`);
          expect(at).toBeGreaterThanOrEqual(acceptedAt + 5 * minuteMs + afterMs);
          expect(at).toBeLessThan(acceptedAt + 14 * dayMs);
          // New York is at -05:00 from November on.
          const local = new Date(at - 5 * hourMs);
          expect(local.getUTCDay() % 6).not.toBe(0);
          expect(local.getUTCHours()).toBeGreaterThanOrEqual(9);
          expect(local.getUTCHours()).toBeLessThan(17);
        }),
        { numRuns: 300 },
      );
    },
  );
});
