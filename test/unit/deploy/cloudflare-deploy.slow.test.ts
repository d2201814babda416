import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { checkService } from "../../../infra/cli/deploy/check-service.ts";
import {
  deployToCloudflare,
  describeDeployment,
} from "../../../infra/cli/deploy/cloudflare-deploy.ts";
import { destroyOnCloudflare } from "../../../infra/cli/deploy/cloudflare-destroy.ts";
import { createWebhookSecret } from "../../../infra/cli/deploy/secret-commands.ts";
import { targetOf } from "../../../infra/cli/deploy/cloudflare-target.ts";
import { createCloudflareSecretStore } from "../../../infra/cli/deploy/cloudflare-secrets.ts";
import dialPlan from "../../../infra/dial-plan.json" with { type: "json" };
import { findCaller, parseTokens } from "../../../shared/settings/tokens.ts";
import {
  createFakeAccount,
  createFakeTools,
  type FakeAccount,
  type FakeTools,
  Killed,
} from "../../support/fake-wrangler.ts";
import { routeFields } from "../../support/stand-ins.ts";
import { inSlowTier } from "../../support/per-tier.ts";

let account: FakeAccount;
let tools: FakeTools;
beforeEach(() => {
  account = createFakeAccount();
  tools = createFakeTools(account);
});

const deploy = (options = {}, by = tools) => deployToCloudflare(by, dialPlan, options);
const secretOf = (worker: string, name: string) =>
  account.secrets.get(`outbound-calls-${worker}`)?.get(name);
const tokenIn = (printed: string[]) => /oc_\w+/.exec(printed.join("\n"))?.[0] ?? "";

/** Asserts that the account holds one whole service, and that its first token lets somebody in. */
function expectWhole(token: string) {
  expect([...account.queues].map(([name, one]) => [name, one.retentionSeconds])).toEqual([
    ["outbound-calls", 1_209_600],
    ["outbound-calls-dead", 1_209_600],
    ["outbound-calls-events", 1_209_600],
    ["outbound-calls-events-dead", 1_209_600],
  ]);
  expect([...account.databases]).toEqual(["outbound-calls"]);
  expect([...account.buckets].map(([name, rules]) => [name, [...rules.keys()]])).toEqual([
    ["outbound-calls", ["expire-messages", "expire-dead-letters"]],
  ]);
  expect([...account.migrated]).toEqual(["functions/dialer/wrangler.toml"]);
  expect(secretOf("api", "HASH_KEY")).toMatch(/^[0-9a-f]{64}$/);
  expect(secretOf("dialer", "HASH_KEY")).toBe(secretOf("api", "HASH_KEY"));
  for (const worker of ["dialer", "api"]) {
    expect(secretOf(worker, "WEBHOOK_SECRET")).toBe("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3");
  }
  const tokens = parseTokens(`[${secretOf("api", "API_TOKENS_FIRST")}]`);
  expect(findCaller(token, tokens, 0)).toMatchObject({ tokenId: "first" });
  expect(account.deployed.slice(-2)).toEqual(["functions/dialer/wrangler.toml", "wrangler.toml"]);
}

