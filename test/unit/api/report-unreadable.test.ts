import { describe, expect, it } from "vitest";
import { requestIdOf } from "#shared/calls/ids.ts";
import { usageKeyOf } from "#shared/policy/usage.ts";
import type { StoredDocument } from "#shared/ports/document-kinds.ts";
import { createTestApi } from "#test/support/api.ts";
import { aCall } from "#test/support/calls.ts";
import { apiEnvironment, tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { createMemoryLedger } from "#test/support/memory-ledger.ts";

const now = Date.UTC(2026, 5, 1, 12);
const of = { client: "crm", agentId: "agent_sales" };
const id = aCall({ acceptedAt: now - 60_000 }).id;
const requestId = requestIdOf(id);

const receivers = { crm: { url: "http://127.0.0.1:9/events" } };
const plan = { ...JSON.parse(apiEnvironment.DIAL_PLAN), events: receivers };
/** The API's environment, with a receiver of events. */
const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify(plan), EVENTS_CRM_SECRET: "" };

const isUnreadable = (event: object) => String(Reflect.get(event, "event")).endsWith(".unreadable");

describe.each<[kind: StoredDocument["kind"], key: string, paths: string[]]>([
  ["usage", usageKeyOf(now, of).key, ["/v1/usage", "/operator/usage", "/operator/results"]],
  ["usage", usageKeyOf(now, of).key, ["/operator/campaigns", "/operator/counts"]],
  ["audit", "0~entry", ["/operator/audit"]],
  ["client-audit", "0~entry", ["/operator/audit?of=clients"]],
  ["client", "crm", ["/operator/clients"]],
  ["token", "0".repeat(26), ["/operator/tokens"]],
  ["backlog", '["crm","agent_sales"]', ["/operator/backlogs", "/operator/why"]],
  ["breaker", "account:twilio", ["/operator/needs", "/operator/pauses"]],
  ["pause", '["agent","agent_sales"]', ["/operator/needs", "/operator/pauses"]],
  ["request", requestId, ["/operator/events?receiver=crm"]],
])("a document of %s %s that only a later version can read", (kind, key, paths) => {
  it.each(paths)("is left out by %s, with an alarm", async (path) => {
    const { app, documents, events } = createTestApi({ environment, now: () => now });
    const next = { kind, key, version: "later", value: "of a later form", expiresAt: null };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the value must be a malformed one
    await documents.write([{ next: next as unknown as StoredDocument, seen: null }]);
    const token = path.startsWith("/v1/") ? tokens.crmReader : tokens.operator;
    expect((await app.request(path, jsonRequest(token))).status).toBe(200);
    const alarm = { level: "alarm", event: "document.unreadable", count: 1 };
    expect(events.filter(isUnreadable)).toContainEqual(alarm);
  });
});

it.each([
  ["/v1/requests", 200],
  [`/v1/requests/${requestId}`, 503],
  [`/v1/requests/${requestId}/calls`, 503],
  [`/v1/calls/${id}`, 503],
  ["/operator/requests", 200],
  [`/operator/requests/${requestId}`, 503],
  ["/operator/campaign?name=spring&client=crm", 503],
  ["/operator/calls", 200],
  ["/operator/calls?state=WAITING", 200],
  [`/operator/calls/${id}`, 503],
  ["/operator/counts", 200],
  ["/operator/review", 200],
  ["/operator/needs", 200],
])(
  "a row that only a later version can read is counted by %s, which answers %d",
  async (path, status) => {
    const row = { id, version: "v", json: JSON.stringify({ state: "RINGING" }) };
    const ledger = createMemoryLedger(new Map([[id, row]]));
    const { app, events } = createTestApi({ ledger, now: () => now });
    const token = path.startsWith("/v1/") ? tokens.crmReader : tokens.operator;
    expect((await app.request(path, jsonRequest(token))).status).toBe(status);
    expect(events.filter(isUnreadable)).toContainEqual(
      expect.objectContaining({ level: "alarm", event: "row.unreadable", count: 1 }),
    );
  },
);

it("cancels no call for a client while only a later version can read it", async () => {
  const row = { id, version: "v", json: JSON.stringify({ state: "RINGING" }) };
  const ledger = createMemoryLedger(new Map([[id, row]]));
  const { app } = createTestApi({ ledger, now: () => now });
  const request = jsonRequest(tokens.crmDesk, "POST", {});
  expect((await app.request(`/v1/calls/${id}/cancel`, request)).status).toBe(503);
});

it("counts rows that it cannot read among the calls that need review", async () => {
  const row = { id, version: "v", json: JSON.stringify({ state: "RINGING" }) };
  const ledger = createMemoryLedger(new Map([[id, row]]));
  const { app } = createTestApi({ ledger, now: () => now });
  const counted = await app.request("/operator/counts", jsonRequest(tokens.operator));
  expect(await counted.json()).toMatchObject({ current: { UNKNOWN: 1, NEEDS_REVIEW: 1 } });
});

it("finds a request of which only a later version can read the row", async () => {
  const row = { id, version: "v", json: JSON.stringify({ state: "RINGING" }) };
  const { app } = createTestApi({
    ledger: createMemoryLedger(new Map([[id, row]])),
    now: () => now,
  });
  const sought = jsonRequest(tokens.operator, "POST", { text: requestId });
  expect(await (await app.request("/operator/search", sought)).json()).toMatchObject({
    found: expect.arrayContaining([{ kind: "request", id: requestId }]),
  });
});

it("knows a request by its key though only a later version can read its row", async () => {
  const { app, ledger } = createTestApi();
  const call = { phone_number: "+12025550123", agent_id: "agent_sales" };
  const headers = { "idempotency-key": "k" };
  await app.request("/v1/calls", jsonRequest(tokens.crm, "POST", call, headers));
  const find = async () => {
    const path = "/v1/requests?idempotency_key=k";
    return (await app.request(path, jsonRequest(tokens.crmReader))).json();
  };
  expect(await find()).toMatchObject({ requests: [{ total: 1, known: false }] });
  ledger.list = async () => ({ rows: [], unreadable: 1 });
  expect(await find()).toMatchObject({ requests: [{ total: 1, known: true }] });
});
