import { expect, it } from "vitest";
import { eventTypes } from "#shared/calls/call-event.ts";
import { formerSecretMs } from "#shared/dial-plan/client-receiver-secrets.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { applyEntries } from "#shared/policy/journal-entries.ts";
import { apiEnvironment, tokens } from "#test/support/environment.ts";
import { createTestApi } from "#test/support/api.ts";
import { createMemoryJournal } from "#test/support/memory-journal.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

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
    journal,
    now,
  }: Pick<NonNullable<Parameters<typeof createTestApi>[0]>, "documents" | "journal" | "now"> = {},
) {
  const DIAL_PLAN = JSON.stringify({ ...JSON.parse(apiEnvironment.DIAL_PLAN), ...Object(plan) });
  const environment = { ...apiEnvironment, DIAL_PLAN, ...variables };
  const made = createTestApi({
    environment,
    ...(documents === undefined ? {} : { documents }),
    ...(journal === undefined ? {} : { journal }),
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

it("has all types, of later versions too, unless its last put names some", async () => {
  const { ask, documents } = apiWith({});
  const typesOf = async () => {
    const read = await documents.read([{ kind: "receivers", key: "crm" }]);
    return read.get("receivers", "crm")?.value.receivers["main"]?.types;
  };
  const put = async (types: object) =>
    (await ask("PUT", "/v1/receivers/main", JSON.stringify({ ...JSON.parse(body), ...types }))).body
      .types;
  expect(await put({ types: ["call.ended"] })).toEqual(["call.ended"]);
  expect(await typesOf()).toEqual(["call.ended"]);
  expect(await put({})).toEqual(eventTypes);
  expect(await typesOf()).toBeUndefined();
});

it("refuses more entries of the context than events have for all receivers of a client", async () => {
  const { ask } = apiWith({});
  const put = async (name: string, echo: string) => {
    const sent = { url: "https://hooks.example.com/", echo: Array.from(echo) };
    return ask("PUT", `/v1/receivers/${name}`, JSON.stringify(sent));
  };
  expect((await put("one", "abcdefghij")).status).toBe(200);
  const refused = await put("two", "k");
  expect([refused.status, refused.body.errors]).toEqual([
    422,
    [{ pointer: "/echo", detail: expect.stringContaining("at most 10") }],
  ]);
  expect((await put("two", "ab")).status).toBe(200);
  expect((await put("one", "klmnopqrst")).status).toBe(422);
  expect((await put("one", "ba")).status).toBe(200);
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

it("stays deleted after a restore, although the journal failed when it was deleted", async () => {
  const entries = new Map<string, string>();
  const kept = createMemoryJournal(entries);
  let isDown = false;
  const append: typeof kept.append = (...entry) =>
    isDown ? Promise.reject(new Error("it is down")) : kept.append(...entry);
  const { ask } = apiWith({}, { journal: { ...kept, append } });
  expect((await ask("PUT", "/v1/receivers/main", body)).status).toBe(200);
  isDown = true;
  expect((await ask("DELETE", "/v1/receivers/main")).status).toBe(503);
  isDown = false;
  expect((await ask("DELETE", "/v1/receivers/main")).status).toBe(200);
  const restored = createTestApi().deps;
  const random = { version: () => randomVersion() };
  await applyEntries([...entries.values()], { ...restored, random });
  const read = await restored.documents.read([{ kind: "receivers", key: "crm" }]);
  expect(read.get("receivers", "crm")?.value.receivers).toEqual({});
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

it("says which secrets end with the former EVENTS_KEY, and knows no other key", async () => {
  const now = () => Date.parse("2026-11-24T12:00:00Z");
  const before = apiWith({ EVENTS_KEY: former }, { now });
  const made = await before.ask("PUT", "/v1/receivers/main", body);
  const listed = async (environment: Record<string, string>) => {
    const { ask } = apiWith(environment, { now, documents: before.documents });
    return (await ask("GET", "/v1/receivers")).body.receivers[0].rotate_secret;
  };
  expect(made.body.rotate_secret).toBe(false);
  expect(await listed({ EVENTS_KEY: former, HASH_KEY: current })).toBe(false);
  expect(await listed({ EVENTS_KEY: former, EVENTS_KEY_2: current })).toBe(true);
  const both = apiWith(
    { EVENTS_KEY: former, EVENTS_KEY_2: current },
    { now, documents: before.documents },
  );
  const rotated = await both.ask("POST", "/v1/receivers/main/rotate-secret");
  expect(rotated.body).toMatchObject({ rotate_secret: false, secret: expect.any(String) });
  expect(rotated.body.secret).not.toBe(made.body.secret);
});

it("shows operators which receivers need the former EVENTS_KEY: until a day after their rotation", async () => {
  let at = Date.parse("2026-11-24T12:00:00Z");
  const now = () => at;
  const before = apiWith({ EVENTS_KEY: former }, { now });
  await before.ask("PUT", "/v1/receivers/main", body);
  const { documents } = before;
  const both = apiWith({ EVENTS_KEY: former, EVENTS_KEY_2: current }, { now, documents });
  const asOperator = { ...headers, authorization: `Bearer ${tokens.operator}` };
  const left = async (of = both) =>
    (await of.ask("GET", "/operator/events", undefined, asOperator)).body.former_secrets;
  expect(await left(before)).toBeUndefined();
  expect(await left()).toEqual([{ client: "crm", name: "main" }]);
  await both.ask("POST", "/v1/receivers/main/rotate-secret");
  at += formerSecretMs - 1;
  expect(await left()).toEqual([{ client: "crm", name: "main" }]);
  at += 1;
  expect(await left()).toEqual([]);
  // One that was made since needs the current key alone.
  await both.ask("PUT", "/v1/receivers/other", body);
  expect(await left()).toEqual([]);
});

it.each([undefined, "", "e7e7", `${current} ${former}`])(
  "answers 503 with EVENTS_KEY %j",
  inSlowTier,
  async (EVENTS_KEY) => {
    const { ask } = apiWith({ EVENTS_KEY });
    expect((await ask("GET", "/v1/receivers")).status).toBe(503);
  },
);