describe("npm run deploy:cloudflare", () => {
  it("gives the API the secrets of webhooks, which verify callbacks, and no other provider's", async () => {
    const secrets = {
      HOOK_EU_SECRET: createWebhookSecret(),
      LIVEKIT_API_KEY: "key",
      LIVEKIT_API_SECRET: "livekit-secret",
    };
    tools.environment = secrets;
    const plan = {
      ...dialPlan,
      agents: {
        a: { provider: "hook-eu", url: "https://example.com/dial" },
        b: { provider: "livekit", agent: "caller", trunk: "ST_9" },
      },
      providers: {
        "hook-eu": { type: "webhook" },
        livekit: { baseUrl: "https://x.livekit.cloud" },
      },
    };
    await deployToCloudflare(tools, plan, {});
    const namesOf = (worker: string) =>
      Object.keys(secrets).filter((name) => secretOf(worker, name) !== undefined);
    expect([namesOf("dialer"), namesOf("api")]).toEqual([Object.keys(secrets), ["HOOK_EU_SECRET"]]);
  });

  it("refuses a webhook whose account is named so that its secret looks like another type's", async () => {
    const plan = {
      ...dialPlan,
      agents: { a: { provider: "my-api", url: "https://example.com/dial" } },
      providers: { "my-api": { type: "webhook" } },
    };
    await expect(deployToCloudflare(tools, plan, {})).rejects.toThrow(/MY_API_SECRET looks like/);
    expect(tools.changes()).toEqual([]);
  });

  it("sets the webhook's secret again for both Workers where the API lacks it", async () => {
    await deploy();
    account.secrets.get("outbound-calls-api")?.delete("WEBHOOK_SECRET");
    const again = createFakeTools(account);
    again.environment = {};
    await expect(deploy({}, again)).rejects.toThrow(/needs WEBHOOK_SECRET/);
    const WEBHOOK_SECRET = createWebhookSecret();
    again.environment = { WEBHOOK_SECRET };
    await deploy({}, again);
    expect(["dialer", "api"].map((one) => secretOf(one, "WEBHOOK_SECRET"))).toEqual([
      WEBHOOK_SECRET,
      WEBHOOK_SECRET,
    ]);
  });

  it("gives the dialer alone the secret of a receiver of events", async () => {
    const EVENTS_SECRET = `${tools.environment["WEBHOOK_SECRET"]},${createWebhookSecret()}`;
    tools.environment = { ...tools.environment, EVENTS_SECRET };
    const told = { events: { "*": { url: "https://example.com/events" } } };
    await deployToCloudflare(tools, { ...dialPlan, ...told }, {});
    expect(secretOf("dialer", "EVENTS_SECRET")).toBe(EVENTS_SECRET);
    expect(secretOf("api", "EVENTS_SECRET")).toBeUndefined();
  });

  it("brings a whole service into an empty account", async () => {
    await deploy();
    expectWhole(tokenIn(tools.printed));
    expect(tools.printed.at(-1)).toContain("curl -i https://outbound-calls-api.ada.workers.dev/v1");
    expect(tools.printed.at(-1)).toContain(
      "GET https://outbound-calls-api.ada.workers.dev/readyz must answer 200",
    );
  });

  it("says no secret but HASH_KEY and the first token, once, and passes secrets on stdin alone", async () => {
    await deploy();
    const printed = tools.printed.join("\n");
    const words = tools.ran.map((one) => one.words).join("\n");
    for (const secrets of account.secrets.values()) {
      for (const [name, value] of secrets) {
        expect(printed.split(value)).toHaveLength(name === "HASH_KEY" ? 2 : 1);
        expect(words).not.toContain(value);
      }
    }
    expect(words).not.toContain("oc_");
    expect(printed.match(/oc_\w+/g)).toHaveLength(1);
  });

  it("creates nothing and overwrites no secret when it is run again", async () => {
    await deploy();
    account.ledgerIsUsed = true;
    const again = createFakeTools(account);
    await deploy({}, again);
    expect(again.changes()).toEqual([
      "d1 migrations apply LEDGER --remote --config functions/dialer/wrangler.toml",
      "deploy --config functions/dialer/wrangler.toml",
      "deploy --config wrangler.toml",
    ]);
    expect(tokenIn(again.printed)).toBe("");
    expectWhole(tokenIn(tools.printed));
  });

  it("shows the HASH_KEY that it makes once, and neither one that is given nor where its output is kept", async () => {
    await deploy();
    const key = secretOf("api", "HASH_KEY") ?? "";
    const said = tools.printed.join("\n");
    expect(said).toContain(`HASH_KEY, shown only now: ${key}\nIt belongs in a safe`);
    for (const environment of [{ HASH_KEY: "ab".repeat(32) }, { CI: "true" }]) {
      account = createFakeAccount();
      const others = createFakeTools(account);
      Object.assign(others.environment, environment);
      await deploy({}, others);
      expect(others.printed.join("\n")).not.toContain(secretOf("api", "HASH_KEY"));
      expect(others.printed.join("\n")).not.toContain("shown only now: " + "ab".repeat(32));
    }
  });

  it.each([true, false])(
    "goes on after a kill at any step, with one HASH_KEY (the step itself done: %s)",
    async (isDone) => {
      await deploy();
      const steps = tools.changes().length;
      expect(steps).toBeGreaterThanOrEqual(11);
      for (let changes = 1; changes <= steps; changes += 1) {
        account = createFakeAccount();
        const first = createFakeTools(account);
        first.killedAt = { changes, isDone };
        await expect(deploy({}, first)).rejects.toThrow(Killed);
        const second = createFakeTools(account);
        await deploy({}, second);
        expectWhole(tokenIn(second.printed) || tokenIn(first.printed));
      }
    },
  );

  it("tells both Workers the service's address where the plan asks for results, and keeps another", async () => {
    await deploy();
    expect(secretOf("api", "PUBLIC_URL")).toBeUndefined();
    const plan = { ...dialPlan, results: {} };
    await deployToCloudflare(tools, plan, {});
    const url = "https://outbound-calls-api.ada.workers.dev";
    expect([secretOf("api", "PUBLIC_URL"), secretOf("dialer", "PUBLIC_URL")]).toEqual([url, url]);
    for (const worker of ["api", "dialer"]) {
      account.secrets.get(`outbound-calls-${worker}`)?.set("PUBLIC_URL", "https://calls.example");
    }
    await deployToCloudflare(tools, plan, {});
    expect(secretOf("api", "PUBLIC_URL")).toBe("https://calls.example");
  });

  it("makes a second deployment beside the first, which it leaves alone", inSlowTier, async () => {
    await deploy();
    const before = structuredClone(account.secrets);
    await deploy({ name: "staging" });
    expect([...account.queues.keys()].slice(4)).toEqual([
      "outbound-calls-staging",
      "outbound-calls-staging-dead",
      "outbound-calls-staging-events",
      "outbound-calls-staging-events-dead",
    ]);
    expect([...account.databases, ...account.buckets.keys()]).toEqual([
      "outbound-calls",
      "outbound-calls-staging",
      "outbound-calls",
      "outbound-calls-staging",
    ]);
    for (const [worker, secrets] of before) expect(account.secrets.get(worker)).toEqual(secrets);
    expect(secretOf("staging-api", "HASH_KEY")).toBe(secretOf("staging-dialer", "HASH_KEY"));
    expect(secretOf("staging-api", "HASH_KEY")).not.toBe(secretOf("api", "HASH_KEY"));
    const folder = "dist/deploy/outbound-calls-staging";
    const { main, assets } = JSON.parse(await readFile(`${folder}/api.json`, "utf8"));
    const found = [main, assets.directory].map((path: string) => join(folder, path));
    expect(found).toEqual(["functions/api/cloudflare.ts", "functions/api/generated/served"]);
    for (const name of ["dead", "events", "calls-events"]) {
      await expect(deploy({ name })).rejects.toThrow(/--name/);
    }
  });

  it("finds the jurisdiction of an earlier run again", async () => {
    await deploy({ jurisdiction: "eu", location: "weur" });
    expect(tools.changes()).toContain("d1 create outbound-calls --jurisdiction eu");
    const again = createFakeTools(account);
    await deploy({}, again);
    expect([...account.buckets.keys()]).toEqual(["outbound-calls eu"]);
    expect(again.changes().at(-1)).toBe("deploy --config dist/deploy/outbound-calls/api.json");
  });

  it("changes nothing in a dry run", async () => {
    await describeDeployment(tools, dialPlan, {});
    expect(tools.changes()).toEqual([]);
    expect(tools.ran.every(({ words }) => words.startsWith("deploy --dry-run"))).toBe(true);
    expect(tools.printed.join("\n")).toContain("wrangler d1 create outbound-calls");
  });

  it("makes no token where its output is kept", async () => {
    tools.environment["CI"] = "true";
    await deploy();
    expect(tokenIn(tools.printed)).toBe("");
    expect(secretOf("api", "API_TOKENS_FIRST")).toBeUndefined();
  });
});

