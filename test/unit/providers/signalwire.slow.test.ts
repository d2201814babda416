import { afterEach, describe, expect, it } from "vitest";
import { routeKinds } from "#shared/providers/routes.ts";
import { describeProvider } from "#test/contracts/provider.ts";
import {
  signalwireAnswers,
  signalwireAsTwilio,
  signalwireDirections,
  signalwireErrors,
  signalwireLookUps,
  signalwireResults,
} from "#test/support/provider-answers/signalwire.ts";
import { aCallOfText, type Pair, startPair } from "#test/support/stand-ins.ts";

const answerUrl = "https://voice.example.com/laml";

describeProvider({
  type: "signalwire",
  fields: { from: "+12025550100", answerUrl, machineDetection: "Enable", ringSeconds: 20 },
  secrets: { SIGNALWIRE_PROJECT_ID: "project-1", SIGNALWIRE_API_TOKEN: "PT_5" },
  read: (text) => Object.fromEntries(new URLSearchParams(text)),
  requests: ({ id, request }) => [
    {
      path: "/api/laml/2010-04-01/Accounts/project-1/Calls.json",
      headers: {
        authorization: `Basic ${Buffer.from("project-1:PT_5").toString("base64")}`,
        "content-type": "application/x-www-form-urlencoded",
      },
      body: {
        To: request.phone_number,
        From: "+12025550100",
        Url: `${answerUrl}?call_id=${id}`,
        MachineDetection: "Enable",
        Timeout: "20",
      },
    },
  ],
  fixtures: [...signalwireAnswers, ...signalwireAsTwilio, ...signalwireErrors],
  lookUps: [...signalwireLookUps, signalwireDirections],
  results: signalwireResults,
});

describe("signalwire", () => {
  const problemsOf = (fields: object, baseUrl?: string) => {
    const route = { account: "signalwire", from: "+12025550100", answerUrl, ...fields };
    const parsed = routeKinds.parseRoute(route, { provider: "signalwire", baseUrl });
    return "issues" in parsed ? parsed.issues.map(({ message }) => message).join() : "";
  };
  const space = "https://example.signalwire.com";

  it.each([
    [{}, undefined, /^is required: set the account's baseUrl/],
    [{}, `${space}/api/laml`, /^must be the space's address alone/],
    [{}, "http://example.signalwire.com", /https/],
    [{ stream: "wss://voice.example.com/calls" }, space, /^must have either stream or answerUrl/],
    [{ callReason: "Your appointment" }, space, /^must not have "callReason"/],
    [{ apiKey: "SK1" }, space, /^must not have "apiKey"/],
  ])("refuses the route's %j at %s", (fields, baseUrl, problem) => {
    expect(problemsOf(fields, baseUrl)).toMatch(problem);
  });

  it("takes the address of a space", () => {
    expect(problemsOf({}, space)).toBe("");
  });

  let pair: Pair | undefined;
  afterEach(async () => pair?.standIn.close());

  it.each(["signalwire", "twilio"])("finds a call of %s on a second page of 500", async (type) => {
    pair = await startPair(type);
    const { standIn, dial, lookUp } = pair;
    const call = aCallOfText();
    expect(await dial({ call })).toMatchObject({ kind: "placed" });
    const id = standIn.calls.placed[0]?.id;
    for (let n = 0; n < 600; n++) {
      const number = `+1303555${String(n).padStart(4, "0")}`;
      const request = { From: "+12025550100" };
      standIn.calls.place({ id: `CA${n}`, number, ourId: undefined, request });
    }
    expect(await lookUp(call)).toEqual({ by: "number", providerCallIds: [id] });
    expect(standIn.problems).toEqual([]);
    expect(standIn.requests.filter(({ query }) => query.get("Page") === "1")).not.toEqual([]);
  });
});
