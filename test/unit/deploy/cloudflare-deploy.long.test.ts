import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { checkService } from "#infra/cli/deploy/check-service.ts";
import { describeDeployment } from "#infra/cli/deploy/cloudflare-deploy.ts";
import { createEntry, createWebhookSecret } from "#infra/cli/deploy/secret-commands.ts";
import { targetOf } from "#infra/cli/deploy/cloudflare-target.ts";
import { createCloudflareSecretStore } from "#infra/cli/deploy/cloudflare-secrets.ts";
import { findCaller, parseTokens } from "#shared/settings/tokens.ts";
import type { FakeCloudflare } from "#test/support/cloudflare/account.ts";
import {
  expectWhole,
  type Person,
  useDeployment,
  webhookSecret,
} from "#test/support/cloudflare/deployment.ts";
import { deployedPlan } from "#test/support/deployed-plan.ts";
import { routeFields } from "#test/support/stand-ins.ts";

const deployment = useDeployment();
let account: FakeCloudflare;
let ada: Person;
beforeEach(() => {
  ({ account } = deployment());
  ada = deployment().person();
});

const secretsOf = (worker: string) => account.scripts.get(`outbound-calls-${worker}`)?.secrets;
const secretOf = (worker: string, name: string) => secretsOf(worker)?.get(name);
const tokenIn = (printed: string[]) => /oc_\w+/.exec(printed.join("\n"))?.[0] ?? "";
/** Sets a person's secrets, beside what wrangler needs. */
const give = (person: Person, secrets: Record<string, string>) => {
  person.tools.environment = { ...account.environment, ...secrets };
};
const changed = () => deployment().changes();
/** Has the ledger hold something. */
const useLedger = () =>
  account.databases
    .get("outbound-calls")
    ?.content.exec("INSERT INTO documents VALUES ('do-not-call', 'h', 'v', NULL, '{}')");

