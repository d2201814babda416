import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type AwsSecretStore, createAwsSecretStore } from "#infra/cli/deploy/aws-secrets.ts";
import { createEntry, installToken, revokeToken } from "#infra/cli/deploy/secret-commands.ts";
import { retireEventsKey, rotateEventsKey } from "#infra/cli/deploy/events-key.ts";
import { isEventsKey } from "#shared/settings/events-keys.ts";
import { rotateHashKey } from "#infra/cli/deploy/hash-key.ts";
import * as z from "#shared/lib/zod.ts";
import { secretTags } from "#infra/aws/secret-tags.ts";
import { type FakeSecretsManager, startSecretsManager } from "#test/support/aws/secrets-manager.ts";

const hashKey = "ab".repeat(32);
const tagsOf = (stack: string, kind: string) => ({
  [secretTags.stack]: stack,
  [secretTags.kind]: kind,
});
let aws: FakeSecretsManager;
let printed: string[];
let store: AwsSecretStore;

beforeEach(async () => {
  aws = await startSecretsManager();
  printed = [];
  const tools = { environment: {}, print: (line: string) => void printed.push(line) };
  store = createAwsSecretStore(tools, undefined, aws.client);
});
afterEach(() => aws.stop());

function createStack(): void {
  aws.create("arn:settings", tagsOf("OutboundCalls", "settings"), {
    HASH_KEY: hashKey,
  });
  aws.create("arn:providers", tagsOf("OutboundCalls", "providers"), { UNUSED: "x1" });
}

