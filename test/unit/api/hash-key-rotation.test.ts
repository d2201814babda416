import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { listByNumber } from "#functions/operator/list-by-number.ts";
import { hourMs, minuteMs } from "#shared/lib/units.ts";
import { nameOfKey } from "#shared/lib/rotated-keys.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { doNotCallListKey } from "#shared/policy/number-entries.ts";
import { changeDocument } from "#shared/ports/change-document.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { callbackAddress } from "#shared/settings/callback-url.ts";
import { hashNumber } from "#shared/telephony/number-hashes.ts";
import { readHashKeys } from "#shared/settings/settings.ts";
import { createTestApi } from "#test/support/api.ts";
import { aCall } from "#test/support/calls.ts";
import { apiEnvironment, testPlan, tokens } from "#test/support/environment.ts";
import { createMemoryLedger } from "#test/support/memory-ledger.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";
import { perTier } from "#test/support/per-tier.ts";

const formerKey = apiEnvironment.HASH_KEY;
const currentKey = "a7".repeat(32);
const both = `${currentKey} ${formerKey}`;
const number = "+12025550123";

/** Creates an API under a HASH_KEY, over the ledger and documents of another one. */
function createApi(
  HASH_KEY: string,
  of?: ReturnType<typeof createTestApi>,
  DIAL_PLAN = apiEnvironment.DIAL_PLAN,
) {
  const environment = { ...apiEnvironment, HASH_KEY, DIAL_PLAN };
  return createTestApi(
    of === undefined
      ? { environment }
      : { environment, ledger: of.ledger, documents: of.documents },
  );
}
type Api = ReturnType<typeof createApi>;

const post = ({ app }: Api, path: string, body: object, more: Record<string, string> = {}) =>
  app.request(path, {
    method: "POST",
    headers: { "content-type": "application/json", ...more },
    body: JSON.stringify(body),
  });
const ask = async (api: Api, path: string, body: object) => {
  const headers = { authorization: `Bearer ${tokens.operator}` };
  const response = await post(api, `/operator${path}`, body, headers);
  const answer: { calls: { id: string }[]; cursor?: string; counts: object } =
    await response.json();
  return { status: response.status, body: answer };
};

/** Returns a row to a number, hashed under a key. */
function rowUnder(key: string, acceptedAt: number) {
  const request = { phone_number: number, agent_id: "agent_sales" };
  const row = rowIn("REJECTED", aCall({ acceptedAt, request }), { at: acceptedAt });
  return { ...row, ...hashNumber(number, key) };
}

describe("HASH_KEY", () => {
  it("is one key, or the current and the former one", () => {
    expect(readHashKeys({ HASH_KEY: formerKey })).toEqual({ current: formerKey });
    expect(readHashKeys({ HASH_KEY: both })).toEqual({ current: currentKey, former: formerKey });
  });

  it.each([
    "",
    "5f",
    `${formerKey} `,
    `${both} ${"0".repeat(64)}`,
    `${currentKey}\n${formerKey}`,
    `${formerKey} ${formerKey.toUpperCase()}`,
  ])("is not %j", (HASH_KEY) => {
    expect(() => readHashKeys({ HASH_KEY })).toThrow(/HASH_KEY/);
  });
});

describe("while HASH_KEY is rotated", () => {
  it("a repeat under an Idempotency-Key from before is the same request", async () => {
    const api = createApi(formerKey);
    const key = { "idempotency-key": "k", authorization: `Bearer ${tokens.crm}` };
    const call = { phone_number: number, agent_id: "agent_sales" };
    const first = await post(api, "/v1/calls", call, key);
    const during = createApi(both, api);
    const repeat = await post(during, "/v1/calls", call, key);
    expect(repeat.status).toBe(201);
    expect(repeat.headers.get("x-request-id")).toBe(first.headers.get("x-request-id"));
    expect(repeat.headers.get("idempotency-replayed")).toBe("true");
    const other = { ...call, phone_number: "+12025550124" };
    expect((await post(during, "/v1/calls", other, key)).status).toBe(422);
    expect((await post(createApi(currentKey, api), "/v1/calls", call, key)).status).toBe(422);
  });

  it("callbacks come under both keys", async () => {
    const api = createApi(both);
    const callback = (hashKey: string) =>
      post(api, callbackAddress("", { account: "telnyx", hashKey }), {});
    const statuses = [currentKey, formerKey, "0".repeat(64)].map(
      async (key) => (await callback(key)).status,
    );
    expect(await Promise.all(statuses)).toEqual([204, 204, 404]);
  });

  it("calls to a number are found by both keys, newest first, page by page", async () => {
    const api = createApi(both);
    const now = Date.now();
    const rows = Array.from({ length: 130 }, (_, n) =>
      rowUnder(n % 3 === 0 ? currentKey : formerKey, now - n * 1000),
    );
    await writeRows(rows, api.ledger, api.documents);
    const ids = rows.map(({ id }) => id);
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const { body } = await ask(api, "/calls/search", {
        phone_number: number,
        limit: 40,
        ...(cursor === undefined ? {} : { cursor }),
      });
      found.push(...body.calls.map(({ id }) => id));
      ({ cursor } = body);
    } while (cursor !== undefined);
    expect(found).toEqual(ids);
    const same = await api.app.request(`/operator/calls/${ids[3]}/same-number`, {
      headers: { authorization: `Bearer ${tokens.operator}` },
    });
    const { calls }: { calls: { id: string }[] } = await same.json();
    expect(calls.map(({ id }) => id)).toEqual(ids.filter((id) => id !== ids[3]).slice(0, 20));
  });
});

