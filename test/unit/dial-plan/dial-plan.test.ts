import {
  createRouteTable,
  malformedSecrets,
  missingSecrets,
  parseDialPlan,
  routeFrom,
} from "#test/support/plans.ts";
import { readFile } from "node:fs/promises";
import * as fc from "fast-check";
import { parsePlanJson } from "#shared/dial-plan/parse-plan-json.ts";
import { describe, expect, it } from "vitest";
import { mayBeCalled, findAgentRoute } from "#shared/dial-plan/dial-plan.ts";
import { createSchedule } from "#shared/dial-plan/schedule.ts";
import { accountNameOf } from "#shared/calls/call-request.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const plan = {
  agents: { "*": { provider: "webhook", url: "https://example.com/dial" } },
  callingHours: { default: "always" },
  destinations: { allow: ["US"] },
};
const parsed = (more: object = {}) => parseDialPlan({ ...plan, ...more }, {});

/** Returns a plan in which LiveKit's agent is waited for too long, and the problem that is told. */
function livekitPlan(account: object, wait: object, problem: string): [object, RegExp] {
  const late = {
    agents: { a: { provider: "livekit", agent: "caller", trunk: "ST_1", ...wait } },
    providers: { livekit: { baseUrl: "https://rooms.example", ...account } },
  };
  const escaped = problem.replaceAll(/[()]/g, String.raw`\$&`);
  return [late, new RegExp(`agents\\.a: agentWaitSeconds ${escaped}`)];
}

