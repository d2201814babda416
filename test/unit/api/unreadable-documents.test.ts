import { expect, it } from "vitest";
import type { Backlogs } from "#functions/operator/backlogs.ts";
import type { StoredDocument } from "#shared/ports/document-kinds.ts";
import { aCall } from "#test/support/calls.ts";
import { createTestApi } from "#test/support/api.ts";
import { tokens } from "#test/support/environment.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";
import { jsonRequest } from "#test/support/json-request.ts";

const now = Date.UTC(2026, 5, 1, 12);

it("operators' lists leave out documents that only a later version can read, and a cancellation finds their calls", async () => {
  const { app, ledger, documents, events } = createTestApi({ now: () => now });
  const waiting = ["agent_sales", "agent_support"].map((agent_id) => {
    const request = { phone_number: "+12025550123", agent_id };
    return rowIn("WAITING", aCall({ acceptedAt: now - 60_000, request }), { dueAt: now });
  });
  await writeRows(waiting, ledger, documents);
  const later: [StoredDocument["kind"], string, object][] = [
    ["backlog", '["crm","agent_sales"]', { answers: "glacial" }],
    ["breaker", 'backlog:["crm","agent_sales"]', { state: "ajar" }],
    ["pause", '["agent","agent_sales"]', { of: { line: 1 } }],
    ["request", "000000Z4300P04F4G2WZN6D000", { client: 1 }],
  ];
  for (const [kind, key, value] of later) {
    const seen = (await documents.read([{ kind, key }])).get(kind, key)?.version ?? null;
    const next = { kind, key, version: "later", value, expiresAt: null };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the value must be a malformed one
    await documents.write([{ next: next as unknown as StoredDocument, seen }]);
  }
  const ask = (path: string, body?: object) =>
    app.request(`/operator${path}`, jsonRequest(tokens.operator, undefined, body));
  const listed = await ask("/backlogs");
  expect(listed.status).toBe(200);
  const { backlogs }: Backlogs = await listed.json();
  expect(backlogs.map(({ agent_id }) => agent_id)).toEqual(["agent_support"]);
  expect((await ask("/pauses")).status).toBe(200);
  // The lists of backlogs, pauses and breakers each lack one; the backlogs' is read twice.
  // The lists of backlogs, which holders of calls are found in, too, of pauses and of breakers each lack one.
  const skipped = { level: "alarm", event: "document.unreadable", count: 1 };
  const alarms = events.filter((one) => Reflect.get(one, "event") === skipped.event);
  expect(alarms).toEqual([skipped, skipped, skipped, skipped]);
  const cancelled = await ask("/cancel", { agent_id: "agent_sales" });
  expect([cancelled.status, await cancelled.json()]).toMatchObject([200, { cancelled: 1 }]);
});
