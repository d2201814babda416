import { expect, it } from "vitest";
import { nameOfKey } from "#shared/telephony/phone-number.ts";
import { apiEnvironment, tokens } from "#test/support/environment.ts";
import { createTestApi } from "#test/support/api.ts";

const headers = {
  authorization: `Bearer ${tokens.crmEvents}`,
  "content-type": "application/json",
};
const body = JSON.stringify({ url: "https://hooks.example.com/" });
const [former, current] = ["1".repeat(64), "2".repeat(64)] as const;

/** Creates an API whose dial plan and variables differ, over the documents of another if there is one. */
function apiWith(
  { plan = {}, ...variables }: Record<string, unknown>,
  {
    documents,
    now,
  }: Pick<NonNullable<Parameters<typeof createTestApi>[0]>, "documents" | "now"> = {},
) {
  const DIAL_PLAN = JSON.stringify({ ...JSON.parse(apiEnvironment.DIAL_PLAN), ...Object(plan) });
  const environment = { ...apiEnvironment, DIAL_PLAN, ...variables };
  const made = createTestApi({
    environment,
    ...(documents === undefined ? {} : { documents }),
    ...(now === undefined ? {} : { now }),
  });
  const ask = async (method: string, path: string, sent?: string, more = headers) => {
    const init = { method, headers: more, ...(sent === undefined ? {} : { body: sent }) };
    const response = await made.app.request(path, init);
    return { status: response.status, body: JSON.parse(await response.text()) };
  };
  return { ...made, ask };
}

it("is refused to every client where the dial plan says so", async () => {
  const { ask, documents } = apiWith({ plan: { clientReceivers: false } });
  for (const [method, path, sent] of [
    ["PUT", "/v1/receivers/main", body],
    ["GET", "/v1/receivers", undefined],
    ["DELETE", "/v1/receivers/main", undefined],
    ["POST", "/v1/receivers/main/test", "{}"],
    ["GET", "/v1/receivers/main/deliveries", undefined],
  ] as const) {
    const answer = await ask(method, path, sent);
    expect([path, answer.status, answer.body.detail]).toEqual([
      path,
      403,
      expect.stringContaining("dial plan"),
    ]);
  }
  const read = await documents.read([{ kind: "receivers", key: "crm" }]);
  expect(read.get("receivers", "crm")).toBeUndefined();
});

it("refuses the name of the dial plan's receiver of the client, and no other", async () => {
  const url = "https://plan.example.com/";
  const events = { crm: { url }, shop: { url }, "*": { url } };
  const { ask } = apiWith({ plan: { events }, EVENTS_CRM_SECRET: "", EVENTS_SHOP_SECRET: "" });
  const refused = await ask("PUT", "/v1/receivers/crm", body);
  expect([refused.status, refused.body.detail]).toEqual([
    409,
    expect.stringContaining("dial plan"),
  ]);
  expect((await ask("PUT", "/v1/receivers/shop", body)).status).toBe(200);
  const without = apiWith({ plan: { events: { "*": { url } } } });
  expect((await without.ask("PUT", "/v1/receivers/crm", body)).status).toBe(200);
});

it("takes an address on this machine in a local run alone", async () => {
  const local = JSON.stringify({ url: "http://127.0.0.1:9/hook" });
  for (const [value, status] of [
    ["true", 200],
    ["", 422],
    ["yes", 422],
  ] as const) {
    const { ask } = apiWith({ LOOPBACK_RECEIVERS: value });
    expect([value, (await ask("PUT", "/v1/receivers/main", local)).status]).toEqual([
      value,
      status,
    ]);
  }
});

it("says which secrets end with the former HASH_KEY, which stays until they are rotated", async () => {
  let now = Date.parse("2026-11-24T12:00:00Z");
  const at = { now: () => now };
  const before = apiWith({ HASH_KEY: former }, at);
  const made = await before.ask("PUT", "/v1/receivers/main", body);
  const both = apiWith(
    { HASH_KEY: `${current} ${former}` },
    { ...at, documents: before.documents },
  );
  const [listed] = (await both.ask("GET", "/v1/receivers")).body.receivers;
  expect([made.body.rotate_secret, listed.rotate_secret]).toEqual([false, true]);

  const operator = { ...headers, authorization: `Bearer ${tokens.operator}` };
  const endFormer = () => both.ask("POST", "/operator/hash-key/end-former", "{}", operator);
  await noteKeys(both, now);
  now += 400 * 86_400_000;
  const refused = await endFormer();
  expect([refused.status, refused.body.detail]).toEqual([
    409,
    expect.stringMatching(/receiver main of client crm/),
  ]);
  const rotated = await both.ask("POST", "/v1/receivers/main/rotate-secret");
  expect(rotated.body).toMatchObject({ rotate_secret: false, secret: expect.any(String) });
  expect(rotated.body.secret).not.toBe(made.body.secret);
  // The former secret signs for a day, under the former key.
  expect((await endFormer()).status).toBe(409);
  now += 86_400_000;
  expect(await endFormer()).toEqual({ status: 200, body: { ended: true } });
});

/** Has the list name both keys, as the sweep does after a rotation. */
async function noteKeys({ documents }: ReturnType<typeof apiWith>, since: number): Promise<void> {
  const keys = [former, current].map(nameOfKey);
  const value = { keys, current: { name: nameOfKey(current), since } };
  const name = { kind: "do-not-call-list", key: "list" } as const;
  await documents.write([{ next: { ...name, version: "v1", value, expiresAt: null }, seen: null }]);
}
