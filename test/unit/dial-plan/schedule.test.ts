import { createRouteTable, parseDialPlan, routeFrom } from "#test/support/plans.ts";
import { describe, expect, it } from "vitest";
import type { CallRequest } from "#shared/calls/call-request.ts";
import { findAgentRoute } from "#shared/dial-plan/dial-plan.ts";
import type { LogFields } from "#shared/lib/log.ts";
import { presets } from "#shared/telephony/hours-presets.ts";
import { statePresets } from "#shared/telephony/state-presets.ts";
import { createSchedule } from "#shared/dial-plan/schedule.ts";
import { findZone } from "#shared/telephony/time-zone.ts";

const webhook = { provider: "webhook", url: "http://127.0.0.1:9/dial" };
const nine = { "mon-sun": ["09:00-17:00"] };
const dayMs = 86_400_000;

function scheduleOf(more: object, events: LogFields[] = []) {
  const plan = parseDialPlan(
    {
      agents: { "*": webhook, office: { ...webhook, callingHours: "office" } },
      callingHours: { default: nine, office: { "mon-fri": ["10:00-16:00"] } },
      destinations: { allow: ["*"] },
      ...more,
    },
    {},
  );
  const schedule = createSchedule(createRouteTable(plan), (_level, event, fields) =>
    events.push({ event, ...fields } as LogFields),
  );
  const routeFor = ({ agent_id }: CallRequest) => {
    const route = findAgentRoute(agent_id, plan);
    if (route === undefined) throw new Error("no route");
    return route;
  };
  return {
    capsOf: (request: CallRequest) => schedule.capsOf(request, routeFor(request)),
    /** Returns the first open time within a week of `from`, to the second. */
    opensAt(request: CallRequest, from: string): string | undefined {
      const start = Date.parse(from);
      const { at } = schedule.opening(request, routeFor(request), {
        from: start,
        until: start + 7 * dayMs,
      });
      return at === undefined ? undefined : new Date(at).toISOString().slice(0, 19);
    },
    closedBy: (request: CallRequest, at: string) =>
      schedule.closedBy(request, routeFor(request), Date.parse(at)),
    /** Returns the opening as text, and the rule that was closed before. */
    opening(request: CallRequest, from: string, days = 7): [string | undefined, string?] {
      const start = Date.parse(from);
      const route = routeFor(request);
      const { at, closedBy } = schedule.opening(request, route, {
        from: start,
        until: start + days * dayMs,
      });
      const text = at === undefined ? undefined : new Date(at).toISOString().slice(0, 16);
      return closedBy === undefined ? [text] : [text, closedBy];
    },
  };
}
const call = (phone_number: string, timezone?: string, agent_id = "agent"): CallRequest => ({
  phone_number,
  agent_id,
  ...(timezone === undefined ? {} : { timezone }),
});

