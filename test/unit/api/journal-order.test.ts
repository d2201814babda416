import * as fc from "fast-check";
import { expect, it } from "vitest";
import { createApp } from "#functions/api/app.ts";
import { doNotCallKeyOf } from "#shared/policy/number-entries.ts";
import { putEntries } from "#shared/policy/dnc-entries.ts";
import { appendEntry, appendListed, applyEntries } from "#shared/policy/journal-entries.ts";
import { countRemovals } from "#shared/policy/listing-order.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { createTestApi } from "#test/support/api.ts";
import { hashOf } from "#test/support/dialer-calls.ts";
import { apiEnvironment, tokens } from "#test/support/environment.ts";
import { createMemoryDocuments } from "#test/support/memory-documents.ts";
import { createMemoryJournal } from "#test/support/memory-journal.ts";
import { createMemoryLedger } from "#test/support/memory-ledger.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { inSlowTier, perTier } from "#test/support/per-tier.ts";

const environment = { ...apiEnvironment, CLIENT_RIGHTS: "opt_out" };
const number = "+13035550007";
const key = doNotCallKeyOf(hashOf(number));

it("a number that opts out while an operator removes it is on the list after a restore", async () => {
  let now = 1_800_000_000_000;
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

it("a removal behind an opt-out holds after a restore, though the clock of its process is behind", async () => {
  let now = 1_800_000_000_000;
  const journal = createMemoryJournal();
  const { deps } = createTestApi({ environment, journal, now: () => now });
  const ask = async (path: string, token: string, body: object) =>
    (await createApp(deps).request(path, jsonRequest(token, "POST", body))).status;
  expect(await ask("/v1/do-not-call", tokens.crmOptOut, { phone_numbers: [number] })).toBe(200);
  now -= 2_000; // another process
  expect(await ask("/operator/do-not-call", tokens.operator, { remove: [number] })).toBe(200);
  const { documents, deps: to } = createRestored();
  const names = await journal.list({ limit: 9 });
  const bodies = await Promise.all(names.map(async (name) => (await journal.read(name)) ?? ""));
  await applyEntries(bodies, { ...to, clock: { now: () => now } });
  expect((await documents.read([key])).get(key.kind, key.key)).toBeUndefined();
});

it("an opt-out behind a removal holds after a restore, though the clock of its process is behind", async () => {
  let now = 1_800_000_000_000;
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

/** A ledger that a test restores: its documents, and the number that is listed and removed. */
function createRestored() {
  const documents = createMemoryDocuments(
    () => 0,
    () => randomVersion(),
  );
  const deps = { documents, ledger: createMemoryLedger(), random: { version: randomVersion } };
  return {
    documents,
    deps,
    isListed: async () => (await documents.read([key])).get(key.kind, key.key) !== undefined,
  };
}

/**
 * Steps of processes whose clocks are off. `lose` puts an empty ledger in the place of the one that there was, and `replay` applies
 * the journal to it, once more from its beginning after it has ended.
 */
const step = fc.record({
  what: fc.constantFrom("list", "list", "remove", "remove", "lose", "replay"),
  offMs: fc.integer({ min: -4_000, max: 4_000 }),
  afterMs: fc.constantFrom(0, 10, 2_000, 9_000, 11_000, 60_000),
});

it(
  "what is listed and removed holds after a restore as before, whatever the clocks and pages",
  inSlowTier,
  () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 12 }),
        fc.infiniteStream(fc.nat(2)),
        async (steps, pages) => {
          const { take, isListed } = createListingBench(pages);
          const state = { isListed: false, isLost: false };
          for (const one of [...steps, { what: "replay", offMs: 0, afterMs: 0 }]) {
            await take(one);
            if (one.what === "list" || one.what === "remove") state.isListed = one.what === "list";
            else state.isLost = one.what === "lose";
            if (!state.isLost) expect(await isListed()).toBe(state.isListed);
          }
        },
      ),
      { numRuns: perTier({ quick: 60, long: 1_000 }) },
    ),
);

function createListingBench(pages: IterableIterator<number>) {
  const journal = createMemoryJournal();
  let ledger = createRestored();
  let now = 1_800_000_000_000;
  let offMs = 0;
  const clock = { now: () => now + offMs };
  const replay = async () => {
    const names = await journal.list({ limit: 100 });
    while (names.length > 0) {
      const page = names.splice(0, 1 + (pages.next().value ?? 0));
      const bodies = await Promise.all(page.map(async (name) => (await journal.read(name)) ?? ""));
      await applyEntries(bodies, { ...ledger.deps, clock });
    }
  };
  const steps: Record<string, () => Promise<void>> = {
    async list() {
      const deps = { ...ledger.deps, journal, clock };
      await putEntries([key.key], deps);
      await appendListed([key.key], deps);
    },
    async remove() {
      const deps = { ...ledger.deps, journal, clock };
      const at = clock.now();
      const removals = await countRemovals([key.key], at, deps);
      const standing = (await ledger.documents.read([key])).get(key.kind, key.key);
      if (standing !== undefined)
        await ledger.documents.remove([{ ...key, seen: standing.version }]);
      await appendEntry({ kind: "unlist", entries: [key.key], removals }, deps, at);
    },
    async lose() {
      now += 60_000; // nobody restores a ledger faster
      ledger = createRestored();
    },
    async replay() {
      await replay();
      await replay();
    },
  };
  return {
    isListed: () => ledger.isListed(),
    async take({ what, offMs: off, afterMs }: { what: string; offMs: number; afterMs: number }) {
      offMs = off;
      await steps[what]?.();
      now += afterMs;
    },
  };
}
