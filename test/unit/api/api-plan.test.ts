import { describe, expect, it } from "vitest";
import { createTestApi } from "#test/support/api.ts";
import { apiEnvironment, testPlan, tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";

/** Posts a batch under a plan. Resolves to the status and the errors of each call. */
async function post(plan: object, calls: object[], now = "2026-06-01T12:00Z") {
  const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify({ ...testPlan, ...plan }) };
  const { app, queue } = createTestApi({ environment, now: () => Date.parse(now) });
  const response = await app.request(
    "/v1/calls/batch",
    jsonRequest(
      tokens.crm,
      "POST",
      calls.map((call) => ({ agent_id: "agent_sales", ...call })),
    ),
  );
  const text = await response.text();
  const body: { errors?: { pointer: string; detail: string }[] } =
    text === "" ? {} : JSON.parse(text);
  const errors = (body.errors ?? []).map(({ pointer, detail }) => `${pointer}: ${detail}`);
  expect(queue.take()).toHaveLength(response.status === 201 ? 1 : 0);
  return [response.status, ...errors];
}

const nine = { default: { "mon-fri": ["09:00-17:00"] } };
const everywhere = { destinations: { allow: ["*"], allowServices: ["satellite"] } };
const satellite = { phone_number: "+881612345678" };
const newYork = { phone_number: "+12125550100" };

describe("acceptance", () => {
  it("accepts a call that must wait for its calling hours", async () => {
    expect(await post({ callingHours: nine }, [newYork], "2026-06-06T12:00Z")).toEqual([201]);
  });

  it("refuses an agent named *, whose calls nobody could pause or cancel by name", async () => {
    const agents = { "*": { provider: "webhook", url: "http://127.0.0.1:9/dial" } };
    const named = { ...newYork, agent_id: "agent_of_no_name" };
    expect(await post({ agents }, [named, { ...newYork, agent_id: "*" }])).toEqual([
      422,
      "/1/agent_id: must name one agent: * is the dial plan's word for all that it does not name",
    ]);
    expect(await post({ agents }, [named])).toEqual([201]);
  });

  it("asks for a timezone if neither the number nor the plan determines one", async () => {
    const plan = { ...everywhere, callingHours: nine };
    const missing =
      "/1/timezone: is required: the number implies no time zone, and the plan has no default";
    expect(await post(plan, [newYork, satellite])).toEqual([422, missing]);
    expect(await post(plan, [{ ...satellite, timezone: "Asia/Tokyo" }])).toEqual([201]);
    expect(await post({ ...plan, defaultTimeZone: "UTC" }, [satellite])).toEqual([201]);
    expect(await post(everywhere, [satellite])).toEqual([201]); // always open: no zone is needed
    // A blackout date needs a zone as well.
    expect(await post({ ...everywhere, blackoutDates: ["2026-12-25"] }, [satellite])).toEqual([
      422,
      missing.replace("/1", "/0"),
    ]);
  });

  it("refuses a call that could not be dialed before it expires, and names the rule", async () => {
    const plan = { callingHours: nine, expireAfterHours: 24 };
    const friday = "2026-06-05T22:00Z";
    const closedBy = (pointer: string, rule: string) =>
      `${pointer}: may not be called within 24 hours, when it would expire: closed by ${rule}`;
    expect(
      await post(plan, [newYork, { ...newYork, timezone: "America/New_York" }], friday),
    ).toEqual([
      422,
      closedBy("/0", "callingHours.default"),
      closedBy("/1", "callingHours.default"),
    ]);
    const dates = {
      expireAfterHours: 24,
      blackoutDates: ["2026-06-05", "2026-06-06", "2026-06-07"],
    };
    expect(await post(dates, [{ ...newYork, timezone: "America/New_York" }], friday)).toEqual([
      422,
      closedBy("/0", "blackoutDates"),
    ]);
    const [refused, tollFree] = await post(
      plan,
      [{ ...newYork, phone_number: "+18005550100" }],
      friday,
    );
    expect(refused).toBe(422);
    expect(tollFree).toMatch(
      /closed by callingHours.default, in \d\d time zones at once: send timezone$/,
    );
    for (const timezone of ["Asia/Tokyo", "+09:00"]) {
      expect(await post({ callingHours: nine }, [{ ...newYork, timezone }], friday)).toEqual([
        422,
        "/0/timezone: may not be called within 168 hours, when it would expire: closed by callingHours.default, in this time zone and in those of the number: correct the number or the timezone",
      ]);
    }
    expect(await post({ expireAfterHours: 24 }, [newYork], friday)).toEqual([201]);
  });

  it("refuses a context that the agent's provider could not carry whole, and says why", async () => {
    const from = "+12025550100";
    const plan = {
      agents: {
        streamed: { provider: "twilio", from, stream: "wss://example.com/" },
        answered: { provider: "twilio", from, answerUrl: "https://example.com/" },
        assisted: { provider: "vapi", agent: "asst_9", from: "phone_1" },
      },
    };
    const large = Object.fromEntries(
      Array.from({ length: 99 }, (_, n) => [`name_${n}`, "x".repeat(300)]),
    );
    const to = (agent_id: string, context: object) => ({ ...newYork, agent_id, context });
    expect(await post(plan, [to("assisted", large), to("streamed", { name: "Ada" })])).toEqual([
      201,
    ]);
    expect(
      await post(plan, [
        to("streamed", large),
        to("streamed", { call_id: "x" }),
        to("assisted", large),
        to("answered", { name: "Ada" }),
        to("answered", {}),
      ]),
    ).toEqual([
      422,
      expect.stringMatching(
        /^\/0\/context: is too large for Twilio: \d+ characters as TwiML, at most 4000$/,
      ),
      "/1/context: must not have the key call_id, which is the call's own",
      "/3/context: must be empty: this agent's answerUrl cannot carry it",
    ]);
  });

  it("accepts nothing with hours past the end of the table of time zones", async () => {
    expect(await post({ callingHours: nine }, [newYork], "2037-06-01T12:00Z")).toEqual([
      422,
      expect.stringContaining("closed by no_clock"),
    ]);
  });
});