describe("a call's schedule", () => {
  it("is in the time zone that the call names, above all", () => {
    const { opening } = scheduleOf({ defaultTimeZone: "Asia/Tokyo" });
    const newYork = call("+12125550100");
    expect(opening(newYork, "2026-06-01T05:00Z")).toEqual([
      "2026-06-01T13:00",
      "callingHours.default",
    ]);
    const inDenver = call("+12125550100", "america/denver");
    expect(opening(inDenver, "2026-06-01T05:00Z")[0]).toBe("2026-06-01T15:00");
    expect(opening(call("+881612345678", "-03:30"), "2026-06-01T05:00Z")[0]).toBe(
      "2026-06-01T12:30",
    );
  });

  it("is in the number's zones as well where the call names one of another country", () => {
    const { opening } = scheduleOf({ callingHours: { default: "us-federal", office: "always" } });
    const from = "2026-06-01T05:00Z";
    // It is 14 o'clock in Paris when it is 8 in New York, and 8 in Tokyo when it is 19 there.
    expect(opening(call("+12125550100", "Europe/Paris"), from)[0]).toBe("2026-06-01T12:00");
    expect(opening(call("+12125550100", "Asia/Tokyo"), from)[0]).toBe("2026-06-01T23:00");
    expect(scheduleOf({}).opening(call("+12125550100", "Asia/Tokyo"), from)).toEqual([
      undefined,
      "callingHours.default",
    ]);
    expect(opening(call("+12125550100", "America/Halifax"), from)[0]).toBe("2026-06-01T12:00");
    expect(opening(call("+14165550100", "America/Halifax"), from)[0]).toBe("2026-06-01T11:00");
    // A clock that some zone of the country keeps stands alone.
    expect(opening(call("+12125550100", "America/Los_Angeles"), from)[0]).toBe("2026-06-01T15:00");
    expect(opening(call("+493012345678", "Europe/Paris"), from)[0]).toBe("2026-06-01T06:00");
  });

  it.each(["UTC", "Z", "+00:00", "Etc/UTC", "Etc/GMT-2", "-03:00"])(
    "is in the number's zones as well where the call says %s, which none of them ever has",
    (timezone) => {
      const { opening, closedBy } = scheduleOf({});
      const newYork = call("+12125550100", timezone);
      // It is 9 o'clock in New York.
      expect(opening(newYork, "2026-06-01T05:00Z")[0]).toBe("2026-06-01T13:00");
      expect(closedBy(newYork, "2026-06-01T12:59Z")).toBe("callingHours.default");
    },
  );

  it("is at an offset, and in those of the number's zones that ever have it", () => {
    const { opening, closedBy } = scheduleOf({});
    const [winter, summer] = ["2026-01-05T05:00Z", "2026-07-06T05:00Z"];
    const newYork = call("+12125550100", "-05:00");
    expect(opening(newYork, winter)[0]).toBe("2026-01-05T14:00");
    expect(closedBy(newYork, "2026-01-05T21:58Z")).toBeUndefined();
    // In summer -05:00 opens an hour after New York and closes an hour after it.
    expect(opening(newYork, summer)[0]).toBe("2026-07-06T14:00");
    expect(closedBy(newYork, "2026-07-06T20:58Z")).toBeUndefined();
    expect(closedBy(newYork, "2026-07-06T21:01Z")).toBe("callingHours.default");
    // Most zones of +1800… never have this offset.
    expect(opening(call("+18005550100", "-10:00"), winter)[0]).toBe("2026-01-05T19:00");
    expect(opening(call("+442071838750", "UTC"), winter)[0]).toBe("2026-01-05T09:00");
    expect(closedBy(call("+442071838750", "UTC"), "2026-07-06T16:01Z")).toBe(
      "callingHours.default",
    );
    expect(opening(call("+3545550100", "UTC"), summer)[0]).toBe("2026-07-06T09:00");
  });

  it("is in every zone that a number may lie in", () => {
    const { opening } = scheduleOf({ callingHours: { default: "us-federal", office: "always" } });
    // The zones reach from Guam, the first to close, to Hawaii and Pago Pago, the last to open.
    const tollFree = call("+18005550100");
    expect(opening(tollFree, "2026-06-01T12:00Z")).toEqual([
      "2026-06-01T22:00",
      "callingHours.default",
    ]);
    expect(opening(tollFree, "2026-06-01T23:00Z")).toEqual(["2026-06-01T23:00"]);
    // The latest time is 20:59 in Newfoundland, less the provider's time limit.
    expect(opening(tollFree, "2026-06-01T23:29:26Z")[0]).toBe("2026-06-02T22:00");
  });

  it("is in the plan's zone if the number has none, and in no zone otherwise", () => {
    const satellite = call("+881612345678");
    expect(
      scheduleOf({ defaultTimeZone: "Asia/Tokyo" }).opening(satellite, "2026-06-01T12:00Z")[0],
    ).toBe("2026-06-02T00:00");
    expect(scheduleOf({}).opening(satellite, "2026-06-01T12:00Z")).toEqual([
      undefined,
      "no_time_zone",
    ]);
    const always = scheduleOf({ callingHours: { default: "always", office: nine } });
    expect(always.opening(satellite, "2026-06-01T12:00Z")).toEqual(["2026-06-01T12:00"]);
  });

  it("has all rules open: the agent's, the country's, the region's, and no blackout", () => {
    const { opening } = scheduleOf({
      countries: { US: { callingHours: "us-federal" } },
      regions: {
        manhattan: { prefixes: ["+1212", "+1646"], callingHours: { "mon-fri": ["11:00-12:00"] } },
      },
      blackoutDates: ["2026-06-02"],
    });
    const at = (request: CallRequest, time: string) => opening(request, `2026-06-${time}Z`);
    // New York is UTC-4.
    expect(at(call("+12125550100"), "01T11:00")).toEqual(["2026-06-01T15:00", "regions.manhattan"]);
    expect(at(call("+12125550100"), "01T13:30")).toEqual(["2026-06-01T15:00", "regions.manhattan"]);
    expect(at(call("+13155550100"), "01T13:30")).toEqual(["2026-06-01T13:30"]);
    expect(at(call("+12125550100"), "01T16:00")).toEqual(["2026-06-03T15:00", "regions.manhattan"]);
    expect(at(call("+13155550100"), "02T13:30")).toEqual(["2026-06-03T13:00", "blackoutDates"]);
    expect(at(call("+13155550100", undefined, "office"), "01T13:30")).toEqual([
      "2026-06-01T14:00",
      "callingHours.office",
    ]);
  });

  it("has a state's preset for all numbers of the state, also where its region names further ones", () => {
    const { closedBy } = scheduleOf({
      callingHours: { default: "us-federal", office: "always" },
      regions: { florida: { callingHours: "us-florida", prefixes: ["+1212"] } },
    });
    const at = "2026-06-02T00:30Z"; // 20:30 in Miami and New York
    for (const number of ["+13055550100", "+12125550100"])
      expect(closedBy(call(number), at)).toBe("regions.florida");
    expect(closedBy(call("+13155550100"), at)).toBeUndefined();
  });

  it("leaves the provider its time before the hours close", () => {
    const { opening, closedBy } = scheduleOf({
      providers: { webhook: { timeoutSeconds: 60 } },
    });
    const utc = call("+3545550100", "UTC");
    expect(opening(utc, "2026-06-01T16:58:55Z")[0]).toBe("2026-06-01T16:58");
    expect(opening(utc, "2026-06-01T16:58:56Z")[0]).toBe("2026-06-02T09:00");
    // A claimed call needs the provider's time limit before closing, but no further margin.
    expect(closedBy(utc, "2026-06-01T16:58:59Z")).toBeUndefined();
    expect(closedBy(utc, "2026-06-01T16:59:01Z")).toBe("callingHours.default");
  });

  it("begins two seconds after the hours do, for clocks that are ahead", () => {
    const { opensAt, closedBy } = scheduleOf({});
    const utc = call("+3545550100", "UTC");
    expect(opensAt(utc, "2026-06-01T08:59:59Z")).toBe("2026-06-01T09:00:02");
    expect(opensAt(utc, "2026-06-01T09:00:01Z")).toBe("2026-06-01T09:00:02");
    expect(opensAt(utc, "2026-06-01T09:00:03Z")).toBe("2026-06-01T09:00:03");
    expect(closedBy(utc, "2026-06-01T09:00:01.999Z")).toBe("callingHours.default");
    expect(closedBy(utc, "2026-06-01T09:00:02Z")).toBeUndefined();
  });

  it("leaves the provider its time before the midnight that begins a blackout date", () => {
    const { opensAt, closedBy } = scheduleOf({
      callingHours: { default: { "mon-sun": ["00:00-24:00"] }, office: "always" },
      providers: { webhook: { timeoutSeconds: 60 } },
      blackoutDates: ["2026-06-02"],
    });
    const utc = call("+3545550100", "UTC");
    const midnight = Date.parse("2026-06-02T00:00:00Z");
    const before = (ms: number) => new Date(midnight - ms).toISOString();
    const after = (ms: number) => new Date(midnight + dayMs + ms).toISOString();
    expect(opensAt(utc, before(65_000))).toBe(before(65_000).slice(0, 19));
    expect(opensAt(utc, before(64_999))).toBe(after(2_000).slice(0, 19));
    expect(closedBy(utc, before(60_000))).toBeUndefined();
    expect(closedBy(utc, before(59_999))).toBe("blackoutDates");
    expect(closedBy(utc, after(1_999))).toBe("blackoutDates");
    expect(closedBy(utc, after(2_000))).toBeUndefined();
  });

  it("gives each call of a series the same answer as alone", () => {
    const patient = { ...webhook, provider: "patient" };
    const { opening } = scheduleOf({
      agents: { "*": webhook, patient },
      callingHours: { default: nine },
      providers: {
        webhook: { timeoutSeconds: 5 },
        patient: { type: "webhook", timeoutSeconds: 60 },
      },
    });
    const before = "2026-06-01T16:59:30Z";
    for (let turn = 0; turn < 2; turn++) {
      // Hours, zone and time are equal: one provider answers in time, the other does not.
      expect(opening(call("+3545550100", "UTC"), before)[0]).toBe("2026-06-01T16:59");
      expect(opening(call("+3545550100", "UTC", "patient"), before)[0]).toBe("2026-06-02T09:00");
      // One call expires before the opening.
      expect(opening(call("+3545550100", "UTC"), "2026-06-01T18:00Z", 0.5)[0]).toBeUndefined();
      expect(opening(call("+3545550100", "UTC"), "2026-06-01T18:00Z")[0]).toBe("2026-06-02T09:00");
      // Both calls expire at the same time.
      expect(opening(call("+3545550100", "UTC"), "2026-06-01T12:00Z", 1)[0]).toContain("12:00");
      expect(opening(call("+3545550100", "UTC"), "2026-06-01T18:00Z", 0.75)[0]).toContain("09:00");
      expect(opening(call("+81312345678", "+09:00"), before)[0]).toBe("2026-06-02T00:00");
    }
  });

  it("never opens for a call whose set of hours the plan has lost", () => {
    const plan = parseDialPlan(
      {
        agents: { "*": webhook },
        callingHours: { default: "always" },
        destinations: { allow: ["*"] },
      },
      {},
    );
    const schedule = createSchedule(createRouteTable(plan), () => undefined);
    const route = { ...routeFrom("webhook", webhook), callingHours: "lost" };
    const now = Date.parse("2026-06-01T12:00Z");
    expect(schedule.closedBy(call("+12125550100"), route, now)).toBe("callingHours.lost");
    expect(
      schedule.opening(call("+12125550100"), route, { from: now, until: now + 7 * dayMs }),
    ).toEqual({
      at: undefined,
      closedBy: "callingHours.lost",
    });
  });

  it("never opens where a rule never does before the call expires", () => {
    const { opening } = scheduleOf({});
    expect(opening(call("+3545550100", "UTC"), "2026-06-01T18:00Z", 0.5)).toEqual([
      undefined,
      "callingHours.default",
    ]);
  });

  it("logs once per zone that runtime and table differ", () => {
    const at = Date.parse("2026-11-30T12:00Z");
    const clocks = findZone("America/Havana")?.clocks ?? [];
    const [table, intl] = clocks.map((clock) => clock(at)?.offsetMs);
    const events: LogFields[] = [];
    const { opening } = scheduleOf({}, events);
    opening(call("+12125550100", "America/Havana"), "2026-11-30T12:00Z");
    opening(call("+12125550100", "America/Havana"), "2026-11-30T12:00Z");
    opening(call("+12125550100", "Europe/Berlin"), "2026-11-30T12:00Z");
    const expected = { event: "time_zone.disagreement", time_zone: "america/havana" };
    expect(events).toEqual(table === intl ? [] : [expected]);
  });

  it("counts calls for every cap that may concern their number", () => {
    const cap = (count: number, days: number) => ({ count, days });
    const named = (name: string, count: number, days: number) => ({ name, count, days });
    const { capsOf } = scheduleOf({
      agents: { "*": webhook, florida: { ...webhook, callingHours: "us-florida" } },
      callingHours: { default: "always" },
      countries: { FR: { callingHours: "france", maxCalls: cap(2, 7) } },
      regions: { miami: { prefixes: ["+1305"], maxCalls: cap(1, 1) } },
    });
    expect(capsOf(call("+33123456789"))).toEqual({
      caps: [named("countries.FR", 2, 7), named("countries.FR", 4, 30)],
      isCounted: true,
    });
    expect(capsOf(call("+13055550100"))).toEqual({
      caps: [named("regions.miami", 1, 1)],
      isCounted: true,
    });
    expect(capsOf(call("+13055550100", undefined, "florida"))).toEqual({
      caps: [named("callingHours.us-florida", 3, 1), named("regions.miami", 1, 1)],
      isCounted: true,
    });
    // The call has no cap, but another agent's calls to the number come under one.
    expect(capsOf(call("+442071838750"))).toEqual({ caps: [], isCounted: true });
    expect(scheduleOf({}).capsOf(call("+33123456789"))).toEqual({ caps: [], isCounted: false });
    expect(scheduleOf({ maxCalls: cap(7, 7) }).capsOf(call("+442071838750"))).toEqual({
      caps: [named("maxCalls", 7, 7)],
      isCounted: true,
    });
  });
});

