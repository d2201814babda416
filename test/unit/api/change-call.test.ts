import { readRow } from "#test/support/reads.ts";
import { expect, it } from "vitest";
import { toRowsRead } from "#shared/ports/unreadable.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { createTestApi } from "#test/support/api.ts";
import { aCall } from "#test/support/calls.ts";
import { tokens } from "#test/support/environment.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";
import { jsonRequest } from "#test/support/json-request.ts";

/** Creates an API with a call to review, whose row another write changes before each of the first writes of its own. */
async function createBusyApi(others: number) {
  const api = createTestApi();
  const { ledger, documents } = api;
  const row = rowIn("NEEDS_REVIEW", aCall({ acceptedAt: Date.now() }));
  await writeRows([row], ledger, documents);
  const write = ledger.write.bind(ledger);
  let left = others;
  ledger.write = async (changes) => {
    const now = await readRow(ledger, row.id);
    if (now !== undefined && left-- > 0) {
      await write([{ next: { ...now, version: randomVersion() }, seen: now.version }]);
    }
    return write(changes);
  };
  const redial = () =>
    api.app.request(
      `/operator/calls/${row.id}/redial`,
      jsonRequest(tokens.operator, "POST", { not_placed: true }),
    );
  const audited = async () => (await documents.list("audit", { limit: 9 })).length;
  return { redial, audited };
}

it("acts on a call whose row changes meanwhile, but not its state, as where an event is delivered", async () => {
  const { redial, audited } = await createBusyApi(2);
  expect((await redial()).status).toBe(201);
  expect(await audited()).toBe(1);
});

it("waits for the version that can read the row, where another version has changed it meanwhile", async () => {
  const { ledger, documents, app, queue } = createTestApi();
  const row = rowIn("NEEDS_REVIEW", aCall({ acceptedAt: Date.now() }));
  await writeRows([row], ledger, documents);
  const read = ledger.read.bind(ledger);
  ledger.write = async (changes) => {
    ledger.read = async (ids) => toRowsRead([], ids);
    return changes.map(() => false);
  };
  const request = jsonRequest(tokens.operator, "POST", { not_placed: true });
  const answer = await app.request(`/operator/calls/${row.id}/redial`, request);
  expect([answer.status, await answer.text()]).toEqual([
    503,
    expect.stringContaining("later version"),
  ]);
  expect((await read([row.id])).get(row.id)).toMatchObject({ state: "NEEDS_REVIEW" });
  expect(queue.take()).toEqual([]);
});

it("redials no call whose number is erased meanwhile", async () => {
  const { ledger, documents, app, queue } = createTestApi();
  const row = rowIn("REJECTED", aCall({ acceptedAt: Date.now() }));
  await writeRows([row], ledger, documents);
  const write = ledger.write.bind(ledger);
  ledger.write = async (changes) => {
    ledger.write = write;
    const next = { ...row, request: null, version: randomVersion() };
    await write([{ next, seen: row.version }]);
    return write(changes);
  };
  const request = jsonRequest(tokens.operator, "POST", {});
  const answer = await app.request(`/operator/calls/${row.id}/redial`, request);
  expect([answer.status, await answer.text()]).toEqual([409, expect.stringContaining("erased")]);
  // The row names no call that never comes.
  expect((await readRow(ledger, row.id))?.state).toBe("REJECTED");
  expect(queue.take()).toEqual([]);
});

it("ends with a conflict where the row changes again and again", async () => {
  const { redial } = await createBusyApi(3);
  const answer = await redial();
  expect(answer.status).toBe(409);
  expect(await answer.text()).toContain("Do it again");
});
