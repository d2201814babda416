import { describe, expect, it } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import { describeProvider, sought } from "#test/contracts/provider.ts";
import { contextProblemOf, routeOf, startTestAdapter } from "#test/support/test-adapter.ts";
import { aCall } from "#test/support/calls.ts";
import { plivoAnswers, plivoLookUps } from "#test/support/provider-answers/plivo.ts";
import { plivoResults } from "#test/support/provider-results/plivo.ts";

const secrets = { PLIVO_AUTH_ID: "MA1", PLIVO_AUTH_TOKEN: "token_7" };
const answerUrl = "https://voice.example.com/xml?of=a";
const fields = { from: "+12025550100", answerUrl };
const calls = "/v1/Account/MA1/Call/";
const headers = {
  authorization: `Basic ${Buffer.from("MA1:token_7").toString("base64")}`,
  "content-type": "application/json",
};

/** Facts that the suites without and with options share. */
const plivo = (own: object = {}, options: object = {}) => ({
  type: "plivo",
  fields: { ...fields, ...own },
  secrets,
  requests: ({ id, request }: Call) => [
    {
      path: calls,
      headers,
      body: {
        from: "12025550100",
        to: request.phone_number.slice(1),
        answer_url: `${answerUrl}&call_id=${id}`,
        ...options,
      },
    },
  ],
  fixtures: plivoAnswers,
});

describeProvider({ ...plivo(), lookUps: plivoLookUps, results: plivoResults });

describeProvider({
  ...plivo(
    { machineDetection: "hangup", ringSeconds: 20 },
    { machine_detection: "hangup", ring_timeout: 20 },
  ),
  title: "plivo with options",
});

describe("plivo", () => {
  /** Starts a receiver that answers in turn, the last answer for ever, and points an adapter at it. */
  const start = (...answers: [status: number, body: unknown][]) =>
    startTestAdapter("plivo", fields, secrets, (_request, response, { length }) => {
      const [status, body] = answers[Math.min(length, answers.length) - 1] ?? [200, {}];
      response.writeHead(status).end(JSON.stringify(body));
    });
  const placed = { id: aCall().id, attempt: 1, providerCallId: "uuid-1" };
  const missing: [number, unknown] = [404, { api_id: "1", error: "not found" }];

  it("sees that a call without a record is in progress", async () => {
    const live = { call_uuid: "uuid-1", to: "12025550123", call_status: "in-progress" };
    const { provider, route, received } = await start(missing, [200, live]);
    expect(await provider.readResult?.(placed, route)).toMatchObject({ status: "live" });
    const paths = received.map(({ path }) => path);
    expect(paths).toEqual([`${calls}uuid-1/`, `${calls}uuid-1/?status=live`]);
  });

  it("knows nothing of a call that is in neither list", async () => {
    const { provider, route, received } = await start(missing);
    expect(await provider.readResult?.(placed, route)).toBeUndefined();
    expect(received).toHaveLength(2);
  });

  it("throws if too many calls are in progress to be read", async () => {
    const ids = Array.from({ length: 51 }, (_, n) => `uuid-${n}`);
    const { provider, route, received } = await start([200, { calls: ids }]);
    const found = provider.lookUp?.({ call: aCall(), attempt: 1, ...sought }, route);
    await expect(found).rejects.toThrow("too many calls in progress");
    expect(received).toHaveLength(1);
  });

  it("stops reading an endless list", async () => {
    const page = { meta: { next: `${calls}?offset=0` }, objects: [] };
    const { provider, route, received } = await start([200, { calls: [] }], [200, page]);
    const found = provider.lookUp?.({ call: aCall(), attempt: 1, ...sought }, route);
    await expect(found).rejects.toThrow("too long");
    expect(received).toHaveLength(26);
  });

  it.each([
    [
      "failed",
      [1000, 1020, 2010, 2020, 2030, 2040, 2050, 2060, 3030, 3070, 3080, 3090, 5020, 5030],
    ],
    ["invalid", [2000, 3050, 3120]],
    ["blocked", [3040, 3130, 3140]],
    ["busy", [3010, 3100]],
    ["no_answer", [3000, 6010]],
    ["declined", [3020, 3110]],
    // These can end a call at any time, so they tell nothing where nobody is known to have answered.
    ["unknown", [0, 1010, 2070, 4000, 4010, 4020, 4030, 5000, 5010, 6000, 6020, 9000, 9110]],
    [
      "unknown",
      [7011, 7012, 7013, 7014, 7022, 7023, 7024, 7032, 7033, 7034, 8011, 8012, 8013, 8014],
    ],
  ])("reads as %s an unanswered call with each of the hangup causes %j", async (status, codes) => {
    for (const hangup_cause_code of codes) {
      const record = { call_uuid: "uuid-1", answer_time: null, hangup_cause_code };
      const { provider, route } = await start([200, record]);
      const result = await provider.readResult?.(placed, route);
      expect(result).toMatchObject({ status, word: String(hangup_cause_code), seconds: null });
      expect(result).not.toHaveProperty("unmapped");
    }
  });

  it("carries no context", () => {
    const problemOf = (context: Record<string, string>) =>
      contextProblemOf(context, routeOf("plivo", fields));
    expect(problemOf({})).toBeUndefined();
    expect(problemOf({ name: "Ada" })).toMatch(/^must be empty: this agent's answerUrl/);
  });

  it.each([
    [{ from: "+12025550100" }, /./],
    [{ ...fields, answerUrl: "http://localhost/" }, /^must be an https URL/],
    [{ ...fields, from: "12025550100" }, /^must be an E.164 number$/],
    [{ ...fields, machineDetection: "false" }, /^must be one of /],
    [{ ...fields, ringSeconds: 0 }, /^must be at least /],
  ])("refuses the route %j", (more, problem) => {
    expect(() => routeOf("plivo", more)).toThrow(problem);
  });
});
