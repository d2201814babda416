import { createHmac } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { agentsBehind, agentsOf, chooseArm } from "#shared/dial-plan/splits.ts";
import { findAgentRoute } from "#shared/dial-plan/dial-plan.ts";
import { readDialPlan } from "#test/support/plans.ts";
import { readPageBlocks } from "#test/support/doc-commands.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const key = "0123456789abcdef0123";
const numberOf = (index: number) => `+1202555${String(index).padStart(4, "0")}`;
const armOf = (index: number, arms: Record<string, number>, name = "agent_any") =>
  chooseArm({ name, phoneNumber: numberOf(index) }, arms, key);
const numbers = Array.from({ length: 4_000 }, (_, index) => index);

const weights = fc.dictionary(
  fc.constantFrom("agent_a", "agent_b", "agent_ü", "constructor"),
  fc.integer({ min: 0, max: 100 }),
  { minKeys: 1, noNullPrototype: true },
);
const someWeight = weights.filter((arms) => Object.values(arms).some((weight) => weight > 0));

describe("the arm of a callee", () => {
  it("is one with a weight, and the same each time", () => {
    fc.assert(
      fc.property(someWeight, fc.nat(9_999), (arms, index) => {
        const arm = armOf(index, arms);
        expect(arms[arm]).toBeGreaterThan(0);
        expect(armOf(index, Object.fromEntries(Object.entries(arms).toReversed()))).toBe(arm);
      }),
    );
  });

  // A later version that chose otherwise would give callees of standing splits another arm.
  it("has the lowest of exponential draws, each at the rate of its weight", () => {
    const scoreOf = (arm: string, weight: number, phoneNumber: string) => {
      const text = JSON.stringify(["agent_any", arm, phoneNumber]);
      const digits = createHmac("sha256", key).update(text).digest("hex").slice(0, 12);
      return -Math.log((Number.parseInt(digits, 16) + 0.5) / 2 ** 48) / weight;
    };
    const arms = { a: 50, b: 30, c: 20 };
    for (const index of numbers.slice(0, 200)) {
      const scores = Object.entries(arms).map(([arm, weight]) => {
        return { arm, score: scoreOf(arm, weight, numberOf(index)) };
      });
      const lowest = scores.toSorted((one, other) => one.score - other.score)[0];
      expect(armOf(index, arms)).toBe(lowest?.arm);
    }
  });

  it("is none where no arm has a weight", () => {
    expect(() => armOf(1, { a: 0, b: 0 })).toThrow("no arm with a weight");
  });

  it("is drawn by the weights", inSlowTier, () => {
    const chosen = numbers.filter((index) => armOf(index, { a: 80, b: 20 }) === "b").length;
    // A fifth of 4,000 is expected, with a standard deviation of 25.
    expect(Math.abs(chosen - 800)).toBeLessThan(150);
  });

  it(
    "changes with the weights for those alone whom the arm that grows takes over",
    inSlowTier,
    () => {
      const before = { a: 80, b: 20 };
      const after = { a: 60, b: 40 };
      const moved = numbers.filter((index) => armOf(index, before) !== armOf(index, after));
      expect(moved.every((index) => armOf(index, after) === "b")).toBe(true);
      expect(Math.abs(moved.length - 800)).toBeLessThan(150);
    },
  );

  it("moves nobody between the arms that stay, when another one comes or goes", () => {
    for (const index of numbers.slice(0, 1_000)) {
      const arm = armOf(index, { a: 50, b: 30, c: 20 });
      if (arm !== "c") expect(armOf(index, { a: 50, b: 30 })).toBe(arm);
    }
  });

  it("of two splits are independent of each other", () => {
    const both = numbers.filter(
      (index) => armOf(index, { a: 1, b: 1 }) === "a" && armOf(index, { a: 1, b: 1 }, "x") === "a",
    );
    expect(Math.abs(both.length - 1_000)).toBeLessThan(170);
  });
});

const webhook = { provider: "webhook", url: "https://dialer.example/" };