describe("npm run deploy:cloudflare says what to do, and changes nothing,", () => {
  it.each<[string, (account: FakeAccount) => unknown, RegExp]>([
    [
      "without a login",
      (one) => (one.loggedIn = false),
      /npx wrangler login.*CLOUDFLARE_API_TOKEN/,
    ],
    ["without R2", (one) => (one.hasR2 = false), /10042[^]*R2 is switched on once/],
  ])("%s", async (_, spoil, message) => {
    spoil(account);
    await expect(deploy()).rejects.toThrow(message);
    expect(tools.changes()).toEqual([]);
  });

  it("without a secret that the dial plan needs", async () => {
    tools.environment = {};
    await expect(deploy()).rejects.toThrow(/WEBHOOK_SECRET.*npm run secrets -- webhook/);
    expect(tools.changes()).toEqual([]);
  });

  it("without the secret of a receiver of events, or with one that is malformed", async () => {
    const told = { events: { crm: { url: "https://example.com/events" } } };
    const deploying = () => deployToCloudflare(tools, { ...dialPlan, ...told }, {});
    await expect(deploying()).rejects.toThrow(
      /needs EVENTS_CRM_SECRET.*npm run secrets -- webhook/,
    );
    for (const EVENTS_CRM_SECRET of ["whsec_short", `${tools.environment["WEBHOOK_SECRET"]},`]) {
      tools.environment = { ...tools.environment, EVENTS_CRM_SECRET };
      await expect(deploying()).rejects.toThrow(/EVENTS_CRM_SECRET must be whsec_/);
    }
    expect(tools.changes()).toEqual([]);
  });

  it("without the keys for Amazon Connect, as a Worker has no AWS role", async () => {
    const connect = { provider: "amazon-connect", ...routeFields["amazon-connect"] };
    const deploying = deployToCloudflare(tools, { ...dialPlan, agents: { "*": connect } }, {});
    await expect(deploying).rejects.toThrow(
      /AMAZON_CONNECT_ACCESS_KEY_ID, AMAZON_CONNECT_SECRET_ACCESS_KEY/,
    );
    expect(tools.changes()).toEqual([]);
  });

  it.each(["a secret", "whsec_short"])("with a secret that cannot be right: %s", async (secret) => {
    tools.environment = { WEBHOOK_SECRET: secret };
    await expect(deploy()).rejects.toThrow(/must be/);
    await expect(deploy()).rejects.not.toThrow(secret);
    expect(tools.changes()).toEqual([]);
  });

  it("with a dial plan that is wrong", async () => {
    await expect(deployToCloudflare(tools, {}, {})).rejects.toThrow(/^infra\/dial-plan.json: /);
    expect(tools.ran).toEqual([]);
  });
});

