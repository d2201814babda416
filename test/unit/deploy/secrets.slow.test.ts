import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { beforeEach, describe, expect, it } from "vitest";
import { parseKeys, nameOfKey } from "#shared/lib/rotated-keys.ts";
import { createCloudflareSecretStore } from "#infra/cli/deploy/cloudflare-secrets.ts";
import { targetOf } from "#infra/cli/deploy/cloudflare-target.ts";
import {
  createEntry,
  createWebhookSecret,
  installToken,
  revokeToken,
  setSecret,
} from "#infra/cli/deploy/secret-commands.ts";
import { retireEventsKey, rotateEventsKey } from "#infra/cli/deploy/events-key.ts";
import { rotateHashKey } from "#infra/cli/deploy/hash-key.ts";
import type { SecretStore } from "#infra/cli/deploy/secret-names.ts";
import { withGatheredTokens } from "#shared/cloudflare/environment.ts";
import { isEventsKey } from "#shared/settings/events-keys.ts";
import { findCaller, parseTokens } from "#shared/settings/tokens.ts";
import { useDeployment } from "#test/support/cloudflare/deployment.ts";
import { create as createWorker } from "#test/support/cloudflare/workers.ts";
import { deployedPlan } from "#test/support/deployed-plan.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const key = "0".repeat(64);

interface Kind {
  store: SecretStore;
  /** Returns the secrets as the API sees them. */
  seen(): Record<string, string | undefined>;
}

const deployment = useDeployment();
/** Makes a Worker of these secrets, without any code. */
function putWorker(worker: string, secrets: Record<string, string>) {
  const { scripts } = deployment().account;
  const script = createWorker();
  scripts.set(`outbound-calls-${worker}`, script);
  for (const [name, value] of Object.entries(secrets)) script.secrets.set(name, value);
}
/** Makes a ledger without content. */
function putLedger(): DatabaseSync {
  const content = new DatabaseSync(":memory:");
  content.exec(readFileSync(resolve("infra/d1/0001_ledger.sql"), "utf8"));
  deployment().account.databases.set("outbound-calls", { id: "d", content });
  return content;
}
const secretsOf = (worker: string) =>
  deployment().account.scripts.get(`outbound-calls-${worker}`)?.secrets;
const storeOn = (tools = deployment().person().tools, name?: string) =>
  createCloudflareSecretStore(tools, targetOf(name));

function cloudflare(): Kind {
  putWorker("api", { HASH_KEY: key });
  putLedger();
  return { store: storeOn(), seen: () => Object.fromEntries(secretsOf("api") ?? []) };
}

/** A platform that shows its secrets, as Secrets Manager does. */
function readable(): Kind {
  const secrets = new Map([["HASH_KEY", key]]);
  return {
    store: {
      names: () => Promise.resolve([...secrets.keys()]),
      read: (name) => Promise.resolve(secrets.get(name)),
      change: (name, toNext) => {
        secrets.set(name, toNext(secrets.get(name)));
        return Promise.resolve();
      },
      set: (values) => {
        for (const [name, value] of Object.entries(values)) secrets.set(name, value);
        return Promise.resolve();
      },
      remove: (names) => {
        for (const name of names) secrets.delete(name);
        return Promise.resolve();
      },
    },
    seen: () => Object.fromEntries(secrets),
  };
}

/** A platform that shows no secret, as Cloudflare. */
function unreadable(): Kind {
  const { store: shown, seen } = readable();
  const { read: _, change: __, ...store } = shown;
  return { store, seen };
}

/** `npm run test:cuts` runs what needs the real wrangler. */
const byWrangler = { skip: process.env["LONG"] !== "1" };
const kinds: [string, () => Kind][] = [["a platform that shows secrets", readable]];
if (!byWrangler.skip) kinds.push(["Cloudflare, which shows no secret", cloudflare]);