describe("the secrets of a deployment on AWS", () => {
  it("are not there before the first deployment, nor those of another one", async () => {
    aws.create("arn:other", tagsOf("OutboundCalls-staging", "settings"), {});
    aws.create("arn:more", tagsOf("OutboundCalls-staging", "providers"), {});
    expect(await store.exists()).toBe(false);
    await expect(store.names()).rejects.toThrow(/deploy:aws first/);
    createStack();
    expect(await store.exists()).toBe(true);
  });

  it("count as set without what the template generates for nobody", async () => {
    createStack();
    expect(await store.names()).toEqual(["HASH_KEY"]);
    expect(await store.read("API_TOKENS")).toBeUndefined();
    expect(await store.read("HASH_KEY")).toBe(hashKey);
  });

  it("keep a list of tokens that a person has emptied, with the HASH_KEY beside it", async () => {
    createStack();
    const API_TOKENS = JSON.stringify([{ id: "first", sha256: "a".repeat(64) }]);
    await store.set({ API_TOKENS });
    await revokeToken(store, "API_TOKENS", "first");
    expect(await store.names()).toEqual(["HASH_KEY", "API_TOKENS"]);
    await store.set({ API_TOKENS }, { keeps: ["API_TOKENS"] });
    const other = { HASH_KEY: "cd".repeat(32) };
    await expect(store.set(other, { replaces: "if unused" })).rejects.toThrow(/HASH_KEY/);
    expect(aws.current("arn:settings")).toEqual({ HASH_KEY: hashKey, API_TOKENS: [] });
  });

  it.each(["API_TOKENS", "OPERATOR_TOKENS"] as const)(
    "are in use once %s lets anybody in",
    async (name) => {
      createStack();
      const other = "cd".repeat(32);
      await store.set({ HASH_KEY: other }, { replaces: "if unused" });
      const { entry } = createEntry({ id: "ada" }, name);
      await installToken(store, name, { entry, show: () => undefined });
      const refused = store.set({ HASH_KEY: hashKey }, { replaces: "if unused" });
      await expect(refused).rejects.toThrow(/Another HASH_KEY is set/);
      expect(aws.current("arn:settings")["HASH_KEY"]).toBe(other);
    },
  );

  it("go each to the functions that read it, and leave the others as they are", async () => {
    createStack();
    const tokens = [{ id: "crm", sha256: "a".repeat(64) }];
    const ofWebhooks = { WEBHOOK_SECRET: "whsec_x", HOOK_EU_SECRET: "whsec_y" };
    const DIAL_PLAN = '{"agents":{}}';
    const ofDialer = { LIVEKIT_API_SECRET: "l", VAPI_API_KEY: "v", EVENTS_CRM_SECRET: "whsec_z" };
    const API_TOKENS = JSON.stringify(tokens);
    await store.set({ ...ofWebhooks, ...ofDialer, API_TOKENS, DIAL_PLAN });
    expect(aws.current("arn:settings")).toEqual({
      API_TOKENS: tokens,
      DIAL_PLAN,
      HASH_KEY: hashKey,
      ...ofWebhooks,
    });
    expect(aws.current("arn:providers")).toEqual({ UNUSED: "x1", ...ofDialer });
    expect(await store.read("API_TOKENS")).toBe(JSON.stringify(tokens));
    expect(printed.join()).not.toMatch(/whsec_x|aaaa/);
  });

  it("let tokens in and out by the commands for both platforms", async () => {
    createStack();
    const entryOf = (id: string) => createEntry({ id, client: "acme" }, "API_TOKENS").entry;
    const install = (id: string) =>
      installToken(store, "API_TOKENS", { entry: entryOf(id), show: () => undefined });
    await install("crm-1");
    await install("crm-2");
    await expect(install("crm-2")).rejects.toThrow(/two tokens of one id/);
    await revokeToken(store, "API_TOKENS", "crm-1");
    expect(aws.current("arn:settings")["API_TOKENS"]).toMatchObject([{ id: "crm-2" }]);
    expect(aws.current("arn:settings")["HASH_KEY"]).toBe(hashKey);
  });

  it("leave a token revoked, and one let in, while others are let in or out at once", async () => {
    createStack();
    const shown: string[] = [];
    const install = (id: string) => {
      const { entry } = createEntry({ id, client: "acme" }, "API_TOKENS");
      return installToken(store, "API_TOKENS", { entry, show: () => void shown.push(id) });
    };
    const revoke = (id: string) => revokeToken(store, "API_TOKENS", id);
    for (const id of ["crm-1", "crm-2", "crm-3"]) await install(id);
    await Promise.all([revoke("crm-1"), install("crm-4"), revoke("crm-2"), install("crm-5")]);
    const left = z
      .array(z.object({ id: z.string() }))
      .parse(aws.current("arn:settings")["API_TOKENS"]);
    expect(left.map(({ id }) => id).toSorted()).toEqual(["crm-3", "crm-4", "crm-5"]);
    expect(shown.toSorted()).toEqual(["crm-1", "crm-2", "crm-3", "crm-4", "crm-5"]);
  });

  it("hold a list of tokens that is not JSON, which is not quoted", async () => {
    createStack();
    await store.set({ API_TOKENS: "oc_secret" });
    const { entry } = createEntry({ id: "crm" }, "API_TOKENS");
    const words = /^API_TOKENS is not JSON: line 1 column 1$/;
    const show = () => expect.unreachable();
    await expect(installToken(store, "API_TOKENS", { entry, show })).rejects.toThrow(words);
    await expect(revokeToken(store, "API_TOKENS", "crm")).rejects.toThrow(words);
  });

  it("keep HASH_KEY unless they are told to replace it, or hold it beside another", async () => {
    createStack();
    const current = () => aws.current("arn:settings")["HASH_KEY"];
    const other = "cd".repeat(32);
    for (const wrong of [other, `${hashKey} ${other}`]) {
      await expect(store.set({ HASH_KEY: wrong })).rejects.toThrow(/Another HASH_KEY is set/);
      expect(current()).toBe(hashKey);
    }
    await store.set({ HASH_KEY: hashKey });
    await store.set({ HASH_KEY: `${other} ${hashKey}` });
    for (const early of [hashKey, other]) {
      await expect(store.set({ HASH_KEY: early })).rejects.toThrow(/Another HASH_KEY is set/);
    }
    await store.set({ HASH_KEY: other }, { replaces: true });
    expect(current()).toBe(other);
    await store.set({ HASH_KEY: hashKey }, { replaces: true });
    expect(current()).toBe(hashKey);
  });

  it("rotate HASH_KEY from what is set, and never twice at once", async () => {
    createStack();
    const tools = { environment: {}, print: (line: string) => void printed.push(line) };
    const rotate = () => rotateHashKey(tools, store, () => Promise.reject(new Error("asked")));
    await rotate();
    const [next = "", former] = String(aws.current("arn:settings")["HASH_KEY"]).split(" ");
    expect(next).toMatch(/^[0-9a-f]{64}$/);
    expect(former).toBe(hashKey);
    const said = printed.join("\n");
    expect(said.split(next)).toHaveLength(2); // the one line that shows it
    expect(said).toContain("It belongs in a safe");
    expect(said).not.toContain(hashKey);
    await expect(rotate()).rejects.toThrow(/Retire it first/);
  });

  it("rotate HASH_KEY into nothing that somebody else has set meanwhile", async () => {
    createStack();
    const theirs = JSON.stringify({ HASH_KEY: "ef".repeat(32) });
    aws.beforeMove = () => {
      const secret = aws.secrets.get("arn:settings");
      secret?.versions.set("version-of-somebody", theirs);
      if (secret !== undefined) secret.current = "version-of-somebody";
    };
    const tools = { environment: {}, print: () => undefined };
    await expect(rotateHashKey(tools, store, () => Promise.resolve(""))).rejects.toThrow(
      /Another HASH_KEY is set/,
    );
    expect(aws.current("arn:settings")["HASH_KEY"]).toBe("ef".repeat(32));
  });

  it("rotate EVENTS_KEY beside the current one, which is read by nobody, and retire it", async () => {
    createStack();
    const tools = { environment: {}, print: (line: string) => void printed.push(line) };
    const held = () =>
      Object.entries(aws.current("arn:settings")).filter(([name]) => isEventsKey(name));
    await expect(rotateEventsKey(tools, store)).rejects.toThrow(/deploy command sets it/);
    await store.set({ EVENTS_KEY: hashKey });
    await expect(retireEventsKey(tools, store)).rejects.toThrow(/no former key/);
    const ends = await Promise.allSettled([
      rotateEventsKey(tools, store),
      rotateEventsKey(tools, store),
    ]);
    expect(ends.map(({ status }) => status)).toContain("fulfilled");
    expect(held().map(([name]) => name)).toEqual(["EVENTS_KEY", "EVENTS_KEY_2"]);
    await expect(rotateEventsKey(tools, store)).rejects.toThrow(/Retire it first/);
    const [, current] = held();
    await retireEventsKey(tools, store);
    expect(held()).toEqual([current]);
    expect(aws.current("arn:settings")).toMatchObject({ HASH_KEY: hashKey });
    expect(printed.join("\n")).not.toMatch(/[0-9a-f]{64}/);
  });

  it.each(["InvalidParameterException", "InvalidRequestException"])(
    "keep what somebody else sets between the reading and the writing (%s)",
    async (mismatch) => {
      createStack();
      aws.mismatch = mismatch;
      aws.beforeMove = () => {
        const secret = aws.secrets.get("arn:providers");
        secret?.versions.set("version-of-somebody", '{"VAPI_API_KEY":"theirs"}');
        if (secret !== undefined) secret.current = "version-of-somebody";
      };
      await store.set({ RETELL_API_KEY: "ours" });
      expect(aws.current("arn:providers")).toEqual({
        VAPI_API_KEY: "theirs",
        RETELL_API_KEY: "ours",
      });
    },
  );

  it("are those of the newest stack of a name, as a destroyed one leaves its HASH_KEY", async () => {
    aws.create("arn:left", tagsOf("OutboundCalls", "settings"), { HASH_KEY: "old" });
    createStack();
    expect(await store.read("HASH_KEY")).toBe(hashKey);
  });

  it("cannot be read where a secret is no JSON object, which is not quoted", async () => {
    createStack();
    aws.create("arn:providers", tagsOf("OutboundCalls", "providers"), "whsec_private");
    await expect(store.names()).rejects.toThrow(/arn:providers is no JSON object/);
    await expect(store.names()).rejects.not.toThrow(/whsec/);
  });

  it.each(["ExpiredTokenException", "UnrecognizedClientException"])(
    "cannot be read with credentials that are refused: %s",
    async (refusal) => {
      aws.refusal = refusal;
      await expect(store.exists()).rejects.toThrow(/no valid AWS credentials/);
    },
  );
});
