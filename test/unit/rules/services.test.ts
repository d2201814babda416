import { expect, it } from "vitest";
import { createResolver } from "#shared/rules/resolved-call.ts";
import { testPlan } from "#test/support/environment.ts";
import { createRouteTable, parseDialPlan } from "#test/support/plans.ts";

it("resolves the checks of a route to services, and one that the plan has lost to none that may be asked", () => {
  const checks = { crm: { url: "https://crm.example.com/", requestsPerSecond: 2 } };
  const agents = {
    agent_sales: { provider: "webhook", url: "https://a.example.com", checks: ["crm"] },
  };
  const plan = parseDialPlan({ ...testPlan, agents, providers: {}, checks, results: {} }, {});
  const resolver = createResolver(createRouteTable(plan), () => undefined);
  const of = { client: "crm", agentId: "agent_sales" };
  const target = resolver.find({ ...of, mode: "live" });
  if (target === undefined) throw new Error("the plan has no route");
  expect(target.services).toEqual([{ name: "check:crm", requestsPerSecond: 2 }]);
  const ofRow = resolver.along({ ...target.route, checks: ["crm", "lost"] }, of);
  expect(ofRow.services[1]).toEqual({ name: "check:lost", requestsPerSecond: 0 });
  expect(ofRow.breakers).toEqual([...ofRow.probed, "check:crm", "check:lost"]);
});