describe("npm run deploy:cloudflare", () => {
  it("gives the API the secrets of webhooks, which verify callbacks, and no other provider's", async () => {
    const secrets = {
      HOOK_EU_SECRET: createWebhookSecret(),
      LIVEKIT_API_KEY: "key",
      LIVEKIT_API_SECRET: "livekit-secret",
    };
    give(ada, secrets);
    const plan = {
      ...deployedPlan,
      agents: {
        a: { provider: "hook-eu", url: "https://acme.internal/dial" },
        b: { provider: "livekit", agent: "caller", trunk: "ST_9" },
      },
      providers: {
        "hook-eu": { type: "webhook" },
        livekit: { baseUrl: "https://x.livekit.cloud" },
      },
    };
    await ada.deploy({}, plan);
    const namesOf = (worker: string) =>
      Object.keys(secrets).filter((name) => secretOf(worker, name) !== undefined);
    expect([namesOf("dialer"), namesOf("api")]).toEqual([Object.keys(secrets), ["HOOK_EU_SECRET"]]);
  });

  it("refuses a webhook whose account is named so that its secret looks like another type's", async () => {
    const plan = {
      ...deployedPlan,
      agents: { a: { provider: "my-api", url: "https://acme.internal/dial" } },
      providers: { "my-api": { type: "webhook" } },
    };
    await expect(ada.deploy({}, plan)).rejects.toThrow(/MY_API_SECRET looks like/);
    expect(changed()).toEqual([]);
  });

  it("sets the webhook's secret again for both Workers where the API lacks it", async () => {
    await deployment().stand();
    secretsOf("api")?.delete("WEBHOOK_SECRET");
    give(ada, {});
    await expect(ada.deploy()).rejects.toThrow(/needs WEBHOOK_SECRET/);
    const WEBHOOK_SECRET = createWebhookSecret();
    give(ada, { WEBHOOK_SECRET });
    await ada.deploy();
    expect(["dialer", "api"].map((one) => secretOf(one, "WEBHOOK_SECRET"))).toEqual([
      WEBHOOK_SECRET,
      WEBHOOK_SECRET,
    ]);
  });

  it("gives the dialer alone the secret of a receiver of events", async () => {
    const EVENTS_SECRET = `${webhookSecret},${createWebhookSecret()}`;
    give(ada, { WEBHOOK_SECRET: webhookSecret, EVENTS_SECRET });
    const told = { events: { "*": { url: "https://acme.internal/events" } } };
    await ada.deploy({}, { ...deployedPlan, ...told });
    expect(secretOf("dialer", "EVENTS_SECRET")).toBe(EVENTS_SECRET);
    expect(secretOf("api", "EVENTS_SECRET")).toBeUndefined();
  });

  it("creates nothing and overwrites no secret when it is run again", async () => {
    await deployment().stand();
    useLedger();
    const before = structuredClone(secretsOf("api"));
    await ada.deploy();
    expect(ada.changes()).toEqual([
      "d1 migrations apply LEDGER --remote --config functions/dialer/wrangler.toml",
      "deploy --config functions/dialer/wrangler.toml",
      "deploy --config wrangler.toml",
    ]);
    expect(tokenIn(ada.printed)).toBe("");
    expect(changed().filter((one) => !/workers\/scripts|consumers/.test(one))).toEqual([]);
    expect(secretsOf("api")).toEqual(before);
    expectWhole(deployment());
  });

  it("shows the HASH_KEY that it makes once", async () => {
    await ada.deploy();
    const key = secretOf("api", "HASH_KEY") ?? "";
    const said = ada.printed.join("\n");
    expect(said).toContain(`HASH_KEY, shown only now: ${key}\nIt belongs in a safe`);
  });

  it.each([{ HASH_KEY: "ab".repeat(32) }, { CI: "true" }])(
    "shows no HASH_KEY that is given, nor one where its output is logged: %j",
    async (environment) => {
      give(ada, { WEBHOOK_SECRET: webhookSecret, ...environment });
      await ada.deploy();
      expect(ada.printed.join("\n")).not.toContain(secretOf("api", "HASH_KEY"));
      expect(ada.printed.join("\n")).not.toContain("shown only now: " + "ab".repeat(32));
    },
  );

  it("gives both Workers the service's address if the plan asks for results, and keeps another address", async () => {
    await deployment().stand();
    expect(secretOf("api", "PUBLIC_URL")).toBeUndefined();
    const plan = { ...deployedPlan, results: {} };
    await ada.deploy({}, plan);
    const url = "https://outbound-calls-api.ada.workers.dev";
    expect([secretOf("api", "PUBLIC_URL"), secretOf("dialer", "PUBLIC_URL")]).toEqual([url, url]);
    for (const worker of ["api", "dialer"]) {
      secretsOf(worker)?.set("PUBLIC_URL", "https://calls.example");
    }
    await ada.deploy({}, plan);
    expect(secretOf("api", "PUBLIC_URL")).toBe("https://calls.example");
  });

  it("makes a second deployment beside the first, which it leaves alone", async () => {
    await deployment().stand();
    const before = structuredClone(account.scripts);
    await ada.deploy({ name: "staging" });
    expect([...account.queues.keys()].slice(4)).toEqual([
      "outbound-calls-staging",
      "outbound-calls-staging-dead",
      "outbound-calls-staging-events",
      "outbound-calls-staging-events-dead",
    ]);
    expect([...account.databases.keys(), ...account.buckets.keys()]).toEqual([
      "outbound-calls",
      "outbound-calls-staging",
      "outbound-calls",
      "outbound-calls-staging",
    ]);
    for (const [worker, script] of before) expect(account.scripts.get(worker)).toEqual(script);
    expect(secretOf("staging-api", "HASH_KEY")).toBe(secretOf("staging-dialer", "HASH_KEY"));
    expect(secretOf("staging-api", "HASH_KEY")).not.toBe(secretOf("api", "HASH_KEY"));
    const folder = "dist/deploy/outbound-calls-staging";
    const { main, assets } = JSON.parse(await readFile(`${folder}/api.json`, "utf8"));
    const found = [main, assets.directory].map((path: string) => join(folder, path));
    expect(found).toEqual(["dist/workers/api/index.mjs", "functions/api/generated/served"]);
    for (const name of ["dead", "events", "calls-events"]) {
      await expect(ada.deploy({ name })).rejects.toThrow(/--name/);
    }
  });

  it("finds the jurisdiction of an earlier run again", async () => {
    await ada.deploy({ jurisdiction: "eu", location: "weur" });
    expect(ada.changes()).toContain("d1 create outbound-calls --jurisdiction eu");
    const again = deployment().person();
    await again.deploy();
    expect([...account.buckets.keys()]).toEqual(["outbound-calls eu"]);
    expect(again.changes().at(-1)).toBe("deploy --config dist/deploy/outbound-calls/api.json");
  });

  it("changes nothing in a dry run", async () => {
    await describeDeployment(ada.tools, deployedPlan, {});
    expect(account.endpoint.asked).toEqual([]); // it needs no account
    expect(ada.ran.every((words) => words.startsWith("deploy --dry-run"))).toBe(true);
    expect(ada.printed.join("\n")).toContain("wrangler d1 create outbound-calls");
  });

  it("makes no other first token where operators make them, and one after it was cut off", async () => {
    await deployment().stand();
    const operator = createEntry({ id: "ada" }, "OPERATOR_TOKENS").entry;
    secretsOf("api")?.set("OPERATOR_TOKENS_ADA", JSON.stringify(operator));
    secretsOf("api")?.delete("API_TOKENS_FIRST");
    await ada.deploy();
    expect(ada.printed.join("\n")).not.toContain("First token");
    expect(secretOf("api", "API_TOKENS_FIRST")).toBeUndefined();
    // The operator's token was installed before the API had what it is given together with a first one.
    for (const name of ["HASH_KEY", "EVENTS_KEY"]) secretsOf("api")?.delete(name);
    const bob = deployment().person();
    await bob.deploy();
    const first = secretOf("api", "API_TOKENS_FIRST");
    expect(findCaller(tokenIn(bob.printed), parseTokens(`[${first}]`), 0)?.tokenId).toBe("first");
  });

  it("makes no token where its output is logged", async () => {
    give(ada, { WEBHOOK_SECRET: webhookSecret, CI: "true" });
    await ada.deploy();
    expect(tokenIn(ada.printed)).toBe("");
    expect(secretOf("api", "API_TOKENS_FIRST")).toBeUndefined();
  });
});

