import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { readOperators } from "#shared/settings/settings.ts";
import { withGatheredTokens } from "#shared/cloudflare/environment.ts";
import {
  findCaller,
  createToken,
  parseNewTokens,
  parseTokens,
  readAgentsByClient,
} from "#shared/settings/tokens.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const only = (more: object) =>
  parseTokens(JSON.stringify([{ id: "crm", sha256: sha256("t"), ...more }]));

describe("operators' tokens", () => {
  const events: string[] = [];
  const log = (_level: string, _event: string, { problem = "" }: { problem?: string }) =>
    events.push(problem);
  const operatorsOf = (environment: Record<string, string>) => readOperators(environment, log);
  const entry = (more: object = {}) =>
    JSON.stringify([{ id: "ops", sha256: sha256("t"), ...more }]);

  it("are there where they are set, and let nobody in where they are wrong", () => {
    expect(operatorsOf({})).toBeUndefined();
    expect(operatorsOf({ OPERATOR_TOKENS: entry() })?.("t", 0)).toMatchObject({ tokenId: "ops" });
    expect(operatorsOf({ OPERATOR_TOKENS: "[" })?.("t", 0)).toBeUndefined();
  });

  it("are for all agents, and none of them places calls", () => {
    expect(operatorsOf({ OPERATOR_TOKENS: entry({ agents: ["a"] }) })?.("t", 0)).toBeUndefined();
    expect(events.at(-1)).toMatch(/^OPERATOR_TOKENS: an operator sees all agents/);
    const limited = { OPERATOR_TOKENS: entry({ rights: ["read"] }) };
    expect(operatorsOf(limited)?.("t", 0)).toBeUndefined();
    expect(events.at(-1)).toMatch(/^OPERATOR_TOKENS: rights are for clients' tokens/);
    const both = { OPERATOR_TOKENS: entry(), API_TOKENS: entry({ id: "crm" }).toUpperCase() };
    expect(operatorsOf(both)?.("t", 0)).toBeUndefined();
    expect(events.at(-1)).toBe("OPERATOR_TOKENS: ops is a token of API_TOKENS too");
  });
});

describe("operators' roles", () => {
  const rolesOf = (more: object) => {
    const tokens = parseTokens(
      JSON.stringify([{ id: "ops", sha256: sha256("t"), ...more }]),
      "OPERATOR_TOKENS",
    );
    return findCaller("t", tokens, 0)?.roles;
  };

  it("are all where an entry names none, and each lets see", () => {
    expect(rolesOf({})).toEqual(["see", "find", "decide", "send", "reveal", "configure"]);
    expect(rolesOf({ roles: ["reveal"] })).toEqual(["see", "reveal"]);
    expect(rolesOf({ roles: ["see"] })).toEqual(["see"]);
  });

  it("are refused if wrong, absent or a client's, without being quoted", () => {
    for (const roles of [["oc_secret", 1], [], "see"]) {
      expect(() => rolesOf({ roles })).toThrow(/^OPERATOR_TOKENS: .*roles/s);
      expect(() => rolesOf({ roles })).not.toThrow(/oc_secret/);
    }
    expect(() => only({ roles: ["see"] })).toThrow(/^API_TOKENS: roles are for operators/);
    expect(findCaller("t", only({}), 0)?.roles).toBeUndefined();
  });
});

describe("tokens", () => {
  it("are made of 178 random bits and more, and no two are alike", inSlowTier, () => {
    const made = Array.from({ length: 1000 }, () => createToken());
    expect(made.every(({ token }) => /^oc_[0-9A-Za-z]{30}$/.test(token))).toBe(true);
    expect(made.every((one) => one.sha256 === sha256(one.token))).toBe(true);
    expect(new Set(made.map(({ token }) => token)).size).toBe(1000);
    expect(30 * Math.log2(62)).toBeGreaterThanOrEqual(178);
  });

  it("name their client (default: their id), their agents (default: all) and their rights", () => {
    expect(findCaller("t", only({}), 0)).toEqual({
      tokenId: "crm",
      client: "crm",
      mode: "live",
      agents: ["*"],
      rights: ["call"],
    });
    const more = { client: "acme", agents: ["a"], rights: ["cancel", "read"] };
    expect(findCaller("t", only(more), 0)).toEqual({ tokenId: "crm", mode: "live", ...more });
    expect(findCaller("T", only({}), 0)).toBeUndefined();
  });

  it("of mode test are of a client of their own, which no entry may name", () => {
    const test = only({ client: "acme", mode: "test", rights: ["call", "read"] });
    expect(findCaller("t", test, 0)).toMatchObject({ client: "test:acme", tokenId: "crm" });
    expect(findCaller("t", only({ mode: "test" }), 0)?.client).toBe("test:crm");
    expect([...readAgentsByClient(test, 0)]).toEqual([["test:acme", ["*"]]]);
    expect([...readAgentsByClient(only({ client: "acme" }), 0).keys()]).toEqual(["acme"]);
    for (const more of [{ client: "test:acme" }, { id: "test:acme" }, { mode: "live" }]) {
      expect(() => only(more)).toThrow(/^API_TOKENS/);
    }
    const operator = JSON.stringify([{ id: "ops", sha256: sha256("t"), mode: "test" }]);
    expect(() => parseTokens(operator, "OPERATOR_TOKENS")).toThrow(/mode/);
  });

  it("end at notAfter", () => {
    const tokens = only({ notAfter: "2026-11-30T12:00:00Z" });
    const end = Date.parse("2026-11-30T12:00:00Z");
    expect(findCaller("t", tokens, end - 1)).toBeDefined();
    expect(findCaller("t", tokens, end)).toBeUndefined();
  });

  it.each([
    ["no JSON", "oc_secret"],
    ["no array", "{}"],
    ["nothing in it", "[]"],
    ["a token instead of its hash", JSON.stringify([{ id: "a", sha256: "oc_secret" }])],
    ["an unknown field", JSON.stringify([{ id: "a", sha256: sha256("t"), agent: ["oc_secret"] }])],
    ["no right at all", JSON.stringify([{ id: "a", sha256: sha256("t"), rights: [] }])],
    ["no agent at all", JSON.stringify([{ id: "a", sha256: sha256("t"), agents: [] }])],
    ["a date that is none", JSON.stringify([{ id: "a", sha256: sha256("t"), notAfter: "soon" }])],
    [
      "one id twice",
      JSON.stringify([
        { id: "a", sha256: sha256("t") },
        { id: "a", sha256: sha256("u") },
      ]),
    ],
  ])("are refused for %s, without being quoted", (_, json) => {
    expect(() => parseTokens(json)).toThrow(/^API_TOKENS/);
    expect(() => parseTokens(json)).not.toThrow(/oc_secret/);
  });
});

describe("a right or a role of a later version", () => {
  const hash = sha256("t");
  const callerIn = (name: "API_TOKENS" | "OPERATOR_TOKENS", more: object) => {
    const list = JSON.stringify([{ id: "crm", sha256: hash, ...more }]);
    expect(() => parseNewTokens(list, name)).toThrow(/must be of/);
    return findCaller("t", parseTokens(list, name), 0);
  };

  it("gives nothing, and locks no token out", () => {
    const later = (...rights: string[]) => callerIn("API_TOKENS", { rights });
    expect(later("dream", "read")).toMatchObject({ rights: ["read"] });
    expect(later("dream")).toMatchObject({ rights: [] });
    const operator = (...roles: string[]) => callerIn("OPERATOR_TOKENS", { roles });
    expect(operator("dream", "decide")).toMatchObject({ roles: ["see", "decide"] });
    expect(operator("dream")).toMatchObject({ roles: [] });
  });

  it("is none of those that a new token may have", () => {
    const list = JSON.stringify([{ id: "crm", sha256: hash, rights: ["call", "read"] }]);
    expect(parseNewTokens(list)).toEqual(parseTokens(list));
  });
});

describe("tokens that have a secret each", () => {
  const entry = (id: string, token: string) => ({ id, sha256: sha256(token) });
  const gathered = (environment: Record<string, string>) =>
    withGatheredTokens(environment)["API_TOKENS"] ?? "";

  it("are gathered into the list, where each replaces one of its id", () => {
    const tokens = parseTokens(
      gathered({
        API_TOKENS: JSON.stringify([entry("crm", "old"), entry("shop", "s")]),
        API_TOKENS_CRM: JSON.stringify(entry("crm", "new")),
        API_TOKENS_B: JSON.stringify(entry("b", "b")),
      }),
    );
    const ids = ["old", "new", "s", "b"].map((token) => findCaller(token, tokens, 0)?.tokenId);
    expect(ids).toEqual([undefined, "crm", "shop", "b"]);
  });

  it("need no list beside them, and leave a list alone where there are none", () => {
    expect(gathered({ OPERATOR_TOKENS_ADA: "{}", API_TOKENS: " [ ] " })).toBe(" [ ] ");
    expect(gathered({ API_TOKENS_B: '{"id":"b"}' })).toBe('[{"id":"b"}]');
    expect(gathered({})).toBe("");
  });

  it.each(["oc_secret", "{}", "[1]"])("let nobody in where one is wrong: %s", (wrong) => {
    const list = gathered({ API_TOKENS_A: wrong, API_TOKENS_B: JSON.stringify(entry("b", "b")) });
    expect(() => parseTokens(list)).toThrow(/^API_TOKENS/);
  });
});

describe("npm run token", inSlowTier, () => {
  const run = (...words: string[]) =>
    promisify(execFile)(process.execPath, [resolve("infra/cli/token.ts"), ...words]);

  it("prints a token and the entry that lets it in", async () => {
    const { stdout } = await run(
      "--id",
      "crm",
      "--client",
      "acme",
      "--agents",
      "a,b",
      "--rights",
      "call,read",
      "--not-after",
      "2099-01-01",
    );
    const [, token = ""] = /(oc_\w+)/.exec(stdout) ?? [];
    const [, entry = ""] = /API_TOKENS: +(\{.*\})/.exec(stdout) ?? [];
    expect(findCaller(token, parseTokens(`[${entry}]`), Date.now())).toEqual({
      tokenId: "crm",
      client: "acme",
      mode: "live",
      agents: ["a", "b"],
      rights: ["call", "read"],
    });
  });

  it("makes an operator's token with some roles", async () => {
    const { stdout } = await run("--id", "ada", "--operator", "--roles", "see,decide");
    const [, entry = ""] = /OPERATOR_TOKENS: +(\{.*\})/.exec(stdout) ?? [];
    expect(JSON.parse(entry)).toMatchObject({ id: "ada", roles: ["see", "decide"] });
  });

  it.each([
    [[]],
    [["--id", "crm", "--not-after", "soon"]],
    [["--id", "crm", "--roles", "see"]],
    [["--id", "ada", "--operator", "--roles", "write"]],
    [["--id", "crm", "--rights", "write"]],
    [["--id", "crm", "--mode", "live"]],
    [["--name", "crm"]],
  ])("says what is wrong with %j", async (words) => {
    await expect(run(...words)).rejects.toMatchObject({ code: 1, stderr: /npm run token/ });
  });
});
