import { expect, it } from "vitest";
import { createRequestId } from "../../../shared/calls/ids.ts";
import { randomId } from "../../../shared/lib/random.ts";
import { createTestApi } from "../../support/api.ts";
import { aRequestId } from "../../support/calls.ts";
import { tokens } from "../../support/environment.ts";
import { jsonRequest } from "../../support/json-request.ts";
import { createMemoryJournal } from "../../support/memory-journal.ts";

const now = Date.parse("2026-06-01T10:00Z");

function createBench() {
  const journal = createMemoryJournal();
  const api = createTestApi({ journal, now: () => now });
  return {
    cancel: async (id: string) =>
      (await api.app.request(`/v1/requests/${id}/cancel`, jsonRequest(tokens.crmDesk, "POST", {})))
        .status,
    left: async () => [
      (await journal.list({ limit: 1_000 })).length,
      (await api.documents.list("audit", { limit: 1_000 })).length,
    ],
  };
}

it("orders for ids that nobody was given leave nothing behind", async () => {
  const { cancel, left } = createBench();
  for (let n = 0; n < 20; n++) expect(await cancel(createRequestId(now, randomId()))).toBe(404);
  expect(await left()).toEqual([0, 0]);
});

it("an order for calls that may be on the queue is kept, and its repeats add no entry", async () => {
  const { cancel, left } = createBench();
  const id = aRequestId(now - 1_000);
  for (let n = 0; n < 20; n++) expect(await cancel(id)).toBe(200);
  expect((await left())[0]).toBe(1);
});
