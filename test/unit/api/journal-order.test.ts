import { expect, it } from "vitest";
import { createApp } from "#functions/api/app.ts";
import { doNotCallKeyOf } from "#shared/policy/controls.ts";
import { applyEntries } from "#shared/policy/journal-entries.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { createTestApi } from "#test/support/api.ts";
import { hashOf } from "#test/support/dialer-calls.ts";
import { apiEnvironment, tokens } from "#test/support/environment.ts";
import { createMemoryDocuments } from "#test/support/memory-documents.ts";
import { createMemoryJournal } from "#test/support/memory-journal.ts";
import { createMemoryLedger } from "#test/support/memory-ledger.ts";
import { jsonRequest } from "#test/support/json-request.ts";

const number = "+13035550007";
const key = doNotCallKeyOf(hashOf(number));

it("a number that opts out while an operator removes it is on the list after a restore", async () => {
  let now = 1_800_000_000_000;
  const environment = { ...apiEnvironment, CLIENT_RIGHTS: "opt_out" };
  const journal = createMemoryJournal();
  const { deps, documents } = createTestApi({ environment, journal, now: () => now++ });
  const ask = (path: string, token: string, body: object) =>
    createApp(deps).request(path, jsonRequest(token, "POST", body));
  let isRemoved = false;
  deps.documents = {
    ...documents,
    async remove(removals) {
      await documents.remove(removals);
      isRemoved = true;
    },
    async read(keys) {
      const read = await documents.read(keys);
      if (!isRemoved) return read;
      // The operator's removal is found done, and the callee opts out before it is in the journal.
      isRemoved = false;
      const body = { phone_numbers: [number] };
      expect((await ask("/v1/do-not-call", tokens.crmOptOut, body)).status).toBe(200);
      return read;
    },
  };
  expect((await ask("/operator/do-not-call", tokens.operator, { add: [number] })).status).toBe(200);
  expect((await ask("/operator/do-not-call", tokens.operator, { remove: [number] })).status).toBe(
    200,
  );
  expect((await documents.read([key])).get(key.kind, key.key)).toBeDefined();

  const clock = { now: () => now };
  const restored = createMemoryDocuments(clock.now, () => randomVersion());
  const to = {
    documents: restored,
    ledger: createMemoryLedger(),
    clock,
    random: { version: randomVersion },
  };
  for (const name of await journal.list({ limit: 9 })) {
    await applyEntries([(await journal.read(name)) ?? ""], to);
  }
  expect((await restored.read([key])).get(key.kind, key.key)).toBeDefined();
});

it("an opt-out behind a removal holds after a restore, though the clock of its process is behind", async () => {
  let now = 1_800_000_000_000;
  const environment = { ...apiEnvironment, CLIENT_RIGHTS: "opt_out" };
  const journal = createMemoryJournal();
  const { deps } = createTestApi({ environment, journal, now: () => now });
  const ask = async (path: string, token: string, body: object) =>
    (await createApp(deps).request(path, jsonRequest(token, "POST", body))).status;
  expect(await ask("/operator/do-not-call", tokens.operator, { add: [number] })).toBe(200);
  now += 5_000;
  expect(await ask("/operator/do-not-call", tokens.operator, { remove: [number] })).toBe(200);
  now -= 2_000; // another process
  expect(await ask("/v1/do-not-call", tokens.crmOptOut, { phone_numbers: [number] })).toBe(200);
  const restored = createMemoryDocuments(
    () => now,
    () => randomVersion(),
  );
  const to = {
    documents: restored,
    ledger: createMemoryLedger(),
    clock: { now: () => now },
    random: { version: randomVersion },
  };
  const names = await journal.list({ limit: 9 });
  const bodies = await Promise.all(names.map(async (name) => (await journal.read(name)) ?? ""));
  await applyEntries(bodies, to);
  expect((await restored.read([key])).get(key.kind, key.key)).toBeDefined();
});