describe.each(kinds)("tokens on %s", (_, create) => {
  let kind: Kind;
  beforeEach(() => (kind = create()));
  const idOf = (token: string) => {
    const json = withGatheredTokens(kind.seen())["API_TOKENS"];
    return json === undefined ? undefined : findCaller(token, parseTokens(json), 0)?.tokenId;
  };
  const install = async (id: string) => {
    const { token, entry } = createEntry({ id, client: "acme" }, "API_TOKENS");
    const shown: (string | undefined)[] = [];
    const show = () => void shown.push(idOf(token));
    await installToken(kind.store, "API_TOKENS", { entry, show });
    expect(shown).toEqual([undefined]); // once, and before it is valid
    return token;
  };

  it("are installed and revoked one by one", async () => {
    const [first, second] = [await install("crm-1"), await install("crm-2")];
    expect([idOf(first), idOf(second)]).toEqual(["crm-1", "crm-2"]);
    await revokeToken(kind.store, "API_TOKENS", "crm-1");
    expect([idOf(first), idOf(second)]).toEqual([undefined, "crm-2"]);
  });

  it("are never replaced by one of the same id", async () => {
    const token = await install("crm");
    await expect(install("crm")).rejects.toThrow(/API_TOKENS/);
    expect(idOf(token)).toBe("crm");
  });

  it.each(["crm.1", "CRM-1", "crm_1", "crm--1", "-crm", ""])(
    "are not made with the id %j, which another one may share a secret's name with",
    async (id) => {
      const token = await install("crm-1");
      expect(() => createEntry({ id }, "API_TOKENS")).toThrow(/lowercase letters, digits/);
      await expect(revokeToken(kind.store, "API_TOKENS", id)).rejects.toThrow();
      expect(idOf(token)).toBe("crm-1");
    },
  );

  it("are not revoked where there is none of the id", async () => {
    await install("crm");
    await expect(revokeToken(kind.store, "API_TOKENS", "shop")).rejects.toThrow(/no/);
    await expect(revokeToken(kind.store, "OPERATOR_TOKENS", "crm")).rejects.toThrow(/no/);
  });
});

describe("a token on Cloudflare that only a list has", () => {
  it.each(["API_TOKENS", "OPERATOR_TOKENS"] as const)("is revoked: %s", async (name) => {
    const { store, seen } = unreadable();
    const limits = name === "API_TOKENS" ? { rights: ["read"] } : { roles: ["see"] };
    const [listed, other] = ["crm", "shop"].map((id) => createEntry({ id, ...limits }, name));
    const value = JSON.stringify([listed?.entry, other?.entry]);
    await setSecret(store, name, { value, replaces: false });
    const idOf = ({ token }: { token: string } = { token: "" }) =>
      findCaller(token, parseTokens(withGatheredTokens(seen())[name] ?? "", name), Date.now())
        ?.tokenId;
    expect([listed, other].map(idOf)).toEqual(["crm", "shop"]);
    expect(await revokeToken(store, name, "crm")).toMatch(/no list, so check the id/);
    expect([listed, other].map(idOf)).toEqual([undefined, "shop"]);
    await expect(revokeToken(store, name, "shop.1")).rejects.toThrow(`secrets -- set ${name}.`);
    expect([listed, other].map(idOf)).toEqual([undefined, "shop"]);
  });
});

describe("a token's secret on Cloudflare, where a list has an entry of its id too", () => {
  it.each(["API_TOKENS", "OPERATOR_TOKENS"] as const)(
    "is revoked with that of %s",
    async (name) => {
      const { store, seen } = unreadable();
      const [former, other] = ["crm", "shop"].map((id) => createEntry({ id }, name));
      await setSecret(store, name, {
        value: JSON.stringify([former?.entry, other?.entry]),
        replaces: false,
      });
      const made = createEntry({ id: "crm" }, name);
      await installToken(store, name, { entry: made.entry, show: () => undefined });
      const idOf = ({ token }: { token: string } = { token: "" }) =>
        findCaller(token, parseTokens(withGatheredTokens(seen())[name] ?? "", name), Date.now())
          ?.tokenId;
      expect([former, made, other].map(idOf)).toEqual([undefined, "crm", "shop"]);
      await revokeToken(store, name, "crm");
      expect([former, made, other].map(idOf)).toEqual([undefined, undefined, "shop"]);
      await revokeToken(store, name, "crm");
      expect([former, made, other].map(idOf)).toEqual([undefined, undefined, "shop"]);
    },
  );
});

