import { createNumberHasher } from "#shared/telephony/number-hashes.ts";
import { describe, expect, it } from "vitest";
import { createTestApi } from "#test/support/api.ts";
import { apiEnvironment, tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const numberAt = (index: number) => `+1202555${String(index).padStart(4, "0")}`;
const number = numberAt(123);

function createAsking() {
  let now = Date.parse("2026-11-24T12:10:00Z");
  const { app, documents } = createTestApi({ now: () => now });
  const ask = async (path: string, body: object, token: string) => {
    const response = await app.request(`/operator${path}`, jsonRequest(token, "POST", body));
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: JSON.parse(text) };
  };
  const recorded = async () =>
    (await documents.list("audit", { limit: 1_000 })).map(({ value }) => value);
  return { ask, recorded, pass: (ms: number) => (now += ms) };
}

describe("a number is looked up", () => {
  it.each([
    ["/calls/search", { phone_number: number }],
    ["/do-not-call/check", { phone_number: number }],
  ])("for who has the role find alone, who is recorded: %s", async (path, body) => {
    const { ask, recorded } = createAsking();
    for (const token of [tokens.opsSee, tokens.opsDecide, tokens.opsReveal, tokens.opsConfigure]) {
      const refused = await ask(path, body, token);
      expect([refused.status, refused.body.detail]).toEqual([
        403,
        'The token does not have the role "find".',
      ]);
    }
    expect(await recorded()).toEqual([]);
    expect((await ask(path, body, tokens.opsFind)).status).toBe(200);
    const [hash] = createNumberHasher({ current: apiEnvironment.HASH_KEY }).own(number);
    const entries = await recorded();
    expect(entries).toMatchObject([
      { action: "look_up", by: "opsFind", count: 1, numbers: [hash?.slice(0, 24)] },
    ]);
    expect(JSON.stringify(entries)).not.toContain("202555");
  });

  it("by a text for who has the role find, and for others other things of the name are", async () => {
    const { ask, recorded } = createAsking();
    const asSee = await ask("/search", { text: number }, tokens.opsSee);
    expect([asSee.status, asSee.body]).toEqual([200, { found: [], suggested: [], number }]);
    expect(await recorded()).toEqual([]);
    await ask("/search", { text: "agent_sales" }, tokens.opsFind);
    expect(await recorded()).toEqual([]);
    await ask("/search", { text: number }, tokens.opsFind);
    expect(await recorded()).toMatchObject([{ action: "look_up", by: "opsFind" }]);
  });

  it(
    "at most a hundred in an hour by one operator, of which one that is asked again counts once",
    inSlowTier,
    async () => {
      const { ask, recorded, pass } = createAsking();
      const find = (index: number, token = tokens.opsFind) =>
        ask("/calls/search", { phone_number: numberAt(index) }, token);
      for (let index = 0; index < 100; index += 1) expect((await find(index)).status).toBe(200);
      expect((await find(0)).status).toBe(200);
      const refused = await find(100);
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "3000"]);
      expect((await ask("/search", { text: numberAt(101) }, tokens.opsFind)).status).toBe(429);
      expect((await find(100, tokens.operator)).status).toBe(200);
      expect(await recorded()).toHaveLength(101);
      pass(3_000_000);
      expect((await find(100)).status).toBe(200);
    },
  );
});

describe("a list of numbers is checked", () => {
  it("for who sees, and recorded by its count", async () => {
    const { ask, recorded } = createAsking();
    const phone_numbers = [numberAt(1), numberAt(2), numberAt(3)];
    expect((await ask("/find-listed", { phone_numbers }, tokens.opsSee)).status).toBe(200);
    expect(await recorded()).toMatchObject([{ action: "check_list", by: "opsSee", count: 3 }]);
    expect(JSON.stringify(await recorded())).not.toContain("numbers");
  });

  it.each([
    ["checked", "/find-listed", { phone_numbers: [number] }],
    [
      "forecast",
      "/forecast",
      { client: "crm", calls: [{ phone_number: number, agent_id: "agent_sales" }] },
    ],
  ])(
    "at most two hundred times in an hour by one operator, however short: %s",
    inSlowTier,
    async (did, path, body) => {
      const { ask, recorded, pass } = createAsking();
      const check = (token = tokens.opsSee) => ask(path, body, token);
      for (let lists = 0; lists < 200; lists++) expect((await check()).status).toBe(200);
      const refused = await check();
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "3000"]);
      expect(refused.body.detail).toBe(
        `The token has ${did} 200 lists in this hour, which is the maximum.`,
      );
      expect(await recorded()).toHaveLength(200);
      expect((await check(tokens.opsDecide)).status).toBe(200);
      pass(3_000_000);
      expect((await check()).status).toBe(200);
    },
  );
});