function readAgents(agents: object, more: object = { results: {} }) {
  return readDialPlan({
    agents,
    ...more,
    callingHours: { default: "always" },
    destinations: { allow: ["US"] },
  });
}

function problemsOf(agents: object, more?: object): string[] {
  const read = readAgents(agents, more);
  if (!("problems" in read)) return [];
  return read.problems.map(({ path, message }) => `${path.join(".")}: ${message}`);
}

describe("a split in the plan", () => {
  const agents = {
    "*": webhook,
    agent_a: webhook,
    agent_b: webhook,
    agent_any: { split: { agent_a: 80, agent_b: 0 } },
  };

  it("has arms, and no route, though * has one", () => {
    const read = readAgents(agents);
    if ("problems" in read) throw new Error("it is right");
    const { plan } = read;
    expect(plan.splits).toEqual({
      agent_any: { arms: { agent_a: 80, agent_b: 0 }, detectPoints: 5 },
    });
    expect(findAgentRoute("agent_any", plan)).toBeUndefined();
    expect(agentsOf("agent_any", plan)).toEqual(["agent_a", "agent_b"]);
    expect(agentsBehind("agent_any", plan)).toEqual(["agent_a"]);
    expect(agentsOf("agent_a", plan)).toEqual(["agent_a"]);
    expect(agentsBehind("agent_a", plan)).toEqual(["agent_a"]);
  });

  it.each([
    [{ split: {} }, "agents.s.split: must have an arm whose weight is above 0"],
    [{ split: { agent_a: 0 } }, "agents.s.split: must have an arm whose weight is above 0"],
    [{ split: { agent_a: -1 } }, "agents.s.split.agent_a: must be at least 0"],
    [{ split: { agent_a: 0.5 } }, "agents.s.split.agent_a: must be a whole number"],
    [{ split: { gone: 1 } }, "agents.s.split.gone: is not an agent of the plan"],
    [{ split: { "*": 1 } }, "agents.s.split.*: is not an agent of the plan"],
    [{ split: { t: 1 } }, "agents.s.split.t: is a split itself"],
    [{ split: { s: 1 } }, "agents.s.split.s: is a split itself"],
    [
      { split: 5 },
      'agents.s.split: must be agents by weight, such as {"agent_a": 80, "agent_b": 20}',
    ],
    [
      { split: { agent_a: 1 }, callingHours: "default" },
      "agents.s.callingHours: is a field of a route: each arm has its own",
    ],
    [
      { split: { agent_a: 1 }, provider: "webhook" },
      "agents.s.provider: is a field of a route: each arm has its own",
    ],
    [{ ...webhook, detectPoints: 3 }, "agents.s.detectPoints: is for a split alone"],
    [{ url: "https://dialer.example/" }, "agents.s.provider: must be an account of providers"],
  ])("%j is refused with its place", (s, problem) => {
    const [found = "", ...others] = problemsOf({
      ...agents,
      t: { split: { agent_a: 1 } },
      s,
    });
    expect(found).toContain(problem);
    expect(others).toEqual([]);
  });

  it("needs results in the plan, as no call would count without", () => {
    expect(problemsOf(agents, {})).toEqual([
      "agents.agent_any.split: needs results in the plan, which report how a call ended",
    ]);
  });

  it("is as docs/splits.md has it", async () => {
    const [written = ""] = (await readPageBlocks("docs/splits.md"))("json");
    expect(readDialPlan(JSON.parse(written))).toHaveProperty("plan.splits.agent_sales");
  });

  it("may not be named *, nor have more than ten arms", () => {
    expect(problemsOf({ agent_a: webhook, "*": { split: { agent_a: 1 } } })).toEqual([
      "agents.*: must be a route: * cannot be a split",
    ]);
    const withArms = (count: number) => {
      const many = numbers.slice(0, count).map((index) => [`agent_${index}`, 1] as const);
      const named = Object.fromEntries(many.map(([name]) => [name, webhook]));
      return problemsOf({ ...named, s: { split: Object.fromEntries(many) } });
    };
    expect(withArms(10)).toEqual([]);
    expect(withArms(11)).toEqual(["agents.s.split: must have at most 10 arms"]);
  });
});
