import { describe, expect, it } from "vitest";
import type { SplitView } from "#shared/answers/answers.ts";
import { saySplit } from "#shared/answers/split-words.ts";

const armOf = (agent_id: string, more: Partial<SplitView["arms"][number]> = {}) => ({
  agent_id,
  weight: 50,
  ended: 1_570,
  answered: 1_000,
  completed: 800,
  answered_share: 0.6,
  completed_share: 0.5,
  missing: 0,
  ...more,
});
const split: SplitView = {
  agent_id: "agent_sales",
  since: "2026-06-01T10:00:00.000Z",
  detect_points: 5,
  size: 1_570,
  arms: [armOf("a"), armOf("b")],
  differs: [],
  verdict: null,
};
const nothing = { difference: 0, low: -0.01, high: 0.01 };

function verdictOf(completes: "more" | "fewer" | "not_shown", low: number, high: number) {
  const completed = { difference: (low + high) / 2, low, high };
  return {
    at: "2026-06-02T10:00:00.000Z",
    confidence: 0.95 as const,
    first: "a",
    arms: [{ agent_id: "b", answered: nothing, completed, completes }],
  };
}

describe("what is said of a split", () => {
  it.each([
    ["more", 0.0524, 0.3339, "b completes more calls than a, by 5.2 to 33.4 percentage points."],
    [
      "fewer",
      -0.3339,
      -0.0524,
      "b completes fewer calls than a, by 5.2 to 33.4 percentage points.",
    ],
    [
      "not_shown",
      -0.0381,
      0.1926,
      "No difference between b and a is shown: it lies in -3.8 to 19.3 percentage points.",
    ],
  ] as const)("is the verdict, once it is spoken: %s", (completes, low, high, sentence) => {
    expect(saySplit({ ...split, verdict: verdictOf(completes, low, high) })).toEqual([sentence]);
  });

  it("is how many calls are missing before, and no difference", () => {
    const arms = [armOf("a"), armOf("b", { ended: 70, missing: 1_500 })];
    expect(saySplit({ ...split, arms, differs: ["callingHours", "provider"] })).toEqual([
      "The verdict comes with 1,570 ended calls of each arm: 1,500 of b are missing.",
      "The arms also differ in callingHours, provider.",
    ]);
    expect(saySplit({ ...split, since: null })[0]).toBe(
      "No call has come since the split was last changed.",
    );
    expect(saySplit(split)).toEqual([
      "The verdict comes with 1,570 ended calls of each arm: within a minute.",
    ]);
  });

  it("is that there is nothing to compare, where one arm has a weight", () => {
    const arms = [armOf("a"), armOf("b", { weight: 0 })];
    expect(saySplit({ ...split, arms })).toEqual([
      "One arm has a weight: there is nothing to compare.",
    ]);
  });
});
