import { expect, it } from "vitest";
import { quiet } from "./directed.ts";
import type { Post, Scenario, Writing } from "./scenario.ts";
import { simulate } from "./simulate.ts";

const call = { agent: "plain", person: 0, bad: false } as const;
const posts = (["valid", "second"] as const).flatMap((token) =>
  [0, 700, 1300].map((atSeconds, n): Post => ({
    atSeconds,
    token,
    key: undefined,
    timing: { laterSeconds: 1_500, isUrgent: false },
    batch: [0, 1, 2].map((person) => ({ ...call, person: person + n })),
    call,
  })),
);
const many = (what: Writing["what"], more: Partial<Writing> = {}): Writing => ({
  atSeconds: 800,
  what,
  token: "valid",
  count: 130,
  which: 3,
  ...more,
});
const told = (token: "valid" | "second"): Writing => many("receivers", { token, count: 4 });
const restore = { toSeconds: 600, atSeconds: 1_200, confirmedSeconds: 1_300 };

/** Clients and operators who write as much as they may, in calm weather, so that each rule applies. */
const scenarios: Record<string, Partial<Scenario>> = {
  "orders, beside another client's": {
    writes: [many("orders"), many("orders", { token: "second", count: 20 })],
  },
  "receivers, beside another client's": { writes: [many("receivers"), told("second")] },
  "opt-outs and lists": { writes: [many("opt-outs", { which: 1 }), many("lists", { which: 2 })] },
  "orders and opt-outs, of which a restore loses what the ledger had": {
    writes: [many("orders"), many("opt-outs", { token: "second" })],
    restore,
  },
  "tokens and receivers, of which a restore loses what the ledger had": {
    writes: [many("tokens", { count: 40 }), told("valid")],
    restore,
  },
};

it.each(Object.entries(scenarios))(
  "keeps every promise beside many writes: %s",
  async (_, more) => {
    const report = await simulate({ ...quiet, seed: 7, posts, ...more });
    expect(report.violations).toEqual([]);
    expect(report.written).toBeGreaterThan(20);
    if (more.writes?.some(({ what }) => what === "receivers") === true) {
      expect(report.ownTold).toBeGreaterThan(0);
    }
  },
);