describe("npm run secrets -- rotate HASH_KEY, on Cloudflare", byWrangler, () => {
  /** @param names keys that the do-not-call list names; undefined: there is no list */
  const created = (names?: string[]) => {
    for (const worker of ["api", "dialer"]) putWorker(worker, { HASH_KEY: key });
    const content = putLedger();
    if (names !== undefined) {
      const insert = content.prepare(
        "INSERT INTO documents (kind, key, version, value) VALUES ('do-not-call-list', 'list', 'v', ?)",
      );
      insert.run(JSON.stringify({ keys: names }));
    }
    const ada = deployment().person();
    const rotate = (current: string) =>
      rotateHashKey(ada.tools, storeOn(ada.tools), () => Promise.resolve(current));
    const of = (worker: string) => secretsOf(worker)?.get("HASH_KEY");
    return { ada, rotate, of };
  };

  it.each([undefined, [], [nameOfKey(key)]])(
    "sets a new key beside the current one for both Workers, the dialer first, where the list names %j",
    async (keyNames) => {
      const { ada, rotate, of } = created(keyNames);
      await rotate(key);
      const [next = "", former] = (of("dialer") ?? "").split(" ");
      expect(former).toBe(key);
      expect(of("api")).toBe(of("dialer"));
      expect(ada.changes().map((words) => words.split(" ").at(-1))).toEqual([
        "outbound-calls-dialer",
        "outbound-calls-api",
      ]);
      const said = ada.printed.join("\n");
      expect(said.split(next)).toHaveLength(2);
      expect(said).toContain("It belongs in a safe");
      expect(said).not.toContain(key);
    },
  );

  it("takes the current key from the environment", async () => {
    const { ada, rotate, of } = created();
    ada.tools.environment["HASH_KEY"] = key;
    await rotate("");
    expect(of("api")).toMatch(new RegExp(`^[0-9a-f]{64} ${key}$`));
  });

  it.each<[string, string, string[], Record<string, string>, RegExp]>([
    ["a key that is none", "short", [], {}, /32 bytes/],
    ["two keys", `${"1".repeat(64)} ${key}`, [], {}, /Retire it first/],
    ["another key than the list's", "1".repeat(64), [nameOfKey(key)], {}, /not the only key/],
    ["one of two keys of the list", key, [nameOfKey(key), "ab12cd34"], {}, /not the only key/],
    ["an output that is logged", key, [], { CI: "true" }, /is logged/],
  ])("refuses %s, and changes and shows nothing", async (_, given, names, environment, message) => {
    const { ada, rotate, of } = created(names);
    Object.assign(ada.tools.environment, environment);
    await expect(rotate(given)).rejects.toThrow(message);
    expect([of("dialer"), of("api")]).toEqual([key, key]);
    expect(ada.printed).toEqual([]);
  });

  it("rotates once where two people do it at once, and shows the second no key", async () => {
    const { ada, rotate, of } = created();
    const bob = deployment().person();
    const ends = await Promise.allSettled([
      rotate(key),
      rotateHashKey(bob.tools, storeOn(bob.tools), () => Promise.resolve(key)),
    ]);
    expect(ends.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    for (const end of ends) {
      if (end.status === "rejected") expect(String(end.reason)).toMatch(/else has rotated/);
    }
    const [next = "", former] = (of("dialer") ?? "").split(" ");
    expect([former, of("api")]).toEqual([key, of("dialer")]);
    const shown = [ada, bob].map(({ printed }) => printed.join("\n"));
    expect(shown.filter((one) => one.includes("shown only now"))).toHaveLength(1);
    expect(shown.join("\n")).toContain(next);
  });

  it("refuses where none is set", async () => {
    const { rotate } = created();
    deployment().account.scripts.clear();
    await expect(rotate(key)).rejects.toThrow(/secrets -- set HASH_KEY/);
  });
});

describe("npm run secrets -- rotate EVENTS_KEY, on Cloudflare", byWrangler, () => {
  const heldBy = (worker: string) =>
    [...(secretsOf(worker) ?? [])].filter(([one]) => isEventsKey(one));
  const created = () => {
    for (const worker of ["api", "dialer"]) putWorker(worker, { HASH_KEY: key, EVENTS_KEY: key });
    putLedger();
    const ada = deployment().person();
    return { ada, store: storeOn(ada.tools) };
  };

  it("sets a new key beside the current one for both Workers, and retires the former, showing none", async () => {
    const { ada, store } = created();
    await expect(retireEventsKey(ada.tools, store)).rejects.toThrow(/no former key/);
    await rotateEventsKey(ada.tools, store);
    const both = heldBy("dialer");
    expect(both).toEqual([
      ["EVENTS_KEY", key],
      ["EVENTS_KEY_2", expect.stringMatching(/^[0-9a-f]{64}$/)],
    ]);
    expect(heldBy("api")).toEqual(both);
    await expect(rotateEventsKey(ada.tools, store)).rejects.toThrow(/Retire it first/);
    await retireEventsKey(ada.tools, store);
    expect([heldBy("dialer"), heldBy("api")]).toEqual([both.slice(1), both.slice(1)]);
    await rotateEventsKey(ada.tools, store);
    expect(heldBy("api").map(([one]) => one)).toEqual(["EVENTS_KEY_2", "EVENTS_KEY_3"]);
    expect(ada.printed.join("\n")).not.toMatch(/[0-9a-f]{64}/);
  });

  it("is completed after it was cut off between the two Workers", async () => {
    const { ada, store } = created();
    secretsOf("dialer")?.set("EVENTS_KEY_2", "1".repeat(64));
    await expect(retireEventsKey(ada.tools, store)).rejects.toThrow(/cut off.*rotate EVENTS_KEY/s);
    await rotateEventsKey(ada.tools, store);
    expect(heldBy("api")).toHaveLength(2);
    expect(heldBy("api")).toEqual(heldBy("dialer"));
    secretsOf("dialer")?.delete("EVENTS_KEY");
    await retireEventsKey(ada.tools, store);
    expect(heldBy("api").map(([one]) => one)).toEqual(["EVENTS_KEY_2"]);
    expect(heldBy("api")).toEqual(heldBy("dialer"));
  });
});

describe("npm run secrets -- set", () => {
  const set = (name: string, value: string, replaces = false, kind = readable()) =>
    setSecret(kind.store, name, { value, replaces }).then(() => kind.seen());

  it("sets a secret", async () => {
    const entry = JSON.stringify({ id: "ada", sha256: "a".repeat(64) });
    const values = await set("OPERATOR_TOKENS_ADA", entry, false, unreadable());
    expect(values).toMatchObject({ OPERATOR_TOKENS_ADA: entry });
  });

  it.each([
    ["API_TOKENS_CRM", "--install"],
    ["OPERATOR_TOKENS_ADA", "--operator --install"],
  ])("refuses %s on AWS, which reads one list alone", async (name, words) => {
    const { entry } = createEntry({ id: "ada" }, "API_TOKENS");
    const kind = readable();
    await expect(set(name, JSON.stringify(entry), true, kind)).rejects.toThrow(
      `npm run token -- --id ID ${words} --platform aws`,
    );
    expect(kind.seen()).toEqual({ HASH_KEY: key });
  });

  it("sets API_TOKENS to no token, as where operators make all, and never OPERATOR_TOKENS", async () => {
    for (const [, create] of kinds) {
      const kind = create();
      expect(await set("API_TOKENS", "[]", false, kind)).toMatchObject({ API_TOKENS: "[]" });
      await expect(set("OPERATOR_TOKENS", "[]", false, kind)).rejects.toThrow(/at least one/);
    }
  });

  it("sets DIAL_PLAN once the secrets are set that it needs, without which nobody is dialed", async () => {
    for (const create of [readable, unreadable]) {
      const kind = create();
      const value = JSON.stringify(deployedPlan);
      const refused = set("DIAL_PLAN", value, false, kind);
      await expect(refused).rejects.toThrow(/needs WEBHOOK_SECRET.* set WEBHOOK_SECRET/);
      await set("WEBHOOK_SECRET", createWebhookSecret(), false, kind);
      expect(await set("DIAL_PLAN", value, false, kind)).toMatchObject({ DIAL_PLAN: value });
    }
  });

  it("sets no DIAL_PLAN with a webhook whose secret the API would not get, nor verify its callbacks", async () => {
    const agents = { "*": { provider: "crm-api", url: "https://acme.internal/dial" } };
    const value = JSON.stringify({
      ...deployedPlan,
      agents,
      providers: { "crm-api": { type: "webhook" } },
    });
    for (const create of [readable, unreadable]) {
      const kind = create();
      await set("CRM_API_SECRET", createWebhookSecret(), false, kind);
      await expect(set("DIAL_PLAN", value, false, kind)).rejects.toThrow(
        /another name, as CRM_API_SECRET/,
      );
    }
  });

  it("ends the former of two keys only if told to, as nobody may be dialed without it", async () => {
    const kind = readable();
    const [former, current] = [key, "1".repeat(64)];
    await set("HASH_KEY", `${current} ${former}`, false, kind);
    await expect(set("HASH_KEY", former, false, kind)).rejects.toThrow(/rotate HASH_KEY/);
    await expect(set("HASH_KEY", current, false, kind)).rejects.toThrow(/--replace/);
    expect(await set("HASH_KEY", current, true, kind)).toMatchObject({ HASH_KEY: current });
  });

  it("takes a HASH_KEY in capitals for the same key", async () => {
    const kind = readable();
    await set("HASH_KEY", key, true, kind);
    const next = `${"1".repeat(64)} ${key.toUpperCase()}`;
    expect(await set("HASH_KEY", next, false, kind)).toMatchObject({ HASH_KEY: next });
    expect(parseKeys(next, "HASH_KEY").former).toBe(parseKeys(key, "HASH_KEY").current);
  });

  it("overwrites HASH_KEY only if told to", async () => {
    const other = "1".repeat(64);
    await expect(set("HASH_KEY", other)).rejects.toThrow(/--replace/);
    expect(await set("HASH_KEY", other, true)).toMatchObject({ HASH_KEY: other });
  });

  it.each<[string, string, RegExp, (() => Kind)?]>([
    ["webhook_secret", "x", /capitals/],
    ["WEBHOOK_SECRET", "", /stdin/],
    ["HASH_KEY", "oc_secret", /HASH_KEY must be 32 bytes/],
    ["EVENTS_KEY", "oc_secret", /EVENTS_KEY must be 32 bytes/],
    ["EVENTS_KEY_2", `${key} ${"1".repeat(64)}`, /EVENTS_KEY_2 holds one key/],
    ["EVENTS_SECRET", "oc_secret", /EVENTS_SECRET must be whsec_/],
    ["EVENTS_CRM_EU_SECRET", "whsec_oc_secret", /EVENTS_CRM_EU_SECRET must be whsec_/],
    ["EVENTS_SECRET", `${createWebhookSecret()},oc_secret`, /EVENTS_SECRET must be whsec_/],
    ["API_TOKENS", "oc_secret", /^API_TOKENS is not JSON: line 1 column 1$/],
    ["DIAL_PLAN", '{"agents": oc_secret}', /^DIAL_PLAN is not JSON: line 1 column 12$/],
    ["DIAL_PLAN", "oc_secret.json", /not the path of its file: .*-- set DIAL_PLAN < FILE$/],
    ["DIAL_PLAN", '{"agent": "oc_secret"}', /^dial plan: plan: must not have "agent"$/m],
    ["WEBHOOK_SECRET", "oc_secret", /WEBHOOK_SECRET must be whsec_/],
    ["HOOK_EU_SECRET", "whsec_oc_secret", /HOOK_EU_SECRET must be whsec_/],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://oc_secret.example", /ENDPOINT must be https/],
    ["VAPI_API_KEY", "oc_secret\u20142", /^VAPI_API_KEY must be printable ASCII without spaces.$/],
    ["TWILIO_EU_AUTH_TOKEN", "oc_ secret", /^TWILIO_EU_AUTH_TOKEN must be printable ASCII/],
    ["PUBLIC_URL", "http://oc_secret.example", /PUBLIC_URL must be https/],
    [
      "API_TOKENS_CRM",
      '{"id": oc_secret}',
      /^API_TOKENS_CRM is not JSON: line 1 column 8$/,
      unreadable,
    ],
    ["API_TOKENS_CRM", '{"id":"crm","sha256":"oc_secret"}', /64 hex/, unreadable],
  ])("refuses %s of %j, and quotes no value", async (name, value, message, create = readable) => {
    const refused = set(name, value, true, create());
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.not.toThrow(/oc_secret/);
  });
});

describe("npm run secrets -- set, on Cloudflare,", byWrangler, () => {
  it("sets a secret beside the others", async () => {
    const kind = cloudflare();
    await setSecret(kind.store, "PUBLIC_URL", { value: "https://a.example", replaces: false });
    expect(kind.seen()).toEqual({ HASH_KEY: key, PUBLIC_URL: "https://a.example" });
  });

  it("sets the secret of a receiver of events, and two while it is rotated", async () => {
    const [one, other] = [createWebhookSecret(), createWebhookSecret()];
    const { store } = cloudflare();
    for (const value of [one, `${one},${other}`]) {
      await setSecret(store, "EVENTS_CRM_SECRET", { value, replaces: false });
      expect(secretsOf("dialer")?.get("EVENTS_CRM_SECRET")).toBe(value);
    }
    expect(secretsOf("api")?.has("EVENTS_CRM_SECRET")).toBe(false);
  });

  it("sets DIAL_PLAN for both Workers, which accept and dial by one plan", async () => {
    const value = JSON.stringify(deployedPlan);
    const { store } = cloudflare();
    const ofWebhook = { value: createWebhookSecret(), replaces: false };
    await setSecret(store, "WEBHOOK_SECRET", ofWebhook);
    await setSecret(store, "DIAL_PLAN", { value, replaces: false });
    for (const worker of ["dialer", "api"]) expect(secretsOf(worker)?.get("DIAL_PLAN")).toBe(value);
  });

  it("sets HASH_KEY where none is set", async () => {
    putWorker("api", { PUBLIC_URL: "https://a.example" });
    putLedger();
    await setSecret(storeOn(), "HASH_KEY", { value: key, replaces: false });
    for (const worker of ["api", "dialer"]) expect(secretsOf(worker)?.get("HASH_KEY")).toBe(key);
  });

  it("leaves one value for both Workers where two people set a secret at once", async () => {
    const ofBoth = (worker: string) => secretsOf(worker)?.get("WEBHOOK_SECRET");
    for (const worker of ["api", "dialer"]) putWorker(worker, { HASH_KEY: key });
    putLedger();
    const [ada, bob] = [deployment().person(), deployment().person()];
    const [a, b] = [createWebhookSecret(), createWebhookSecret()];
    const { run } = ada.tools;
    let begun: Promise<void> | undefined;
    ada.tools.run = async (command, args, options) => {
      // Between the two Workers of the first, the second does all that it can.
      if (args.join(" ") === "secret bulk --name outbound-calls-api") {
        begun = setSecret(storeOn(bob.tools), "WEBHOOK_SECRET", { value: b, replaces: false });
        const waits = () => bob.printed.some((line) => line.startsWith("Somebody else sets"));
        await expect.poll(() => waits() || ofBoth("dialer") === b).toBe(true);
      }
      return run(command, args, options);
    };
    await setSecret(storeOn(ada.tools), "WEBHOOK_SECRET", { value: a, replaces: false });
    await begun;
    expect([ofBoth("dialer"), ofBoth("api")]).toEqual([b, b]);
  });

  it("makes no Worker where there is no deployment", async () => {
    const ada = deployment().person();
    const value = createWebhookSecret();
    await expect(
      setSecret(storeOn(ada.tools, "stagging"), "WEBHOOK_SECRET", { value, replaces: false }),
    ).rejects.toThrow(/no deployment/);
    expect(deployment().changes()).toEqual([]);
  });
});

describe("npm run secrets", inSlowTier, () => {
  const run = (...words: string[]) =>
    promisify(execFile)(process.execPath, [resolve("infra/cli/secrets.ts"), ...words]);

  it("prints a webhook's secret of 32 random bytes", async () => {
    const { stdout } = await run("webhook");
    expect(stdout).toMatch(/^whsec_[A-Za-z0-9+/]{43}=\n$/);
    expect(createWebhookSecret()).not.toBe(createWebhookSecret());
  });

  it("takes no value as an argument", async () => {
    const refused = run("set", "WEBHOOK_SECRET", "oc_secret");
    await expect(refused).rejects.toMatchObject({ code: 1, stderr: /on stdin/ });
  });
});