describe("npm run deploy:cloudflare stops", () => {
  it("without Workers Paid, whose queues keep messages for 14 days", async () => {
    account.isPaid = false;
    await expect(deploy()).rejects.toThrow(/Workers Paid/);
  });

  it("at a migration that fails, before any code is deployed", async () => {
    account.failsMigration = true;
    await expect(deploy()).rejects.toThrow(/Migration 0001_ledger.sql failed/);
    expect(account.deployed).toEqual([]);
    expect(account.secrets.size).toBe(0);
  });

  it("where a ledger in use has lost its HASH_KEY, and takes the old one from the environment", async () => {
    await deploy();
    account.ledgerIsUsed = true;
    const old = secretOf("dialer", "HASH_KEY");
    account.secrets.get("outbound-calls-api")?.delete("HASH_KEY");
    await expect(deploy()).rejects.toThrow(/outbound-calls-api lost its HASH_KEY/);
    expect(secretOf("dialer", "HASH_KEY")).toBe(old);
    tools.environment["HASH_KEY"] = old;
    await deploy();
    expect(secretOf("api", "HASH_KEY")).toBe(old);
  });

  it.each([
    [500, 401, /healthz answered 500/],
    [200, 200, /answered 200 instead of 401/],
  ])("loudly where the service answers %i and %i", async (health, withoutToken, message) => {
    tools.answers = { health, withoutToken };
    const looks = { pauseMs: 1, looks: 2 };
    await expect(checkService(tools, "https://a.example", looks)).rejects.toThrow(message);
  });
});

describe("npm run destroy:cloudflare", () => {
  it("asks for --yes, and then keeps the database and the bucket", async () => {
    await deploy();
    await expect(destroyOnCloudflare(tools, {})).rejects.toThrow(/--yes/);
    expect(account.queues.size).toBe(4);
    await destroyOnCloudflare(tools, { yes: true });
    await destroyOnCloudflare(tools, { yes: true }); // again, as after an interruption
    expect([account.queues.size, account.secrets.size]).toEqual([0, 0]);
    expect([...account.databases, ...account.buckets.keys()]).toHaveLength(2);
  });
});

describe("the secrets of a deployment on Cloudflare", () => {
  it("go to the Workers that read them", async () => {
    const store = createCloudflareSecretStore(tools, targetOf("staging"));
    await store.set({ HASH_KEY: "k", API_TOKENS_CRM: "{}", TWILIO_AUTH_TOKEN: "t" });
    expect(secretOf("staging-api", "API_TOKENS_CRM")).toBe("{}");
    expect(account.secrets.get("outbound-calls-staging-api")?.size).toBe(2);
    expect(account.secrets.get("outbound-calls-staging-dialer")?.size).toBe(2);
    await store.remove?.(["API_TOKENS_CRM"]);
    expect((await store.names()).toSorted()).toEqual(["HASH_KEY", "TWILIO_AUTH_TOKEN"]);
  });
});
