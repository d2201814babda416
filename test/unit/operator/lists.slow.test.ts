import { expect, it } from "vitest";
import type { CallsPage } from "#functions/operator/calls.ts";
import { createTestApi } from "#test/support/api.ts";
import { aCall } from "#test/support/calls.ts";
import { tokens } from "#test/support/environment.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";

const now = Date.UTC(2026, 10, 21, 12);
const minuteMs = 60_000;

it("finds few old calls behind thousands: by a name at once, by anything else page by page", async () => {
  const { app, ledger, documents } = createTestApi({ now: () => now });
  const few = Array.from({ length: 3 }, (_, n) =>
    aCall({ client: "shop", first: "request", acceptedAt: now - 60 * minuteMs - n * 1000 }),
  );
  const many = Array.from({ length: 2_400 }, (_, n) =>
    aCall({ first: "request", acceptedAt: now - n * 1000 }),
  );
  const rows = [
    ...few.map((call) => rowIn("CANCELLED", call, { reason: "cancelled" })),
    ...many.map((call) => rowIn("CANCELLED", call)),
  ];
  await writeRows(rows, ledger, documents);
  const list = async (query: string): Promise<CallsPage> => {
    const headers = { authorization: `Bearer ${tokens.operator}` };
    const response = await app.request(`/operator/calls?${query}`, { headers });
    return response.json();
  };
  const expected = few.map(({ id }) => id);
  const byName = await list("client=shop");
  expect(byName.calls.map(({ id }) => id)).toEqual(expected);
  expect([byName.cursor, byName.looked_until]).toEqual([undefined, null]);

  const found: string[] = [];
  const looked: (string | null)[] = [];
  let cursor: string | undefined;
  do {
    const page = await list(`reason=cancelled${cursor === undefined ? "" : `&cursor=${cursor}`}`);
    found.push(...page.calls.map(({ id }) => id));
    looked.push(page.looked_until);
    cursor = page.cursor;
  } while (cursor !== undefined && looked.length < 9);
  expect(found).toEqual(expected);
  expect(looked).toEqual([
    new Date(now - 999_000).toISOString(),
    new Date(now - 1_999_000).toISOString(),
    null,
  ]);
});
