import { createRouteTable, parseDialPlan } from "#test/support/plans.ts";
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { createSchedule } from "#shared/dial-plan/schedule.ts";
import { findAgentRoute } from "#shared/dial-plan/dial-plan.ts";
import type { PlanTexts } from "#functions/operator/plan.ts";
import { presets } from "#shared/telephony/hours-presets.ts";
import { missingStates, stateCodes, statePresets } from "#shared/telephony/state-presets.ts";
import { createTestApi } from "#test/support/api.ts";
import { apiEnvironment, testPlan, tokens } from "#test/support/environment.ts";

const day = (text: string) => Date.parse(text) / 86_400_000;

describe.each(Object.values(stateCodes))("the preset of %s", (name) => {
  const preset = statePresets[name];

  it("is narrower than federal hours on each day", () => {
    const federal = presets["us-federal"]?.weekly ?? [];
    expect(preset.weekly.length).toBeGreaterThan(4);
    for (const { start, end } of preset.weekly) {
      expect(federal.some((one) => one.start <= start && end <= one.end)).toBe(true);
    }
  });

  it("names its law, where it was read, and a date of that source", async () => {
    const code = await readFile("shared/telephony/state-presets.ts", "utf8");
    const constant = name
      .slice(3)
      .replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
    const [, comment = ""] =
      new RegExp(`/\\*\\*((?:(?!\\*/)[^])*)\\*/\nconst ${constant} = preset`).exec(code) ?? [];
    expect(comment).toMatch(
      /(?:Stat\.|R\.S\.|CMR|Code|NMSA|Laws|RCW) [\d-][^]*read on [^]*\b(?:19|20)\d\d\b/,
    );
  });
});

describe("holidays of states", () => {
  it.each([
    ["us-utah", "2026-07-24", true], // Pioneer Day
    ["us-utah", "2026-11-26", true], // Thanksgiving
    ["us-utah", "2026-05-25", true], // Memorial Day
    ["us-utah", "2026-07-03", true], // for Independence Day, a Saturday
    ["us-utah", "2027-12-31", true], // for New Year, a Saturday
    ["us-utah", "2028-01-01", true],
    ["us-utah", "2028-12-30", false],
    ["us-utah", "2026-01-19", true], // Martin Luther King
    ["us-utah", "2026-02-16", true], // Washington
    ["us-utah", "2026-10-12", true], // Columbus Day
    ["us-utah", "2026-09-07", true], // Labor Day
    ["us-utah", "2026-11-27", false],
    ["us-utah", "2026-06-15", true], // the Monday before Juneteenth, a Friday
    ["us-utah", "2027-06-21", true], // the Monday after, for a Saturday
    ["us-utah", "2028-06-19", true], // a Monday
    ["us-utah", "2029-06-18", true], // the Monday before a Tuesday
    ["us-utah", "2028-06-20", false],
    ["us-utah", "2029-06-20", false],
    ["us-louisiana", "2026-02-17", true], // Mardi Gras
    ["us-louisiana", "2026-04-03", true], // Good Friday
    ["us-louisiana", "2026-02-18", false],
    ["us-rhode-island", "2026-08-10", true], // Victory Day
    ["us-rhode-island", "2026-08-11", false],
    ["us-rhode-island", "2026-11-03", true], // a general election
    ["us-rhode-island", "2028-11-07", true],
    ["us-rhode-island", "2027-11-02", false],
    ["us-rhode-island", "2027-12-24", true], // for Christmas, a Saturday
    ["us-rhode-island", "2027-12-27", true],
    ["us-rhode-island", "2027-12-28", false],
    ["us-louisiana", "2027-12-27", false],
  ] as const)("%s is closed on %s: %s", (name, date, isClosed) => {
    expect(presets[name]?.closedOn?.(day(date)) ?? false).toBe(isClosed);
  });
});

describe("a plan with us-states", () => {
  const planOf = (region: object) =>
    parseDialPlan(
      {
        agents: { "*": { provider: "webhook", url: "http://127.0.0.1:9/dial" } },
        callingHours: { default: "us-federal" },
        destinations: { allow: ["US"] },
        regions: { states: region },
      },
      {},
    );
  const callingHours = "us-states";

  it("is refused, with their names, unless the states without a preset are excepted", () => {
    expect(() => planOf({ callingHours })).toThrow(
      /AL, CT, KY, MD, MI, MN, NV, OK, OR, PA, SD, TX, WY/,
    );
    expect(() => planOf({ callingHours, except: missingStates.slice(1) })).toThrow(/: AL\./);
    expect(() => planOf({ callingHours, except: [...missingStates, "ZZ"] })).toThrow(/may have/);
    expect(() => planOf({ callingHours: "us-utah", except: ["UT"] })).toThrow(/only for/);
    const prefixes = ["+1202"];
    expect(() => planOf({ callingHours, except: missingStates, prefixes })).toThrow(/prefixes/);
  });

  it.each([
    ["+14075550123", "2026-06-02T00:30Z", "regions.states.FL"], // 20:30 in Orlando
    ["+14015550123", "2026-06-02T00:30Z", "regions.states.RI"],
    ["+12125550123", "2026-06-02T00:30Z", undefined],
    ["+14065550123", "2026-06-02T00:30Z", undefined],
    ["+15055550123", "2026-06-01T14:30Z", "regions.states.NM"], // 8:30 in Albuquerque
    ["+18015550123", "2026-05-31T18:00Z", "regions.states.UT"], // a Sunday
  ])("has %s wait at %s by %s", (phone_number, now, rule) => {
    const plan = planOf({ callingHours, except: [...missingStates, "WA"] });
    const route = findAgentRoute("any", plan);
    if (route === undefined) throw new Error("no route");
    const request = { phone_number, agent_id: "any" };
    const schedule = createSchedule(createRouteTable(plan), () => undefined);
    expect(schedule.closedBy(request, route, Date.parse(now))).toBe(rule);
    const inSeattle = { phone_number: "+12065550123", agent_id: "any" };
    expect(schedule.closedBy(inSeattle, route, Date.parse("2026-06-02T03:30Z"))).toBeUndefined();
  });

  it("is said to operators in words, state by state", async () => {
    const regions = { states: { callingHours, except: [...missingStates, "WA"] } };
    const DIAL_PLAN = JSON.stringify({ ...testPlan, regions });
    const { app } = createTestApi({ environment: { ...apiEnvironment, DIAL_PLAN } });
    const headers = { authorization: `Bearer ${tokens.operator}` };
    const response = await app.request("/operator/plan", { headers });
    expect(response.status).toBe(200);
    const { rules }: PlanTexts = await response.json();
    const of = (name: string) => rules.find(({ destination }) => destination.endsWith(name));
    expect(of("states.FL")).toEqual({
      destination: "numbers of states.FL",
      hours: "every day 8:00–20:00 in the callee's zone",
      calls: "3 calls in 24 hours",
    });
    expect(of("states.UT")?.hours).toMatch(/^Mon–Sat 8:00–21:00 .*not on public holidays/);
    expect(of("states.WA")).toBeUndefined();
  });
});
