import { expect, it } from "vitest";
import { checkEpoch } from "../../../functions/dialer/runtime/epoch.ts";
import { replayJournal } from "../../../functions/dialer/sweep/replay-journal.ts";
import { restoreKey, sweepKey } from "../../../shared/policy/controls.ts";
import { appendEntry } from "../../../shared/policy/journal-entries.ts";
import { nameOfEntry } from "../../../shared/ports/journal.ts";
import { suspendedAt } from "../../support/document-values.ts";
import { hashOf, putDocument } from "../../support/dialer-calls.ts";
import { createDialerBench } from "../../support/dialer.ts";

const time = { isOver: () => false };
const confirmed = suspendedAt(1_000_000, {
  state: "confirmed",
  epoch: 5,
  at: 900_000,
  by: "operator",
});

it("a replay goes on behind a page that is shorter than was asked for", async () => {
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
  expect(await replayJournal(confirmed, time, { ...deps, journal })).toMatchObject({
    isJournalDone: true,
  });
  const keys = numbers.map((key) => ({ kind: "do-not-call", key }) as const);
  const read = await bench.documents.read(keys);
  expect(numbers.filter((key) => read.get("do-not-call", key) === undefined)).toEqual([]);
});

it("a sweep applies no more entries than an invocation's queries allow, and the next one goes on", async () => {
  const bench = createDialerBench();
  const { deps } = bench;
  const entries = Array.from({ length: 150 }, (_, n) => `hash${n}`);
  for (const one of entries) await appendEntry({ kind: "list", entries: [one] }, deps);
  let applied = 0;
  const read = (name: string) => {
    applied += 1;
    return deps.journal.read(name);
  };
  const counting = { ...deps, journal: { ...deps.journal, read } };
  const first = await replayJournal(confirmed, time, counting);
  expect(first.isJournalDone).toBe(false);
  expect(applied).toBe(100);
  const second = await replayJournal({ ...confirmed, ...first }, time, counting);
  expect(second.isJournalDone).toBe(true);
  expect(applied).toBe(150);
});

it("a sweep applies as many numbers of a long list as an invocation's queries allow", async () => {
  const bench = createDialerBench();
  const { deps } = bench;
  const numbers = Array.from({ length: 10_000 }, (_, n) => `+1202${2_000_000 + n}`);
  const hashes = numbers.map((number) => hashOf(number));
  for (let n = 0; n < 40; n++) await appendEntry({ kind: "list", entries: hashes }, deps);
  let queries = 0;
  const { read, write } = deps.documents;
  const documents: typeof deps.documents = {
    ...deps.documents,
    read(...args) {
      queries += 1;
      return read(...args);
    },
    write(...args) {
      queries += 1;
      return write(...args);
    },
  };
  let replayed: Awaited<ReturnType<typeof replayJournal>> = { isJournalDone: false };
  for (let sweeps = 1; replayed.isJournalDone !== true; sweeps++) {
    queries = 0;
    const restore = { ...confirmed, ...replayed };
    replayed = await replayJournal(restore, time, { ...deps, documents });
    expect(queries).toBeGreaterThan(0);
    expect(queries).toBeLessThanOrEqual(1_000);
    expect(sweeps).toBeLessThan(5);
  }
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
  expect(await journal.list({ limit: 1_000 })).toEqual([kept]);
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
