import { describe, expect, it } from "vitest";
import { compactJournal } from "#functions/dialer/sweep/compact-journal.ts";
import { checkEpoch } from "#functions/dialer/runtime/epoch.ts";
import { replayJournal } from "#functions/dialer/sweep/replay-journal.ts";
import { cancellationKeyOf } from "#shared/policy/cancellation-orders.ts";
import { restoreKey, sweepKey } from "#shared/policy/ledger-epoch.ts";
import { appendEntry, type JournalEntry } from "#shared/policy/journal-entries.ts";
import { nameOfEntry, nameOfPart } from "#shared/ports/journal.ts";
import { suspendedAt } from "#test/support/document-values.ts";
import { countQueries } from "#test/support/count-queries.ts";
import { type Bench, hashOf, putDocument } from "#test/support/dialer-calls.ts";
import { aRequestId } from "#test/support/calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { inSlowTier, perTier } from "#test/support/per-tier.ts";

const time = { isOver: () => false };
const confirmed = suspendedAt(1_000_000, {
  state: "confirmed",
  epoch: 5,
  at: 900_000,
  by: "operator",
});

it("a replay continues after a page that is shorter than was asked for", async () => {
  const bench = createDialerBench();
  const { deps } = bench;
  const numbers = ["+12025550111", "+12025550112", "+12025550113"].map((number) => hashOf(number));
  for (const number of numbers) await appendEntry({ kind: "list", entries: [number] }, deps);
  const { list } = deps.journal;
  // R2 and S3 may answer fewer names than were asked for.
  const journal = {
    ...deps.journal,
    list: ({ after }: { after?: string | undefined }) => list({ after, limit: 1 }),
  };
  await replayAll({ ...deps, journal });
  const keys = numbers.map((key) => ({ kind: "do-not-call", key }) as const);
  const read = await bench.documents.read(keys);
  expect(numbers.filter((key) => read.get("do-not-call", key) === undefined)).toEqual([]);
});

/** Goes on with a replay until it has ended, as sweeps do. Returns the pages that it took. */
async function replayAll(deps: Bench["deps"]): Promise<number> {
  let replayed: Awaited<ReturnType<typeof replayJournal>> = { isJournalDone: false };
  let pages = 0;
  for (; replayed.isJournalDone !== true && pages < 1_000; pages++) {
    replayed = await replayJournal({ ...confirmed, ...replayed }, deps);
  }
  return pages;
}

const numbers = (count: number) =>
  Array.from({ length: count }, (_, n) => hashOf(`+1202${2_000_000 + n}`));

/** Returns those of the numbers that are on the do-not-call list. */
async function listedOf(bench: Bench, hashes: readonly string[]): Promise<string[]> {
  const read = await bench.documents.read(hashes.map((key) => ({ kind: "do-not-call", key })));
  return hashes.filter((key) => read.get("do-not-call", key) !== undefined);
}

it("many entries are applied together, in a few statements", inSlowTier, async () => {
  const bench = createDialerBench();
  const hashes = numbers(2_000);
  for (const one of hashes) await appendEntry({ kind: "list", entries: [one] }, bench.deps);
  const counted = countQueries(bench.deps);
  expect(await replayAll({ ...bench.deps, ...counted })).toBe(5);
  expect(counted.count()).toBeLessThan(40);
  expect(await listedOf(bench, hashes)).toEqual(hashes);
});

it(
  "a replay ends after each megabyte, so that a sweep stores where it is",
  inSlowTier,
  async () => {
    const bench = createDialerBench();
    const all = numbers(40_000);
    for (let start = 0; start < all.length; start += 10_000) {
      await appendEntry({ kind: "list", entries: all.slice(start, start + 10_000) }, bench.deps);
    }
    expect(await replayAll(bench.deps)).toBe(3);
    expect(await listedOf(bench, all)).toEqual(all);
  },
);

