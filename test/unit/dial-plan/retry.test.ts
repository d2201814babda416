import { describe, expect, it } from "vitest";
import { findRetry, findAgentRoute } from "#shared/dial-plan/dial-plan.ts";
import { parseDialPlan, readDialPlan } from "#test/support/plans.ts";
import { accountNameOf } from "#shared/calls/call-request.ts";

const twilio = { provider: "twilio", from: "+12025550100", answerUrl: "https://x.example/" };
const retry = { attempts: 3, within: "72h", after: { busy: "15m", no_answer: "3h" } };

function read(rule: object, { agent = twilio, more = {} }: { agent?: object; more?: object } = {}) {
  const own: object = { ...agent, retry: rule };
  return readDialPlan({
    agents: { a: own },
    providers: { livekit: { baseUrl: "https://rooms.example" } },
    callingHours: { default: "always" },
    destinations: { allow: ["US"] },
    results: {},
    ...more,
  });
}

function problemsOf(...args: Parameters<typeof read>): string[] {
  const told = read(...args);
  if (!("problems" in told)) return [];
  return told.problems.map(({ path, message }) => `${path.join(".")}: ${message}`);
}

describe("an agent's retry", () => {
  it("is read into durations, and is no part of the route that rows store", () => {
    const told = read({ ...retry, spread: true });
    if ("problems" in told) throw new Error("it is right");
    expect(findRetry("a", told.plan)).toEqual({
      attempts: 3,
      within: 259_200_000,
      after: { busy: 900_000, no_answer: 10_800_000 },
      spread: true,
    });
    const route = findAgentRoute("a", told.plan);
    expect(route).not.toHaveProperty("retry");
    expect(route && accountNameOf(route)).toBe("twilio");
  });

  it("is that of * for agents that the plan does not name alone", () => {
    const told = readDialPlan({
      agents: { "*": { ...twilio, retry }, once: twilio, constructor: twilio },
      callingHours: { default: "always" },
      destinations: { allow: ["US"] },
      results: {},
    });
    if ("problems" in told) throw new Error("it is right");
    expect(findRetry("other", told.plan)?.attempts).toBe(3);
    expect(findRetry("once", told.plan)).toBeUndefined();
    expect(findRetry("constructor", told.plan)).toBeUndefined();
  });

  it.each(["declined", "completed", "invalid", "blocked", "unknown", "live", "no-answer"])(
    "is refused with its place where it has the key %s",
    (status) => {
      expect(problemsOf({ ...retry, after: { busy: "15m", [status]: "1h" } })).toEqual([
        `agents.a.retry.after: must not have "${status}"`,
      ]);
    },
  );

  it.each([
    [{ attempts: 1 }, "agents.a.retry.attempts: must be at least 2"],
    [{ attempts: 7 }, "agents.a.retry.attempts: must be at most 6"],
    [{ attempts: 2.5 }, "agents.a.retry.attempts: must be a whole number"],
    [{ within: "169h" }, "agents.a.retry.within: must be at most expireAfterHours"],
    [{ within: 72 }, 'agents.a.retry.within: must be a duration such as "15m", "3h" or "2d"'],
    [{ within: "-1h" }, 'agents.a.retry.within: must be a duration such as "15m", "3h" or "2d"'],
    [{ after: {} }, "agents.a.retry.after: must name a result"],
    [{ after: { busy: "4m" } }, "agents.a.retry.after.busy: must be at least 5m"],
    [{ after: { busy: "72h" } }, "agents.a.retry.after.busy: must be less than within"],
    [{ spread: "yes" }, "agents.a.retry.spread: must be true or false"],
    [{ delay: "5m" }, 'agents.a.retry: must not have "delay"'],
  ])("is refused with its place: %o", (wrong, problem) => {
    expect(problemsOf({ ...retry, ...wrong })).toEqual([problem]);
  });

  it("is sped up by RETRY_SPEED, which is refused unless every call goes to this machine", () => {
    const local = { provider: "webhook", url: "http://127.0.0.1:9/dial", retry };
    const parse = (agents: object, RETRY_SPEED: string) =>
      parseDialPlan(
        {
          agents,
          callingHours: { default: "always" },
          destinations: { allow: ["US"] },
          results: {},
        },
        { RETRY_SPEED },
      );
    expect(findRetry("a", parse({ a: local }, "300"))).toMatchObject({
      within: 864_000,
      after: { busy: 3_000, no_answer: 36_000 },
    });
    const far = { provider: "webhook", url: "https://example.com/dial" };
    for (const [agents, speed] of [
      [{ a: local, b: far }, "300"],
      [{ a: { ...twilio, retry } }, "300"],
      [{ a: local }, "0.5"],
      [{ a: local }, "fast"],
    ] as const) {
      expect(() => parse(agents, speed)).toThrow(/RETRY_SPEED/);
    }
  });

  it("is refused in a plan without results", () => {
    expect(problemsOf(retry, { more: { results: undefined } })).toEqual([
      "agents.a.retry: needs results in the plan, which report how a call ended",
    ]);
  });

  it.each([
    [twilio, "is a result that twilio does not report for this route"],
    [
      { provider: "livekit", agent: "caller", trunk: "ST_1" },
      "is a result that livekit does not report for this route",
    ],
    [{ provider: "vapi", agent: "x", from: "y" }, undefined],
    [{ ...twilio, machineDetection: "Enable" }, undefined],
    [{ provider: "webhook", url: "https://example.com/dial" }, undefined],
  ])(
    "is refused with its place after a result that the agent's provider cannot tell: %o",
    (agent, problem) => {
      const told = problemsOf({ ...retry, after: { voicemail: "20h" } }, { agent });
      expect(told).toEqual(
        problem === undefined ? [] : [`agents.a.retry.after.voicemail: ${problem}`],
      );
    },
  );
});
