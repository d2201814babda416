import { expect, it } from "vitest";
import { restoreKey } from "#shared/policy/ledger-epoch.ts";
import type { OperatorApiBench } from "./setup.ts";
import { suspendedAt } from "#test/support/document-values.ts";
import { removeCurrent } from "#test/support/documents.ts";

/** Describes what an operator says of a ledger that was restored from a backup. */
export function itConfirmsRestores(api: OperatorApiBench): void {
  const { ask, documentOf, putDocument } = api;
  const none = {
    restored_to: null,
    by: null,
    looked_up: 0,
    to_review: 0,
    rows_read: 0,
    backlogs_read: 0,
  };
  const stored = async () => (await documentOf(restoreKey.kind, restoreKey.key))?.value;

  it("confirms a restore that a sweep has noticed, once", async () => {
    expect((await ask("/restored")).body).toEqual({ ...none, state: "none", since: null });
    const since = Date.now() - 60_000;
    await putDocument(restoreKey.kind, restoreKey.key, suspendedAt(since, { epoch: 7 }));
    const noticed = new Date(since).toISOString();
    expect((await ask("/restored")).body).toEqual({ ...none, state: "suspended", since: noticed });
    expect((await ask("/counts")).body).toMatchObject({ suspended_since: noticed });

    const late = await ask("/restored", { at: new Date(since + 1000).toISOString() });
    expect([late.status, late.body.errors[0]?.pointer]).toEqual([422, "/at"]);
    const at = new Date(since - 3_600_000).toISOString();
    const confirmed = await ask("/restored", { at });
    const view = { ...none, state: "confirmed", since: noticed, restored_to: at, by: "operator" };
    expect([confirmed.status, confirmed.body]).toEqual([200, view]);
    expect(await stored()).toMatchObject({ state: "confirmed", since, epoch: 7 });
    expect((await ask("/restored", { at })).status).toBe(409);
    const [entry] = (await ask("/audit?limit=1&action=restored")).body.entries;
    expect(entry).toMatchObject({ action: "restored", target: `ledger ${at}`, by: "operator" });
    await removeCurrent(api.documents, restoreKey);
  });

  it("declares a restore that no sweep has noticed, as of now", async () => {
    const before = Date.now();
    const late = new Date(before + 60_000).toISOString();
    const refused = await ask("/restored", { at: late, unnoticed: true });
    expect([refused.status, refused.body.errors[0]?.pointer]).toEqual([422, "/at"]);
    const now = new Date(before).toISOString();
    expect((await ask("/restored", { at: now })).status).toBe(409);
    for (const body of [{}, { at: "yesterday" }, { at: 1 }]) {
      expect((await ask("/restored", body)).status).toBe(422);
    }
    expect(await stored()).toBeUndefined();
    const at = new Date(before - 60_000).toISOString();
    expect((await ask("/restored", { at, unnoticed: true })).status).toBe(200);
    const current = await stored();
    expect(current?.state).toBe("confirmed");
    expect(current?.since).toBeGreaterThanOrEqual(before);
    await removeCurrent(api.documents, restoreKey);
  });
}
