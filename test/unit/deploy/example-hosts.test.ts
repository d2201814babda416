import { expect, it } from "vitest";
import { printRefusal, requireOwnHosts } from "#infra/cli/deploy/example-hosts.ts";
import dialPlan from "#infra/dial-plan.json" with { type: "json" };
import { deployedPlan } from "#test/support/deployed-plan.ts";
import { parseDialPlan } from "#test/support/plans.ts";

const require = (plan: object, names: string[] = []) =>
  requireOwnHosts(parseDialPlan(plan, {}), names);

it("refuses to deploy the plan of the clone, whose calls would be sent to example.com", () => {
  expect(() => require(dialPlan)).toThrow(
    "infra/dial-plan.json still names example.com in agents.*: set your own there (docs/dial-plan.md).",
  );
});

it("says so in a dry run", () => {
  const printed: string[] = [];
  for (const plan of [dialPlan, deployedPlan]) {
    printRefusal({ print: (line) => void printed.push(line) }, parseDialPlan(plan, {}));
  }
  expect(printed).toEqual([
    expect.stringMatching(/^Would be refused: .* still names example\.com/),
  ]);
});

it.each([
  ["example.com", { agents: { a: { provider: "webhook", url: "https://example.com/dial" } } }],
  ["hooks.example.org", { events: { crm: { url: "https://hooks.example.org/events" } } }],
  ["dnc.acme.example", { checks: { dnc: { url: "https://dnc.acme.example/ask" } } }],
  ["a.invalid", { checks: { dnc: { url: "https://a.invalid/" } } }],
  ["b.test.", { events: { "*": { url: "https://B.test./" } } }],
  [
    "example.net",
    {
      agents: { a: { provider: "vapi", agent: "a", from: "p" } },
      providers: { vapi: { baseUrl: "https://example.net" } },
    },
  ],
])("refuses to deploy a plan that names %s", (host, settings) => {
  expect(() => require({ ...deployedPlan, ...settings })).toThrow(`still names ${host} in `);
});

it("lets a plan with hosts of one's own be deployed, or one that a secret replaces", () => {
  require(deployedPlan);
  const events = { "*": { url: "https://myexample.com/test" } };
  require({ ...deployedPlan, events });
  require(dialPlan, ["HASH_KEY", "DIAL_PLAN"]);
});
