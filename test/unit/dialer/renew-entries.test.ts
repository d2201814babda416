import { createNumberHasher } from "#shared/telephony/number-hashes.ts";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { doNotCallKeyOf } from "#shared/policy/number-entries.ts";
import { putEntries, putNumbers, removeEntries, renewNumbers } from "#shared/policy/dnc-entries.ts";
import { ConflictError } from "#shared/lib/retry.ts";
import type { Documents } from "#shared/ports/documents.ts";
import { createMemoryDocuments } from "#test/support/memory-documents.ts";
import { currentKey, formerKey } from "#test/support/rotation-bench.ts";
import { perTier } from "#test/support/per-tier.ts";

const hashes = createNumberHasher({ current: currentKey, former: formerKey }).own("+12025550123");
const [currentHash = "", formerHash = ""] = hashes;

/** Where the number's entries stand at first, and for how long the current one has. */
const beginnings = ["former", "both, young", "both, old"] as const;

/** Creates a list that has the number. */
async function createList(beginning: (typeof beginnings)[number]) {
  let now = 0;
  let versions = 0;
  const clock = { now: () => now };
  const random = { version: () => `v${++versions}` };
  const documents = createMemoryDocuments(clock.now, random.version);
  const deps = { documents, clock, random };
  await putEntries([formerHash], deps);
  if (beginning !== "former") await putEntries([currentHash], deps);
  if (beginning === "both, old") now += 60_000;
  const stands = async () => {
    const read = await documents.read(hashes.map(doNotCallKeyOf));
    return hashes.some((hash) => read.get("do-not-call", hash) !== undefined);
  };
  return { deps, stands, advance: (ms: number) => (now += ms) };
}

/** Returns documents each of whose requests and answers waits for its turn. */
function inTurns(documents: Documents, scheduler: fc.Scheduler): Documents {
  const turn = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    await scheduler.schedule(Promise.resolve(), "request");
    const result = await work();
    await scheduler.schedule(Promise.resolve(), "answer");
    return result;
  };
  return {
    ...documents,
    read: (keys) => turn(() => documents.read(keys)),
    write: (changes) => turn(() => documents.write(changes)),
    // An engine removes one after the other.
    remove: async (removals) => {
      for (const one of removals) await turn(() => documents.remove([one]));
    },
  };
}

const acts = fc.record({
  beginning: fc.constantFrom(...beginnings),
  renewals: fc.integer({ min: 1, max: 3 }),
  adds: fc.constantFrom(0, 0, 1),
  removes: fc.constantFrom(0, 1),
  waits: fc.array(fc.constantFrom(0, 30_000, 60_000), { minLength: 3, maxLength: 3 }),
});

it("a renewal neither undoes an operator's removal nor loses a number", async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), acts, async (scheduler, given) => {
      const { deps, stands, advance } = await createList(given.beginning);
      const slow = { ...deps, documents: inTurns(deps.documents, scheduler) };
      const renew = async (waitMs: number) => {
        await scheduler.schedule(Promise.resolve(), "begin");
        advance(waitMs);
        await renewNumbers([hashes], slow);
      };
      const renewed = Array.from({ length: given.renewals }, (_, n) => renew(given.waits[n] ?? 0));
      // An add gives up when other writes come first three times: then it is not answered.
      const added =
        given.adds > 0
          ? putNumbers([hashes], slow).catch((error: unknown) => {
              if (!(error instanceof ConflictError)) throw error;
            })
          : undefined;
      const removed = given.removes > 0 ? removeEntries(hashes, slow) : Promise.resolve(false);
      await scheduler.waitFor(Promise.all([...renewed, added, removed]));
      if (given.removes === 0) expect(await stands()).toBe(true);
      if (given.adds === 0 && (await removed)) expect(await stands()).toBe(false);
    }),
    { numRuns: perTier({ quick: 12, long: 150 }) },
  );
});

it("a removal between the read and the write of a renewal stands", async () => {
  const { deps, stands } = await createList("former");
  let isFirst = true;
  const documents: Documents = {
    ...deps.documents,
    async read(keys) {
      const read = await deps.documents.read(keys);
      if (isFirst) {
        isFirst = false;
        expect(await removeEntries(hashes, deps)).toBe(true);
      }
      return read;
    },
  };
  await renewNumbers([hashes], { ...deps, documents });
  expect(await stands()).toBe(false);
});