describe("the dial plan", () => {
  it("has the defaults that the design gives", () => {
    expect(parsed()).toMatchObject({
      expireAfterHours: 168,
      reviewAfterSeconds: 300,
      retentionDays: 60,
      destinations: { deny: [], allowServices: [] },
    });
    const route = findAgentRoute("any", parsed());
    expect(route && createRouteTable(parsed()).account(route)).toMatchObject({
      timeoutSeconds: 30,
    });
  });

  it("asks for results only where it says so, for four hours by default", () => {
    expect(parsed().results).toBeUndefined();
    expect(parsed({ results: {} }).results).toEqual({ waitMinutes: 240 });
    for (const waitMinutes of [4, 1441, 5.5, null]) {
      expect(() => parsed({ results: { waitMinutes } })).toThrow(/results.waitMinutes/);
    }
    expect(() => parsed({ results: { wait: 5 } })).toThrow(/results/);
  });

  it("of the repository is a plan, and so is the local one, where the simulator is allowed", async () => {
    const production: unknown = JSON.parse(await readFile("infra/dial-plan.json", "utf8"));
    expect(parseDialPlan(production, {})).toMatchObject({
      agents: { "*": { account: "webhook" } },
      callingHours: { default: "us-federal" },
    });
    const local: unknown = JSON.parse(await readFile("infra/local/dial-plan.json", "utf8"));
    expect(parseDialPlan(local, { ALLOW_SIMULATOR: "true" })).toMatchObject({
      agents: { "*": { account: "simulator", provider: "simulator" } },
      callingHours: { default: "always" },
    });
    expect(() => parseDialPlan(local, {})).toThrow(/simulator/);
    expect(() => parseDialPlan(local, { ALLOW_SIMULATOR: "1" })).toThrow(/simulator/);
  });

  it("of README.md is a plan", async () => {
    const [, json = ""] = /```json\n(.*?)```/s.exec(await readFile("README.md", "utf8")) ?? [];
    const { countries, maxCalls } = parseDialPlan(JSON.parse(json), {});
    expect([countries["CA"], maxCalls]).toEqual([
      { callingHours: "canada" },
      { count: 7, days: 7 },
    ]);
  });

  it("of DIAL_PLAN replaces the bundled one", () => {
    const override = JSON.stringify({ ...plan, expireAfterHours: 24 });
    expect(parseDialPlan(plan, { DIAL_PLAN: override }).expireAfterHours).toBe(24);
  });

  it.each([
    ["{", "line 1 column 2"],
    ['{\n  "agents": hush }', "line 2 column 13"],
    ['{ "agents": {} } hush', "line 1 column 18"],
    ["infra/hush.json", /^DIAL_PLAN is not JSON: line 1 column 1\. .* DIAL_PLAN="\$\(cat FILE\)"/],
  ])("of DIAL_PLAN is refused with the place where it is not JSON: %j", (override, place) => {
    const parse = () => parseDialPlan(plan, { DIAL_PLAN: override });
    expect(parse).toThrow(
      typeof place === "string" ? new Error(`DIAL_PLAN is not JSON: ${place}`) : place,
    );
    expect(parse).not.toThrow("hush");
  });

  it("names nothing twice in one object, whatever strings hold", () => {
    const parse = (text: string) => () => parsePlanJson(text);
    expect(parse(`{"agents":{"s":{"split":{"a":80,"a":20}}}}`)).toThrow(
      "has agents.s.split.a twice",
    );
    expect(parse(`{"agents":{"a":{},"\\u0061":{}}}`)).toThrow("has agents.a twice");
    expect(parse(`{"checks":[{"url":"x"},{"url":"x","url":"y"}]}`)).toThrow("has checks.url twice");
    expect(parse(JSON.stringify(plan))()).toEqual(plan);
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(parsePlanJson(JSON.stringify(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      { numRuns: 300 },
    );
    const override = `{"agents":{},"agents":{}}`;
    expect(() => parseDialPlan(plan, { DIAL_PLAN: override })).toThrow(
      "DIAL_PLAN has agents twice",
    );
  });

  it.each<[object, RegExp]>([
    [{ agents: {} }, /^dial plan: agents: must name an agent/],
    [
      { agents: { a: { provider: "webhoook" } } },
      /^dial plan: agents\.a\.provider: must be an account of providers, or one of/,
    ],
    [
      { agents: { a: { provider: "webhook", account: "webhook" } } },
      /^dial plan: agents\.a\.account: must be named provider$/,
    ],
    [{ agents: { a: { provider: "webhook" } } }, /^dial plan: agents\.a\.url: /],
    [
      { agents: { a: { provider: "webhook", url: "http://example.com" } } },
      /agents\.a\.url: must be https/,
    ],
    [
      { agents: { a: { provider: "webhook", url: "ftp://127.0.0.1/" } } },
      /agents\.a\.url: must be https/,
    ],
    [
      { agents: { a: { provider: "webhook", url: "https://u:p@example.com" } } },
      /must not hold a user/,
    ],
    [{ agents: { a: { ...plan.agents["*"], urls: "x" } } }, /agents\.a: must not have "urls"/],
    [
      { agents: { a: { ...plan.agents["*"], callingHours: "office" } } },
      /agents\.a\.callingHours: must name a set/,
    ],
    [{ providers: { webhok: {} } }, /providers\.webhok: needs a type: one of/],
    [{ providers: { eu: { type: "webhok" } } }, /providers\.eu\.type: must be one of/],
    [{ providers: { EU: { type: "webhook" } } }, /providers\.EU: must be a name such as twilio-eu/],
    [
      { providers: { webhook: { baseUrl: "https://example.com" } } },
      /agents\.\*: must not have "baseUrl"/,
    ],
    [
      { agents: { a: { provider: "livekit", agent: "caller", trunk: "ST_1" } } },
      /agents\.a\.baseUrl: is required: set the account's baseUrl in providers/,
    ],
    livekitPlan(
      { timeoutSeconds: 29 },
      {},
      "(20) must be at most two thirds of timeoutSeconds: 19",
    ),
    livekitPlan(
      {},
      { agentWaitSeconds: 31 },
      "(31) must be at most two thirds of timeoutSeconds: 30",
    ),
    livekitPlan({ timeoutSeconds: 60 }, { agentWaitSeconds: 41 }, "(41) must be at most"),
    [
      { agents: { a: { provider: "twilio", from: "+12025550100" } } },
      /agents\.a: must have either stream or answerUrl/,
    ],
    [
      { providers: { vapi: { baseUrl: "https://example.com/?x=1" } } },
      /providers\.vapi\.baseUrl: must not have a query or a fragment/,
    ],
    [{ providers: { webhook: { callsPerSecond: 0 } } }, /providers\.webhook\.callsPerSecond: /],
    [{ providers: { webhook: { burst: 0, callsPerSecond: 1 } } }, /providers\.webhook\.burst: /],
    [
      { providers: { webhook: { burst: 2 } } },
      /providers\.webhook\.burst: needs callsPerSecond beside it/,
    ],
    [
      { providers: { webhook: { liveCalls: 5 } } },
      /providers\.webhook\.liveCalls: needs results in the plan, which report when a call ended/,
    ],
    [
      { results: {}, providers: { webhook: { liveCalls: 501 } } },
      /providers\.webhook\.liveCalls: /,
    ],
    [{ providers: { webhook: { maxCallMinutes: 241 } } }, /providers\.webhook\.maxCallMinutes: /],
    [{ providers: { webhook: { timeoutSeconds: 0 } } }, /providers\.webhook\.timeoutSeconds: /],
    [{ callingHours: {} }, /callingHours: must have a set named "default"/],
    [{ callingHours: { default: "us-fedral" } }, /callingHours\.default: must be hours, or one of/],
    [{ callingHours: { default: 9 } }, /callingHours\.default: must be a name, or hours such as/],
    [{ callingHours: { default: [] } }, /callingHours\.default: must be a name, or hours such as/],
    [
      { callingHours: { default: { "mon-fry": ["09:00-17:00"] } } },
      /callingHours\.default\.mon-fry: must be like "mon" or "mon-fri"/,
    ],
    [
      { callingHours: { default: { mon: ["09:00-17:00", "9-5"] } } },
      /callingHours\.default\.mon\.1: must be like "09:00-17:30"/,
    ],
    [
      { callingHours: { default: "always", france: { mon: ["09:00-17:00"] } } },
      /callingHours\.france: has the name of a preset/,
    ],
    [
      { providers: { "api-tokens": { type: "webhook" } } },
      /providers\.api-tokens: must not begin with events, checks, api-tokens or operator-tokens/,
    ],
    [
      { providers: { "operator-tokens-eu": { type: "vapi" } } },
      /providers\.operator-tokens-eu: must not begin/,
    ],
    [{ countries: { FR: {} } }, /countries\.FR: must have callingHours, maxCalls or both/],
    [{ countries: { France: { callingHours: "france" } } }, /countries\.France: /],
    [{ countries: { UK: { callingHours: "france" } } }, /countries\.UK: must be a country's two/],
    [{ destinations: { allow: ["*"], deny: ["UK"] } }, /destinations\.deny\.0: must be a prefix/],
    [JSON.parse('{"regions": {"__proto__": {"prefixes": ["+1"]}}}'), /the key __proto__/],
    [{ countries: { FR: { callingHours: "frnace" } } }, /countries\.FR\.callingHours: must name/],
    [
      { countries: { FR: { maxCalls: { count: 0, days: 1 } } } },
      /countries\.FR\.maxCalls\.count: /,
    ],
    [{ maxCalls: { count: 1, days: 61 } }, /maxCalls\.days: /],
    [
      { regions: { miami: { callingHours: "us-federal" } } },
      /regions\.miami\.prefixes: is required/,
    ],
    [
      { regions: { miami: { prefixes: ["305"], maxCalls: { count: 1, days: 1 } } } },
      /regions\.miami\.prefixes\.0: must be a prefix such as \+1305/,
    ],
    [{ blackoutDates: ["2026-02-29"] }, /blackoutDates\.0: must be a date/],
    [{ blackoutDates: ["25.12.2026"] }, /blackoutDates\.0: must be a date/],
    [{ defaultTimeZone: "New York" }, /defaultTimeZone: must be an IANA time zone/],
    [{ destinations: { allow: [] } }, /destinations\.allow: /],
    [{ destinations: { allow: ["usa"] } }, /destinations\.allow\.0: must be a country/],
    [{ destinations: { allow: ["*"], deny: ["1900"] } }, /destinations\.deny\.0: must be a prefix/],
    [{ expireAfterHour: 1 }, /plan: must not have "expireAfterHour"/],
    [{ retentionDays: 34 }, /retentionDays: must be at least 28 days more than expireAfterHours/],
  ])("with %j is refused: %s", inSlowTier, (more, message) => {
    expect(() => parsed(more)).toThrow(message);
  });

  it("has prefixes of a former numbering mean today's numbers, as calls have these", () => {
    const destinations = { allow: ["*"], deny: ["+52155", "+1900"] };
    const regions = { monterrey: { prefixes: ["+52181"], callingHours: "us-federal" } };
    const renumbered = parsed({ destinations, regions });
    const mayBe = (phone_number: string) => mayBeCalled({ phone_number }, renumbered);
    expect(["+525512345678", "+528112345678"].map(mayBe)).toEqual([false, true]);
    const route = findAgentRoute("any", renumbered);
    if (route === undefined) throw new Error("no route");
    const schedule = createSchedule(createRouteTable(renumbered), () => undefined);
    const request = { phone_number: "+528112345678", agent_id: "any" };
    const night = Date.parse("2026-06-01T09:00Z");
    expect(schedule.closedBy(request, route, night)).toBe("regions.monterrey");
  });

  it("asks for a webhook's secret unless its host is this machine", () => {
    const to = (url: string) => parsed({ agents: { "*": { provider: "webhook", url } } });
    expect(missingSecrets(to("https://example.com"), {})).toEqual(["WEBHOOK_SECRET"]);
    expect(missingSecrets(to("https://127.0.0.1.example.com"), {})).toEqual(["WEBHOOK_SECRET"]);
    expect(missingSecrets(to("https://example.com"), { WEBHOOK_SECRET: "x" })).toEqual([]);
    for (const host of ["127.0.0.1:9900", "localhost", "[::1]:1"]) {
      expect(missingSecrets(to(`http://${host}/dial`), {})).toEqual([]);
    }
  });

  it("asks for the secret of each receiver of events unless its host is this machine", () => {
    const url = "https://example.com/events";
    const told = parsed({ events: { "*": { url }, "crm-eu": { url }, "*shop": { url } } });
    expect(missingSecrets(told, { WEBHOOK_SECRET: "x" })).toEqual([
      "EVENTS_SECRET",
      "EVENTS_CRM_EU_SECRET",
      "EVENTS__SHOP_SECRET",
    ]);
    for (const local of ["http://127.0.0.1:9", "http://localhost/events", "http://[::1]:9/"]) {
      const { events } = parsed({ events: { crm: { url: local } } });
      expect(missingSecrets({ ...parsed(), events }, { WEBHOOK_SECRET: "x" })).toEqual([]);
    }
  });

  it.each([
    [
      { "*": { url: "http://example.com/events" } },
      /events\.\*\.url: must be https; plain http only/,
    ],
    [{ crm: { url: "http://127.0.0.1.example.com/" } }, /events\.crm\.url: must be https/],
    [{ crm: { url: "https://ada:x@example.com/" } }, /events\.crm\.url: must not hold a user/],
    [{ crm: { url: "events" } }, /events\.crm\.url: must be a URL/],
    [{ crm: {} }, /events\.crm\.url/],
    [{}, /events: must name a client, or \*/],
    [
      { "crm-eu": { url: "https://a.example" }, crm_eu: { url: "https://b.example" } },
      /events\.crm_eu: has the secret EVENTS_CRM_EU_SECRET, as crm-eu has/,
    ],
    [{ crm: { url: "https://a.example", types: ["call.later"] } }, /events\.crm\.types\.0/],
    [{ crm: { url: "https://a.example", types: [] } }, /events\.crm\.types/],
    [{ crm: { url: "https://a.example", retries: 3 } }, /events\.crm: .*retries/],
  ])("with the receivers %j is refused: %s", (events, message) => {
    expect(() => parsed({ events })).toThrow(message);
  });

  it.each(["events", "events-crm"])(
    "has no account %s, whose secrets might be those of a receiver",
    (name) => {
      const providers = { [name]: { type: "webhook" } };
      expect(() => parsed({ providers })).toThrow(/must not begin with events/);
    },
  );

  it("limits a carrier's account to one call a second, unless the plan says otherwise", () => {
    const agents = {
      carrier: { provider: "twilio", from: "+12025550100", stream: "wss://example.com/" },
      own: { provider: "webhook", url: "https://example.com/dial" },
    };
    const paceOf = (agent: string, providers = {}) => {
      const paced = parsed({ agents, providers });
      const route = findAgentRoute(agent, paced);
      return route && createRouteTable(paced).account(route).pace?.intervalUs;
    };
    expect(paceOf("carrier")).toBe(1_000_000);
    expect(paceOf("carrier", { twilio: { concurrency: 5 } })).toBe(1_000_000);
    expect(paceOf("carrier", { twilio: { callsPerSecond: 10 } })).toBe(100_000);
    expect(paceOf("own")).toBeUndefined();
  });

  it("names secrets that no header could carry", () => {
    const agents = { "*": { provider: "vapi", agent: "asst_9", from: "phone_1" } };
    const keyed = parsed({ agents });
    for (const VAPI_API_KEY of ["key\n", "a key", "key\u200b", "clé"]) {
      expect(malformedSecrets(keyed, { VAPI_API_KEY })).toEqual(["VAPI_API_KEY"]);
    }
    expect(malformedSecrets(keyed, { VAPI_API_KEY: "k-e_y.1+/=" })).toEqual([]);
  });

  it("has several accounts of one provider, each with its own secrets and limits", () => {
    const url = "https://example.com/dial";
    const accounts = parsed({
      agents: { "*": { provider: "webhook", url }, eu: { provider: "hook-eu", url } },
      providers: { "hook-eu": { type: "webhook", timeoutSeconds: 5 } },
    });
    const [all, eu] = [findAgentRoute("x", accounts), findAgentRoute("eu", accounts)];
    expect(eu).toEqual({ account: "hook-eu", provider: "webhook", url });
    expect(missingSecrets(accounts, {})).toEqual(["WEBHOOK_SECRET", "HOOK_EU_SECRET"]);
    expect(
      [all, eu].map((route) => route && createRouteTable(accounts).account(route).timeoutSeconds),
    ).toEqual([30, 5]);
    expect([all, eu].map((route) => route && accountNameOf(route))).toEqual([
      "webhook:https://example.com",
      "hook-eu:https://example.com",
    ]);
  });

  it("routes an agent to its own route, and any other to *", () => {
    const own = { provider: "webhook", url: "https://example.com/own" } as const;
    const both = parsed({ agents: { ...plan.agents, own } });
    expect(findAgentRoute("own", both)).toEqual(routeFrom("webhook", own));
    expect(findAgentRoute("other", both)).toEqual(routeFrom("webhook", plan.agents["*"]));
    expect(findAgentRoute("constructor", parsed({ agents: { own } }))).toBeUndefined();
    expect(findAgentRoute("__proto__", parsed({ agents: { own } }))).toBeUndefined();
  });

  it.each([
    [{ allow: ["US"] }, "+12025550123", true],
    [{ allow: ["US"] }, "+18005550100", true],
    [{ allow: ["US"] }, "+15551234567", true],
    [{ allow: ["US"] }, "+14165550123", false],
    [{ allow: ["US"] }, "+18765550123", false],
    [{ allow: ["US"] }, "+19005550123", false],
    [{ allow: ["US"] }, "+442071838750", false],
    [{ allow: ["US", "GB"] }, "+447700900000", true],
    [{ allow: ["*"] }, "+33123456789", true],
    [{ allow: ["*"] }, "+881612345678", false],
    [{ allow: ["*"], allowServices: ["satellite"] }, "+881612345678", true],
    [{ allow: ["*"], allowServices: ["satellite"] }, "+870773123456", true],
    [{ allow: ["*"], allowServices: ["premium", "international"] }, "+870773123456", false],
    [{ allow: ["US"], allowServices: ["satellite"] }, "+881612345678", false],
    [{ allow: ["*"] }, "+80012345678", false],
    [{ allow: ["*"], allowServices: ["international"] }, "+80012345678", true],
    [{ allow: ["*"] }, "+979123456789", false],
    [{ allow: ["*"], allowServices: ["premium"] }, "+19005550123", true],
    [{ allow: ["*"] }, "+449098790123", false],
    [{ allow: ["*"] }, "+33899123456", false],
    [{ allow: ["*"] }, "+499001234567", false],
    [{ allow: ["*"] }, "+39899123456", false],
    [{ allow: ["*"], deny: ["CU"] }, "+5351234567", false],
    [{ allow: ["*"], deny: ["CU"] }, "+12025550123", true],
    [{ allow: ["*"], deny: ["CU"], allowServices: ["satellite"] }, "+881612345678", true],
  ])("with destinations %j and the number %s: %s", (destinations, phone_number, permitted) => {
    expect(mayBeCalled({ phone_number }, parsed({ destinations }))).toBe(permitted);
  });
});
