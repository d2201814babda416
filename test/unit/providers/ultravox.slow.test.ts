import { describe, expect, it } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import { routeKinds } from "#shared/providers/routes.ts";
import { describeProvider } from "#test/contracts/provider.ts";
import { ultravoxAnswers, ultravoxLookUps } from "#test/support/provider-answers/ultravox.ts";
import { ultravoxResults } from "#test/support/provider-results/ultravox.ts";

const headers = { "x-api-key": "aBCDef.123456", "content-type": "application/json" };
const secrets = { ULTRAVOX_API_KEY: "aBCDef.123456", ULTRAVOX_SIP_PASSWORD: "s3cret" };
const agent = "3c90c3cc-0d44-4b50-8888-8dd25736052a";
const fields = { agent, through: "twilio", from: "+12025550100" };

/** Facts that the suites of both media share. */
const ultravox = (own: object, mediumOf: (number: string) => object) => ({
  type: "ultravox",
  fields: { ...fields, ...own },
  secrets,
  requests: ({ id, request }: Call) => [
    {
      path: `/api/agents/${agent}/calls`,
      headers,
      body: {
        templateContext: request.context,
        metadata: { call_id: id, attempt: "1" },
        medium: mediumOf(request.phone_number),
      },
    },
  ],
  fixtures: ultravoxAnswers,
});

describeProvider({
  ...ultravox({}, (to) => ({ twilio: { outgoing: { to, from: "+12025550100" } } })),
  lookUps: ultravoxLookUps,
  results: ultravoxResults,
});

const sipHost = "example.pstn.twilio.com";
describeProvider({
  ...ultravox({ through: "sip", sipHost, sipUser: "caller" }, (number) => ({
    sip: {
      outgoing: {
        to: `sip:${number}@example.pstn.twilio.com`,
        from: "sip:+12025550100@example.pstn.twilio.com",
        username: "caller",
        password: "s3cret",
      },
    },
  })),
  title: "ultravox through a SIP trunk",
});

describe("ultravox", () => {
  const parsed = (more: object) =>
    routeKinds.parseRoute({ account: "ultravox", ...fields, ...more }, { provider: "ultravox" });

  it("needs a SIP password only where the trunk has a user", () => {
    const trunk = { through: "sip", sipHost: "example.com" };
    const names = [{}, trunk, { ...trunk, sipUser: "caller" }].map((more) => {
      const one = parsed(more);
      return "route" in one ? routeKinds.listSecrets(one.route, false) : [];
    });
    const key = "ULTRAVOX_API_KEY";
    expect(names).toEqual([[key], [key], [key, "ULTRAVOX_SIP_PASSWORD"]]);
  });

  it.each([
    [{ through: "sip" }],
    [{ sipHost: "example.com" }],
    [{ sipUser: "caller" }],
    [{ through: "sip", sipHost: "example.com/x" }],
    [{ through: "vonage" }],
  ])("is refused the route fields %j", (more) => {
    expect(parsed(more)).toHaveProperty("issues");
  });
});