describe("a forecast while HASH_KEY is rotated", () => {
  const plan = JSON.stringify({ ...testPlan, maxCalls: { count: 2, days: 1 } });
  const forecastOf = async (api: Api) => {
    const call = { phone_number: number, agent_id: "agent_sales", timezone: "UTC" };
    const { status, body } = await ask(api, "/forecast", { client: "crm", calls: [call] });
    return status === 200 ? body.counts : status;
  };

  it("knows the do-not-call list and the caps by both keys, and each call once", async () => {
    const former = createApi(formerKey, undefined, plan);
    const during = createApi(both, former, plan);
    const at = Date.now() - 1000;
    const count = async (key: string, ...calls: string[]) => {
      const entries = calls.map((call) => ({ call, claim: "c", at }));
      const cap = { kind: "cap", key: hashNumber(number, key).numberHash } as const;
      const next = { ...cap, version: key, value: { entries }, expiresAt: null };
      expect(await former.documents.write([{ next, seen: null }])).toEqual([true]);
    };
    await count(formerKey, "one");
    expect(await forecastOf(during)).toMatchObject({ wait: 0, rejected: 0 });
    await count(currentKey, "one", "two");
    expect(await forecastOf(during)).toMatchObject({ wait: 1, rejected: 0 });
    await ask(former, "/do-not-call", { add: [number] });
    expect(await forecastOf(during)).toMatchObject({ wait: 0, rejected: 1 });
    expect(await forecastOf(createApi(currentKey, former, plan))).toBe(409);
  });
});

it("lets a token in at every process from its making, whichever keys the process has read", async () => {
  const former = createApi(formerKey);
  const during = createApi(both, former);
  const make = async () => {
    const headers = { authorization: `Bearer ${tokens.operator}` };
    const response = await post(during, "/operator/clients/desk/tokens", {}, headers);
    const { token, hash_key }: { token: string; hash_key: string } = await response.json();
    const statusAt = async (api: Api) => {
      const call = { phone_number: number, agent_id: "agent_sales" };
      return (await post(api, "/v1/calls", call, { authorization: `Bearer ${token}` })).status;
    };
    return [hash_key, await statusAt(former), await statusAt(during)];
  };
  const noteCurrent = async (since: number) => {
    const change = () => ({
      value: { keys: [], current: { name: nameOfKey(currentKey), since } },
      expiresAt: null,
    });
    await changeDocument(
      { name: doNotCallListKey, change },
      { documents: during.documents, random: { version: randomVersion } },
    );
  };
  const client = jsonRequest(tokens.operator, "PUT", { agents: ["*"] });
  expect((await during.app.request("/operator/clients/desk", client)).status).toBe(200);
  expect(await make()).toEqual(["former", 201, 201]);
  await noteCurrent(Date.now() - hourMs + minuteMs);
  expect(await make()).toEqual(["former", 201, 201]);
  // Every process has read the current key by now. This one could not.
  await noteCurrent(Date.now() - hourMs);
  expect(await make()).toEqual(["current", 401, 201]);
});

it("lists under several hashes are those under one, for any pages", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(2), { maxLength: 30 }),
      fc.integer({ min: 1, max: 9 }),
      async (under, limit) => {
        const ledger = createMemoryLedger();
        const { documents } = createTestApi();
        const keys = [currentKey, formerKey, "0".repeat(64)];
        const now = Date.now();
        const rows = under.map((key, n) => rowUnder(keys[key] ?? "", now - n * 1000));
        await writeRows(rows, ledger, documents);
        const hashes = keys.map((key) => hashNumber(number, key).numberHash);
        const found: string[] = [];
        let before: string | undefined;
        for (let page = 0; page <= 30; page++) {
          const { rows: some, next } = await listByNumber(ledger, hashes, { before, limit });
          found.push(...some.map(({ id }) => id));
          before = next;
          if (next === undefined) break;
        }
        expect(before).toBeUndefined();
        expect(found).toEqual(rows.map(({ id }) => id));
      },
    ),
    { numRuns: perTier({ quick: 6, long: 60 }) },
  );
});