it("a replay that is killed at each step ends as one that is not", async () => {
  const hashes = numbers(60);
  const [unlisted, erased] = [hashes.slice(0, 20), hashes.slice(20, 40)];
  const requests = Array.from({ length: 60 }, () => aRequestId());
  /** Replays a journal of each kind of entry, where every run dies at a later step than the one before. */
  const restored = async (stepsMin: number) => {
    const bench = createDialerBench();
    const { deps } = bench;
    const append = (entry: JournalEntry) => {
      bench.advance(1);
      return appendEntry(entry, deps);
    };
    const order = { client: "crm", at: 1_000_000, by: "token", indexes: null };
    for (const [n, one] of hashes.entries()) {
      const of = { request: requests[n] ?? "" };
      await append({ kind: "cancel", of, order, expiresAt: 9e12 });
      await append({ kind: "list", entries: [one] });
    }
    for (const one of unlisted) await append({ kind: "unlist", entries: [one], removals: [1] });
    const erasure = { at: 1_000_000, by: "ops", retentionMs: 9e9 };
    for (const one of erased) await append({ kind: "erase", hashes: [one], ...erasure });
    let replayed: Awaited<ReturnType<typeof replayJournal>> = { isJournalDone: false };
    let [runs, steps] = [0, stepsMin];
    const dying = <Values extends unknown[], Answer>(
      work: (...values: Values) => Promise<Answer>,
    ) => {
      return async (...values: Values) => {
        if (--steps < 0) throw new Error("killed");
        return work(...values);
      };
    };
    const { documents, journal } = deps;
    const broken = {
      ...deps,
      journal: { ...journal, list: dying(journal.list), read: dying(journal.read) },
      documents: {
        ...documents,
        read: dying(documents.read),
        write: dying(documents.write),
        remove: dying(documents.remove),
      },
    };
    for (; replayed.isJournalDone !== true && runs < 1_000; runs++) {
      steps = stepsMin + runs;
      const killed = { ...confirmed, ...replayed };
      replayed = await replayJournal(killed, broken).catch(() => replayed);
    }
    const ofKind = async (kind: "do-not-call" | "cancellation" | "erasure") =>
      (await documents.list(kind, { limit: 1_000 }))
        .map((one) => ({ key: one.key, value: "value" in one ? one.value : null }))
        .toSorted((a, b) => (a.key < b.key ? -1 : 1));
    const all = [
      await ofKind("do-not-call"),
      await ofKind("cancellation"),
      await ofKind("erasure"),
    ];
    return { all, runs };
  };
  const whole = await restored(Infinity);
  expect(whole.all.map(({ length }) => length)).toEqual([40, 60, 20]);
  for (const steps of [0, 60]) {
    const killed = await restored(steps);
    expect(killed.runs).toBeGreaterThan(whole.runs + 3);
    expect(killed.all).toEqual(whole.all);
  }
});

it("a page of long lists takes no more statements than an invocation has", inSlowTier, async () => {
  const bench = createDialerBench();
  const { deps } = bench;
  const hashes = numbers(10_000);
  const lists = perTier({ quick: 8, long: 40 });
  for (let n = 0; n < lists; n++) await appendEntry({ kind: "list", entries: hashes }, deps);
  let replayed: Awaited<ReturnType<typeof replayJournal>> = { isJournalDone: false };
  for (let sweeps = 1; replayed.isJournalDone !== true; sweeps++) {
    const counted = countQueries(deps, 1_000);
    const isOver = () => counted.count() > 500;
    while (replayed.isJournalDone !== true && !isOver()) {
      const restore = { ...confirmed, ...replayed };
      replayed = await replayJournal(restore, { ...deps, ...counted });
    }
    expect(sweeps).toBeLessThan(10);
  }
});

describe("entries of an hour ago", () => {
  /** An upkeep's part of it. */
  const compact = (bench: Bench, journalAfter: string | null = null) =>
    compactJournal({ journalAfter }, time, bench.deps);
  const namesIn = (bench: Bench) => bench.deps.journal.list({ limit: 1_000 });

  it("are gathered into parts, which a restore applies in their place and order", async () => {
    const bench = createDialerBench();
    const { deps } = bench;
    const hashes = numbers(700);
    for (const [n, hash] of hashes.entries()) {
      bench.advance(10);
      await appendEntry({ kind: "list", entries: [hash] }, deps);
      // Every third is taken off again: the later entry holds.
      bench.advance(10);
      if (n % 3 === 0) await appendEntry({ kind: "unlist", entries: [hash], removals: [1] }, deps);
    }
    bench.advance(2 * 3_600_000);
    await appendEntry({ kind: "list", entries: hashes.slice(0, 1), removals: [1] }, deps);
    const { journalAfter } = await compact(bench);
    expect((await namesIn(bench)).length).toBeLessThan(5);
    expect(await compact(bench, journalAfter)).toEqual({ journalAfter });
    await replayAll(deps);
    expect(await listedOf(bench, hashes)).toEqual(hashes.filter((_, n) => n === 0 || n % 3 !== 0));
  });

  it("stay as they are while they are few, for a day", async () => {
    const bench = createDialerBench();
    for (const one of numbers(20)) {
      await appendEntry({ kind: "list", entries: [one] }, bench.deps);
    }
    bench.advance(3 * 3_600_000);
    await compact(bench);
    expect(await namesIn(bench)).toHaveLength(20);
    bench.advance(86_400_000);
    await compact(bench);
    expect(await namesIn(bench)).toHaveLength(1);
  });

  it("are applied though the process died at any step of gathering them", async () => {
    for (const steps of [0, 1, 2]) {
      const bench = createDialerBench();
      const { deps } = bench;
      const hashes = numbers(120);
      for (const hash of hashes) await appendEntry({ kind: "list", entries: [hash] }, deps);
      bench.advance(2 * 3_600_000);
      let done = 0;
      const dying = async (work: () => Promise<void>) => {
        if (++done > steps) throw new Error("killed");
        return work();
      };
      const journal = {
        ...deps.journal,
        append: (name: string, body: string) => dying(() => deps.journal.append(name, body)),
        remove: (names: readonly string[]) => dying(() => deps.journal.remove(names)),
      };
      await compactJournal({ journalAfter: null }, time, { ...deps, journal }).catch(() => null);
      await compact(bench);
      await replayAll(deps);
      expect(await listedOf(bench, hashes)).toEqual(hashes);
    }
  });
});