describe("a preset", () => {
  const openAt = (preset: string, local: string) => {
    const schedule = scheduleOf({ callingHours: { default: preset, office: "always" } });
    return schedule.closedBy(call("+3545550100", "UTC"), `${local}Z`) === undefined;
  };
  const times: [preset: string, open: string[], closed: string[]][] = [
    [
      "us-federal",
      ["2026-06-01T08:00", "2026-06-07T20:59"],
      ["2026-06-01T07:59", "2026-06-01T21:00"],
    ],
    [
      "us-florida",
      ["2026-06-01T08:00", "2026-06-07T19:59"],
      ["2026-06-01T07:59", "2026-06-01T20:00"],
    ],
    [
      "canada",
      ["2026-06-01T09:00", "2026-06-05T21:29", "2026-06-06T10:00", "2026-06-07T17:59"],
      ["2026-06-01T08:59", "2026-06-05T21:30", "2026-06-06T09:59", "2026-06-07T18:00"],
    ],
    [
      "france",
      ["2026-06-01T10:00", "2026-06-01T12:59", "2026-06-01T14:00", "2026-06-05T19:59"],
      // Saturday; New Year, Easter Monday, 1 and 8 May, Ascension, Whit Monday, and the other holidays of the
      // year.
      (
        "2026-06-01T09:59 2026-06-01T13:00 2026-06-01T20:00 2026-06-06T11:00 2026-01-01T11:00 " +
        "2026-04-06T11:00 2026-05-01T11:00 2026-05-08T11:00 2026-05-14T11:00 2026-05-25T11:00 " +
        "2026-07-14T11:00 2027-11-01T11:00 2026-11-11T11:00 2026-12-25T11:00"
      ).split(" "),
    ],
    [
      "spain",
      ["2026-06-01T09:00", "2026-06-05T20:59", "2026-04-06T11:00"],
      // Good Friday 2026 and 2027; 6 December 2026 is a Sunday, kept on Monday.
      (
        "2026-06-01T08:59 2026-06-01T21:00 2026-06-06T11:00 2026-04-03T11:00 2027-03-26T11:00 " +
        "2026-12-07T11:00 2026-12-08T11:00 2026-10-12T11:00"
      ).split(" "),
    ],
    [
      "australia",
      ["2026-06-01T09:00", "2026-06-05T19:59", "2026-06-06T09:00", "2026-06-06T16:59"],
      // Sunday; Good Friday, Easter Monday; Boxing Day 2026 is a Saturday, kept on Monday the 28th.
      (
        "2026-06-01T20:00 2026-06-06T17:00 2026-06-07T11:00 2026-04-03T11:00 2026-04-06T11:00 " +
        "2026-12-25T11:00 2026-12-26T11:00 2026-12-28T11:00 2028-01-03T11:00 2027-12-27T11:00 " +
        "2027-12-28T11:00 2026-01-26T11:00"
      ).split(" "),
    ],
    ["india", ["2026-06-01T09:00", "2026-06-07T20:59"], ["2026-06-01T08:59", "2026-06-01T21:00"]],
  ];

  it("is in the table of times, unless it is a state's", () => {
    const tested = new Set(times.map(([name]) => name));
    const others = Object.keys(presets).filter((name) => !(name in statePresets));
    expect(others.filter((name) => !tested.has(name))).toEqual([]);
  });

  it.each(times)("%s is open at %j and closed at %j", (preset, open, closed) => {
    // The rule is closed a provider's time limit before the end of the hours, but open a minute earlier. It
    // is open two seconds after their beginning, and not before.
    const early = (local: string) =>
      `${local.replace(/:[25]9$/, (minute) => `:${minute === ":59" ? 58 : 28}`)}:02`;
    expect(open.map(early).filter((local) => !openAt(preset, local))).toEqual([]);
    const isBeginning = (local: string) => local.endsWith(":00") && !local.endsWith("11:00");
    const notYet = open.filter(isBeginning).map((local) => `${local}:01.999`);
    expect([...closed, ...notYet].filter((local) => openAt(preset, local))).toEqual([]);
  });

  it("has the caps that its law has, and Florida its area codes", () => {
    const caps = Object.entries(presets).map(([name, { maxCalls }]) => [name, maxCalls]);
    expect(Object.fromEntries(caps.filter(([, cap]) => cap !== undefined))).toEqual({
      "us-florida": { count: 3, days: 1 },
      france: { count: 4, days: 30 },
    });
    const { opening, capsOf } = scheduleOf({
      callingHours: { default: "us-federal", office: "always" },
      regions: { florida: { callingHours: "us-florida" } },
    });
    const miami = call("+13055550100");
    expect(opening(miami, "2026-06-01T23:59Z")[0]).toBe("2026-06-01T23:59");
    expect(opening(miami, "2026-06-02T00:00Z")).toEqual(["2026-06-02T12:00", "regions.florida"]);
    expect(opening(call("+12125550100"), "2026-06-02T00:00Z")).toEqual(["2026-06-02T00:00"]);
    expect(capsOf(miami).caps).toEqual([{ name: "regions.florida", count: 3, days: 1 }]);
  });

  it("computes the date of Easter", () => {
    const easters = ["2026-04-05", "2027-03-28", "2028-04-16", "2029-04-01", "2030-04-21"];
    const more = [
      "2031-04-13",
      "2032-03-28",
      "2033-04-17",
      "2034-04-09",
      "2035-03-25",
      "2036-04-13",
    ];
    for (const easter of [...easters, ...more]) {
      const day = Date.parse(easter) / dayMs;
      expect([easter, presets["france"]?.closedOn?.(day + 1)]).toEqual([easter, true]);
      expect(presets["france"]?.closedOn?.(day + 39)).toBe(true);
      expect(presets["spain"]?.closedOn?.(day - 2)).toBe(true);
      expect(presets["spain"]?.closedOn?.(day - 1)).toBe(false);
    }
  });
});
