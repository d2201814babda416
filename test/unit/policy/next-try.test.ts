import { createRouteTable, parseDialPlan } from "#test/support/plans.ts";
import { describe, expect, it } from "vitest";
import type { CallResult } from "#shared/calls/call-result.ts";
import { callsIn, indexOf, readCallId, requestIdOf, timeOfId } from "#shared/calls/ids.ts";
import { toTryId } from "#shared/calls/tries.ts";
import { createSchedule } from "#shared/dial-plan/schedule.ts";
import { planNextTry } from "#shared/policy/next-try.ts";
import { aCall } from "#test/support/calls.ts";
import { testPlan } from "#test/support/environment.ts";
import { busy, twilio } from "#test/support/results-bench.ts";
import { noAnswer } from "#test/support/retry-bench.ts";
import { rowIn } from "#test/support/rows.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** New York in winter: 5 hours behind UTC. */
const offsetMs = 5 * hourMs;
const at = (time: string) => Date.parse(`2026-11-${time}:00Z`) + offsetMs;
const retry = {
  attempts: 6,
  within: "72h",
  spread: true,
  after: { busy: "15m", no_answer: "1h" },
};

interface Given {
  /** Times at which the tries so far were dialed, in New York. */
  dialed: readonly string[];
  hours: object;
  result?: CallResult;
}

/** Returns the time of the next try in New York, if there is one. */
function nextAfter({ dialed, hours, result = noAnswer }: Given): string | undefined {
  const { agent_sales } = twilio.agents;
  const agents = { agent_sales: { ...agent_sales, retry } };
  const hoursOfPlan = { callingHours: { default: hours }, results: {} };
  const plan = parseDialPlan({ ...testPlan, agents, ...hoursOfPlan }, {});
  const table = createRouteTable(plan);
  const schedule = createSchedule(table, () => undefined);
  const request = {
    phone_number: "+12025550123",
    agent_id: "agent_sales",
    timezone: "America/New_York",
  };
  const times = dialed.map(at);
  const claimedAt = times.at(-1) ?? 0;
  const acceptedAt = times[0] ?? 0;
  const row = rowIn("PLACED", aCall({ request }), { at: acceptedAt });
  const until = acceptedAt + 72 * hourMs;
  const tries = { number: times.length, budget: 6, until, dialedAt: times.slice(0, -1) };
  const ended = { ...row, acceptedAt, claimedAt, request, tries, result };
  const next = planNextTry(ended, { table, schedule, now: claimedAt + minuteMs });
  return next && new Date(next.dueAt - offsetMs).toISOString().slice(8, 16);
}

const always = { "mon-sun": ["00:00-24:00"] };
const office = { "mon-fri": ["09:00-12:00", "15:00-18:00"] };

describe("the next try of a call, spread over the parts of the callee's day", () => {
  it.each([
    // The next hour is in another part of the day.
    { dialed: ["24T10:30"], hours: always, next: "24T11:31" },
    { dialed: ["24T09:30"], hours: always, next: "24T11:00" },
    { dialed: ["24T09:30", "24T11:30"], hours: always, next: "24T14:00" },
    { dialed: ["24T09:30", "24T11:30", "24T14:30"], hours: always, next: "24T17:00" },
    { dialed: ["24T14:30", "24T17:30"], hours: always, next: "25T00:00" },
    // Every part was tried.
    { dialed: ["23T09:30", "23T11:30", "23T14:30", "23T17:30"], hours: always, next: "23T18:31" },
    // The office is open from 9 to 12 and from 15 to 18.
    { dialed: ["24T09:30", "24T11:10"], hours: office, next: "24T15:00" },
    { dialed: ["24T15:30"], hours: office, next: "24T17:00" },
    { dialed: ["24T15:30", "24T17:30"], hours: office, next: "25T09:00" },
  ])("is at $next after $dialed", ({ dialed, hours, next }) => {
    expect(nextAfter({ dialed, hours })).toBe(next);
  });

  it("is at its time after busy", () => {
    expect(nextAfter({ dialed: ["24T09:30"], hours: always, result: busy })).toBe("24T09:46");
  });

  it("counts its delay from the end that the provider reports, if that lies between dialing and now", () => {
    const after = (endedAt: number) =>
      nextAfter({ dialed: ["24T09:30"], hours: always, result: { ...busy, endedAt } });
    expect(after(at("24T09:30"))).toBe("24T09:45");
    expect(after(at("24T08:00"))).toBe("24T09:45");
    expect(after(at("24T23:00"))).toBe("24T09:46");
  });

  it("is none once the budget or the time is used up", () => {
    const dialed = ["24T09:30", "24T10:30", "24T11:30", "24T12:30", "24T13:30", "24T14:30"];
    expect(nextAfter({ dialed, hours: always })).toBeUndefined();
    expect(nextAfter({ dialed: dialed.slice(1), hours: always })).toBeDefined();
    expect(nextAfter({ dialed: ["24T09:30", "27T09:00"], hours: always })).toBeUndefined();
  });
});

describe("the id of a try", () => {
  it("is the same whenever it is made, of the old form, and another one for each try and call", () => {
    const chain = aCall().id;
    const ids = [2, 3, 4, 5, 6].map((number) => toTryId(chain, number));
    expect(ids).toEqual([2, 3, 4, 5, 6].map((number) => toTryId(chain, number)));
    expect(new Set([...ids, toTryId(chain.replace(/\d$/, "1"), 2)]).size).toBe(6);
    for (const id of ids) {
      expect(readCallId(id)).toBe(id);
      expect(timeOfId(id)).toBe(timeOfId(chain));
      expect([indexOf(id), callsIn(requestIdOf(id))]).toEqual([0, 1]);
    }
  });
});
