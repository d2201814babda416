import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type PlanOnStandIns, startStandIns } from "#infra/local/provider-stand-ins.ts";
import { stateDirectoryOf } from "#infra/local/settings.ts";
import { missingSecrets, parseDialPlan } from "#test/support/plans.ts";
import type { Send } from "#shared/lib/http-client.ts";
import { createProviders } from "#shared/providers/providers.ts";
import { aCallOfText } from "#test/support/stand-ins.ts";

const plan = {
  agents: {
    agent_sales: { provider: "vapi-eu", agent: "asst_9", from: "phone_1" },
    agent_rooms: { provider: "livekit", agent: "caller", trunk: "ST_9" },
    "*": { provider: "webhook", url: "https://example.com/dial" },
  },
  providers: { "vapi-eu": { type: "vapi", callsPerSecond: 2 } },
  callingHours: { default: "always" },
  destinations: { allow: ["*"] },
};

describe("a local run", () => {
  it("has no calls in common with one that dials otherwise", () => {
    const directories = [
      {},
      { DIAL_PLAN: JSON.stringify(plan) },
      { DIAL_PLAN: JSON.stringify(plan), PROVIDER_STANDINS: "true" },
    ].map((given) => stateDirectoryOf(given, ".state"));
    expect(new Set(directories).size).toBe(3);
    expect(stateDirectoryOf({ STATE_DIR: "/tmp/own" }, ".state")).toBe("/tmp/own");
  });
});

describe("stand-ins of a local run", () => {
  const started: PlanOnStandIns[] = [];
  afterEach(async () => {
    for (const one of started.splice(0)) await one.close();
  });
  async function start(given: unknown, host = "127.0.0.1") {
    const lines: string[] = [];
    const one = await startStandIns(JSON.stringify(given), {
      host,
      print: (line) => lines.push(line),
    });
    started.push(one);
    return { ...one, lines };
  }

  it("take the place of every account that the plan dials through", async () => {
    const { plan: text, secrets, accounts, lines } = await start(plan);
    expect(accounts).toEqual(["vapi-eu", "livekit", "webhook"]);
    const parsed = parseDialPlan(undefined, { DIAL_PLAN: text });
    expect(parsed.providers["vapi-eu"]).toMatchObject({ type: "vapi", callsPerSecond: 2 });
    expect(missingSecrets(parsed, secrets)).toEqual([]);
    const routes = Object.values(parsed.agents);
    const options = { environment: secrets, fetch, now: Date.now, print: () => undefined };
    const providers = createProviders(options, routes);
    for (const route of routes) {
      const request = {
        call: aCallOfText(),
        attempt: 1,
        timeoutSeconds: 5,
        guarded: (own: Send) => own,
      };
      expect(await providers(route).dial(request, route)).toMatchObject({ kind: "placed" });
    }
    expect(lines[0]).toMatch(/^vapi-eu: stand-in of vapi: POST \/call \{"assistantId":"asst_9",/);
    expect(lines.at(-1)).toMatch(/^stand-in of webhook: POST \/dial .* answered 200$/);
    expect(lines.join()).not.toMatch(/2025550123|Ada/);
  });

  it("take the place of the accounts of a split's arms", async () => {
    const { agent_sales: agent_a } = plan.agents;
    const agents = { agent_a, agent_sales: { split: { agent_a: 1 } } };
    const { plan: text, accounts } = await start({ ...plan, agents, results: {} });
    expect(accounts).toEqual(["vapi-eu"]);
    const { splits } = parseDialPlan(undefined, { DIAL_PLAN: text });
    expect(Object.keys(splits)).toEqual(["agent_sales"]);
  });

  it("are refused where others could reach the service", async () => {
    await expect(start(plan, "0.0.0.0")).rejects.toThrow(
      "PROVIDER_STANDINS needs a service on 127.0.0.1, and this one is on 0.0.0.0.",
    );
  });

  it("are refused for a plan that dials through no provider, and for what is no plan", async () => {
    const simulated = { ...plan, agents: { "*": { provider: "simulator" } } };
    await expect(start(simulated)).rejects.toThrow("set DIAL_PLAN");
    await expect(start([])).rejects.toThrow("DIAL_PLAN is not a dial plan.");
  });

  it("are known to nothing that is deployed", async () => {
    for (const folder of ["functions", "shared"]) {
      const files = await readdir(folder, { recursive: true });
      for (const file of files.filter((name) => /\.tsx?$/.test(name))) {
        const text = await readFile(join(folder, file), "utf8");
        expect([file, /stand-ins|PROVIDER_STANDINS/.test(text)]).toEqual([file, false]);
      }
    }
  });
});