it("sweeps remove more entries than a page within an hour, and none that a restore may need", async () => {
  const bench = createDialerBench({ startAt: "2026-06-01T00:00:00Z" });
  const { journal } = bench.deps;
  const dayMs = 86_400_000;
  for (let n = 0; n < 450; n++)
    await journal.append(nameOfEntry(bench.now() - 46 * dayMs + n, "0a"), "");
  const kept = nameOfEntry(bench.now() - 44 * dayMs, "0a");
  await journal.append(kept, "");
  await bench.simulate(3600);
  expect(await journal.list({ limit: 1_000 })).toEqual([nameOfPart(kept)]);
});

const order = { client: "crm", at: 800_000, by: "crm", indexes: null };
const cancelled = { kind: "cancel", of: { agent: "agent_sales" }, order, expiresAt: 9e12 };
const narrower = { ...cancelled, of: { ...cancelled.of, campaign: "spring" } };
const value = {
  agents: ["*"],
  quota: null,
  generation: "a",
  createdAt: 1,
  changedAt: 1,
  by: "operator",
  isRemoved: false,
  needs: ["only-from"],
};
const needy = { kind: "client", name: "crm", value, expiresAt: null };

it.each([
  ["a narrower target", narrower],
  ["a name in `needs`", { ...cancelled, needs: ["campaign"] }],
  ["a value with a name in `needs`", needy],
])("an entry with %s waits for the version that can read it", async (_, entry) => {
  const bench = createDialerBench();
  await bench.deps.journal.append(nameOfEntry(950_000, "0a"), JSON.stringify(entry));
  await expect(replayAll(bench.deps)).rejects.toThrow();
  const key = { kind: "cancellation", key: '["agent","agent_sales"]' } as const;
  expect((await bench.documents.read([key])).find(key.kind, key.key)).toBeUndefined();
});

it("a ledger that is put back into the middle of a restore has its journal applied anew", async () => {
  const bench = createDialerBench();
  await putDocument(bench, restoreKey, { ...confirmed, journalAfter: "9", isJournalDone: true });
  const read = await bench.documents.read([restoreKey, sweepKey]);
  const restore = await checkEpoch(27, read, bench.deps);
  expect(restore?.value).toMatchObject({ state: "confirmed", at: confirmed.at, epoch: 27 });
  expect(restore?.value.journalAfter).toBeUndefined();
  expect(restore?.value.isJournalDone).not.toBe(true);
});

it("an order whose expiry 0.2.0 wrote with a fraction is given again in whole milliseconds", async () => {
  const bench = createDialerBench();
  const requestId = aRequestId();
  const later = bench.deps.clock.now() + 1_000;
  const entry: JournalEntry = {
    kind: "cancel",
    of: { request: requestId },
    order: { client: null, at: 900_000, by: "system", indexes: null },
    expiresAt: later + 0.333,
  };
  await appendEntry(entry, bench.deps);
  await replayAll(bench.deps);
  const key = cancellationKeyOf({ request: requestId });
  const read = await bench.documents.read([key]);
  expect(read.get(key.kind, key.key)?.expiresAt).toBe(later + 1);
});