describe("npm run deploy:cloudflare says what to do, and changes nothing,", () => {
  it("without R2", async () => {
    account.hasR2 = false;
    await expect(ada.deploy()).rejects.toThrow(/10042[^]*R2 is switched on once/);
    expect(changed()).toEqual([]);
  });

  it("without a secret that the dial plan needs", async () => {
    give(ada, {});
    await expect(ada.deploy()).rejects.toThrow(/WEBHOOK_SECRET.*npm run secrets -- webhook/);
    expect(changed()).toEqual([]);
  });

  it.each<[string, string, object, string[], RegExp]>([
    [
      "the secret of a receiver of events",
      "EVENTS_CRM_SECRET",
      { events: { crm: { url: "https://acme.internal/events" } } },
      ["whsec_short", `${webhookSecret},`],
      /EVENTS_CRM_SECRET must be whsec_/,
    ],
    [
      "the secret of a check",
      "CHECKS_DNC_SECRET",
      { checks: { dnc: { url: "https://acme.internal/ask" } } },
      ["whsec_short"],
      /CHECKS_DNC_SECRET must be whsec_/,
    ],
    [
      "the address of the collector",
      "OTEL_EXPORTER_OTLP_ENDPOINT",
      { traces: { share: 0.1 } },
      ["acme.internal", "http://acme.internal"],
      /OTEL_EXPORTER_OTLP_ENDPOINT must be/,
    ],
  ])("without %s, or with one that is malformed", async (_, name, settings, wrong, message) => {
    const deploying = () => ada.deploy({}, { ...deployedPlan, ...settings });
    await expect(deploying()).rejects.toThrow(`needs ${name}. Put`);
    for (const value of wrong) {
      give(ada, { WEBHOOK_SECRET: webhookSecret, [name]: value });
      await expect(deploying()).rejects.toThrow(message);
    }
    expect(changed()).toEqual([]);
  });

  it("without the keys for Amazon Connect, as a Worker has no AWS role", async () => {
    const connect = { provider: "amazon-connect", ...routeFields["amazon-connect"] };
    const deploying = ada.deploy({}, { ...deployedPlan, agents: { "*": connect } });
    await expect(deploying).rejects.toThrow(
      /AMAZON_CONNECT_ACCESS_KEY_ID, AMAZON_CONNECT_SECRET_ACCESS_KEY/,
    );
    expect(changed()).toEqual([]);
  });

  it.each(["a secret", "whsec_short"])("with a secret that cannot be right: %s", async (secret) => {
    give(ada, { WEBHOOK_SECRET: secret });
    const refused = ada.deploy();
    await expect(refused).rejects.toThrow(/must be/);
    await expect(refused).rejects.not.toThrow(secret);
    expect(changed()).toEqual([]);
  });

  it("with a dial plan that is wrong", async () => {
    await expect(ada.deploy({}, {})).rejects.toThrow(/^infra\/dial-plan.json: /);
    expect(ada.ran).toEqual([]);
  });
});

