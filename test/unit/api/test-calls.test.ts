import { createRouteTable, parseDialPlan } from "#test/support/plans.ts";
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { testClientOf } from "#shared/calls/ids.ts";
import { hashNumber } from "#shared/telephony/number-hashes.ts";
import { createTestApi } from "#test/support/api.ts";
import { aCall } from "#test/support/calls.ts";
import { apiEnvironment, testPlan } from "#test/support/environment.ts";
import { rowIn } from "#test/support/rows.ts";
import { createMemoryLedger } from "#test/support/memory-ledger.ts";

const rights = ["call", "read", "cancel", "opt_out"];
const entryOf = (id: string, more: object) => ({
  id,
  sha256: createHash("sha256").update(`oc_${id}`).digest("hex"),
  client: "acme",
  rights,
  ...more,
});
const plan = {
  ...testPlan,
  destinations: { allow: ["DE"] },
  guards: { acme: { callsPerDay: 3 } },
};
const environment = {
  ...apiEnvironment,
  CLIENT_RIGHTS: "read,cancel,opt_out",
  DIAL_PLAN: JSON.stringify(plan),
  API_TOKENS: JSON.stringify([entryOf("live", {}), entryOf("test", { mode: "test" })]),
};

function createApi() {
  const ledger = createMemoryLedger();
  const api = createTestApi({ environment, ledger });
  const post = (token: string, path: string, body: unknown, headers: object = {}) =>
    api.app.request(path, {
      method: "POST",
      headers: {
        authorization: `Bearer oc_${token}`,
        "content-type": "application/json",
        ...headers,
      },
      body: JSON.stringify(body),
    });
  const get = (token: string, path: string) =>
    api.app.request(path, { headers: { authorization: `Bearer oc_${token}` } });
  return { ...api, ledger, post, get };
}
const call = (phone_number: string) => ({ phone_number, agent_id: "agent_sales" });

describe("a token of mode test", () => {
  it("places calls to the numbers of the sandbox, whatever destinations the plan permits", async () => {
    const api = createApi();
    for (const number of ["+12025550100", "+12025550199"]) {
      expect((await api.post("test", "/v1/calls", call(number))).status).toBe(201);
    }
    const [sent] = api.queue.take();
    expect(JSON.parse((await sent?.open()) ?? "")).toMatchObject({
      kind: "request",
      client: "test:acme",
      mode: "test",
    });
    expect((await api.post("live", "/v1/calls", call("+12025550100"))).status).toBe(422);
  });

  it("places no other calls, and is told the numbers", async () => {
    const api = createApi();
    const others = ["+13035550100", "+12025550200", "+12025550099", "+4930901820", "+120255501000"];
    for (const number of others) {
      const answer = await api.post("test", "/v1/calls", call(number));
      expect(answer.status).toBe(422);
      const { errors } = Object(await answer.json());
      expect(errors[0]).toMatchObject({ pointer: "/phone_number" });
    }
    const batch = [call("+12025550100"), call("+4930901820")];
    const answer = await api.post("test", "/v1/calls/batch", batch);
    expect(await answer.json()).toMatchObject({
      errors: [{ pointer: "/1/phone_number", detail: expect.stringContaining("+12025550100 to") }],
    });
    const unknown = { phone_number: "+12025550100", agent_id: "nobody" };
    const refused = await api.post("test", "/v1/calls", unknown);
    expect(await refused.json()).toMatchObject({ errors: [{ pointer: "/agent_id" }] });
    expect(api.queue.take()).toEqual([]);
  });

  it("shares no Idempotency-Key and no guard with the client's other tokens", async () => {
    const api = createApi();
    const key = { "idempotency-key": "one" };
    const first = await api.post("test", "/v1/calls", call("+12025550100"), key);
    const other = await api.post("live", "/v1/calls", call("+4930901820"), key);
    expect([first.status, other.status]).toEqual([201, 201]);
    expect(other.headers.get("idempotency-replayed")).toBeNull();
    for (const status of [201, 201, 422]) {
      expect((await api.post("test", "/v1/calls", call("+12025550100"))).status).toBe(status);
    }
    expect((await api.post("live", "/v1/calls", call("+4930901820"))).status).toBe(201);
    const levels = api.events.flatMap((one) => ("level" in one ? one.level : []));
    expect(levels).toContain("warning");
    expect(levels).not.toContain("alarm"); // no operator is called because of tests
  });

  it("reads and cancels only test calls, which say that they are tests and name no prefix", async () => {
    const api = createApi();
    const client = testClientOf("acme");
    const route = createRouteTable(parseDialPlan(plan, {})).find({
      client,
      mode: "test",
      agentId: "agent_sales",
    });
    const acceptedAt = Date.now();
    const tested = aCall({ client, acceptedAt });
    const real = aCall({ client: "acme", acceptedAt });
    const rows = [rowIn("PLACED", tested, route && { route }), rowIn("PLACED", real)];
    await api.ledger.write(rows.map((next) => ({ next, seen: null })));
    const shown = await api.get("test", `/v1/requests/${tested.requestId}`);
    const text = await shown.text();
    expect(JSON.parse(text)).toMatchObject({ id: tested.requestId, test: true });
    expect(text).not.toContain("test:");
    const own = await api.get("live", `/v1/requests/${real.requestId}`);
    expect(Object(await own.json())["test"]).toBeUndefined();
    expect((await api.get("test", `/v1/requests/${real.requestId}`)).status).toBe(404);
    expect((await api.get("live", `/v1/requests/${tested.requestId}`)).status).toBe(404);
    const found = await api.post("test", "/v1/sent-files/find", { file: "0f".repeat(32) });
    expect(await found.json()).toEqual({ client: "acme", test: true, sent: null });
  });

  it("opts out numbers of the sandbox from its own client's test calls alone, for an hour", async () => {
    const api = createApi();
    const optOut = (token: string, phone_numbers: string[], more: object = {}) =>
      api.post(token, "/v1/do-not-call", { phone_numbers, ...more });
    const refused = await optOut("test", ["+12025550100", "+4930901820"]);
    expect(refused.status).toBe(422);
    expect(await refused.json()).toMatchObject({ errors: [{ pointer: "/phone_numbers/1" }] });
    for (const more of [{}, { scope: "deployment" }, { scope: "client" }]) {
      expect((await optOut("test", ["+12025550100"], more)).status).toBe(200);
    }
    const key = apiEnvironment.HASH_KEY;
    const hashOf = (text: string) => hashNumber(text, key).numberHash;
    const names = ["+12025550100", "test:acme +12025550100", "test:shop +12025550100"].map(
      (text) => ({ kind: "do-not-call", key: hashOf(text) }) as const,
    );
    const read = await api.documents.read(names);
    const [real, own, others] = names.map((one) => read.get(one.kind, one.key));
    expect([real, others]).toEqual([undefined, undefined]);
    const lifeMs = (own?.expiresAt ?? 0) - (own?.value.at ?? 0);
    expect(Math.abs(lifeMs - 3_600_000)).toBeLessThan(10_000); // a repeat keeps the first time
    expect((await optOut("live", ["+4930901820"])).status).toBe(200);
  });
});
