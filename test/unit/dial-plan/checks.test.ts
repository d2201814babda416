import { describe, expect, it } from "vitest";
import { readersOf } from "#infra/cli/deploy/secret-names.ts";
import { checkKeys, checkSecrets } from "#shared/dial-plan/checks.ts";
import { neededSecrets, readDialPlan } from "#test/support/plans.ts";
import { testPlan } from "#test/support/environment.ts";

const crm = { url: "https://crm.example.com/check" };
const sales = testPlan.agents.agent_sales;

const read = (checks: unknown, names?: unknown) =>
  readDialPlan({
    ...testPlan,
    agents: { agent_sales: names === undefined ? sales : { ...sales, checks: names } },
    checks,
  });

const problemsOf = (checks: unknown, names?: unknown) => {
  const answer = read(checks, names);
  if ("plan" in answer) return [];
  return answer.problems.map(({ path, message }) => `${path.map(String).join(".")}: ${message}`);
};

describe("the checks of a dial plan", () => {
  it("have defaults, and are named by agents", () => {
    const answer = read({ crm }, ["crm"]);
    if (!("plan" in answer)) throw new Error("refused");
    expect(answer.plan.checks).toEqual({
      crm: { ...crm, timeoutSeconds: 3, requestsPerSecond: 20, validSeconds: 60 },
    });
    expect(answer.plan.agents["agent_sales"]?.checks).toEqual(["crm"]);
  });

  it.each<{ checks: unknown; names?: unknown; place: string }>([
    { checks: {}, place: "checks: must name a check" },
    { checks: { CRM: crm }, place: "checks.CRM: must be a name" },
    { checks: { crm: { url: "http://crm.example.com" } }, place: "checks.crm.url: must be https" },
    { checks: { crm: { ...crm, timeoutSeconds: 11 } }, place: "checks.crm.timeoutSeconds: " },
    { checks: { crm: { ...crm, validSeconds: 4 } }, place: "checks.crm.validSeconds: " },
    { checks: { crm: { ...crm, validSeconds: 601 } }, place: "checks.crm.validSeconds: " },
    { checks: { crm: { ...crm, requestsPerSecond: 0 } }, place: "checks.crm.requestsPerSecond: " },
    { checks: { crm: { ...crm, timeout: 3 } }, place: "checks.crm: " },
    { checks: { crm }, names: [], place: "agents.agent_sales.checks: " },
    { checks: { crm }, names: ["a", "b", "c", "d"], place: "agents.agent_sales.checks: " },
    { checks: { crm }, names: ["crm", "crm"], place: "agents.agent_sales.checks: must name each" },
    {
      checks: { crm },
      names: ["crm", "other"],
      place: "agents.agent_sales.checks.1: must be one of the plan's checks",
    },
    {
      checks: undefined,
      names: ["constructor"],
      place: "agents.agent_sales.checks.0: must be one of the plan's checks",
    },
  ])("are refused with their place: $place", ({ checks, names, place }) => {
    const problems = problemsOf(checks, names);
    expect(problems.length).toBeGreaterThan(0);
    expect(problems[0]?.startsWith(place), problems[0]).toBe(true);
  });

  it("reserve the names of their secrets, which no account may use", () => {
    const answer = readDialPlan({ ...testPlan, providers: { "checks-crm": { type: "webhook" } } });
    expect("problems" in answer && answer.problems[0]?.message).toBe(
      "must not begin with events, checks, api-tokens or operator-tokens",
    );
  });

  it("need a secret each, but for those on this machine", () => {
    const checks = { "crm-eu": crm, local: { url: "http://127.0.0.1:9/check" } };
    const answer = read(checks);
    if (!("plan" in answer)) throw new Error("refused");
    expect(checkSecrets(answer.plan)).toEqual(["CHECKS_CRM_EU_SECRET"]);
    expect(neededSecrets(answer.plan, false)).toContain("CHECKS_CRM_EU_SECRET");
    expect(readersOf("CHECKS_CRM_EU_SECRET")).toEqual(["dialer"]);
    const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
    const keys = checkKeys(answer.plan, { CHECKS_CRM_EU_SECRET: `${secret},${secret}` });
    expect([keys.get("crm-eu")?.length, keys.get("local")?.length]).toEqual([2, 0]);
    expect(() => checkKeys(answer.plan, { CHECKS_CRM_EU_SECRET: "x" })).toThrow(
      "CHECKS_CRM_EU_SECRET must be whsec_",
    );
  });
});