describe("npm run deploy:cloudflare stops", () => {
  it("before waiting calls would lose their agent, unless a person says so", async () => {
    await deployment().stand();
    for (const agentId of ["agent_sales", "agent_lost"]) {
      const backlog = { client: "crm", agentId };
      account.databases.get("outbound-calls")?.content.exec(
        `INSERT INTO documents VALUES ('backlog', '${agentId}', 'v', NULL, '${JSON.stringify(backlog)}');
           INSERT INTO calls (id, version, number_hash, state, lane, accepted_at, row)
             VALUES ('${agentId}', 'v', 'h', 'WAITING', '${agentId}', 0, '')`,
      );
    }
    const route = { provider: "webhook", url: "https://acme.internal/dial" };
    const plan = { ...deployedPlan, agents: { agent_sales: route } };
    await expect(ada.deploy({}, plan)).rejects.toThrow(/Nothing was deployed/);
    expect(ada.printed.join("\n")).toMatch(/no route[^]*agent_lost, of the client crm$/);
    expect(changed()).toEqual([]);
    await ada.deploy({ strand: true }, plan);
    secretsOf("dialer")?.set("DIAL_PLAN", "{}");
    await ada.deploy({}, plan); // the secret's plan counts, which nobody can read
  });

  it("without Workers Paid, whose queues keep messages for 14 days", async () => {
    account.isPaid = false;
    await expect(ada.deploy()).rejects.toThrow(/Workers Paid/);
  });

  it("at a migration that fails, before any code is deployed", async () => {
    await ada.tools.run("wrangler", ["d1", "create", "outbound-calls"]);
    account.databases.get("outbound-calls")?.content.exec("CREATE TABLE documents (id TEXT)");
    await expect(ada.deploy({ adopt: true })).rejects.toThrow(
      /migrations apply LEDGER .* failed:.*table documents already exists/s,
    );
    expect(account.scripts.size).toBe(0);
  });

  it("where a ledger in use has lost its HASH_KEY, and takes the old one from the environment", async () => {
    await deployment().stand();
    useLedger();
    const old = secretOf("dialer", "HASH_KEY") ?? "";
    secretsOf("api")?.delete("HASH_KEY");
    await expect(ada.deploy()).rejects.toThrow(/outbound-calls-api lost its HASH_KEY/);
    expect(secretOf("dialer", "HASH_KEY")).toBe(old);
    give(ada, { HASH_KEY: old });
    await ada.deploy();
    expect(secretOf("api", "HASH_KEY")).toBe(old);
  });

  it.each([
    [500, 401, /healthz answered 500/],
    [200, 200, /answered 200 instead of 401/],
  ])("loudly where the service answers %i and %i", async (health, withoutToken, message) => {
    ada.answers = { health, withoutToken };
    const looks = { pauseMs: 1, looks: 2 };
    await expect(checkService(ada.tools, ["https://a.example"], looks)).rejects.toThrow(message);
  });
});

describe("the secrets of a deployment on Cloudflare", () => {
  it("go to the Workers that read them", async () => {
    await ada.deploy({ name: "staging" });
    const store = createCloudflareSecretStore(ada.tools, targetOf("staging"));
    const key = "a0".repeat(32);
    await store.set({ HASH_KEY: key, API_TOKENS_CRM: "{}", TWILIO_AUTH_TOKEN: "t" });
    const found = (name: string) => [
      secretOf("staging-api", name),
      secretOf("staging-dialer", name),
    ];
    expect(found("HASH_KEY")).toEqual([key, key]);
    expect(found("API_TOKENS_CRM")).toEqual(["{}", undefined]);
    expect(found("TWILIO_AUTH_TOKEN")).toEqual([undefined, "t"]);
    await store.remove?.(["API_TOKENS_CRM"]);
    const names = await store.names();
    expect(names).toEqual(expect.arrayContaining(["HASH_KEY", "TWILIO_AUTH_TOKEN"]));
    expect(names).not.toContain("API_TOKENS_CRM");
  });
});
