import { describe, expect, it } from "vitest";
import { compactJournal } from "#functions/dialer/sweep/compact-journal.ts";
import { dayMs, hourMs, minuteMs } from "#shared/lib/units.ts";
import { cancellationKeyOf } from "#shared/policy/cancellation-orders.ts";
import { doNotCallKeyOf } from "#shared/policy/number-entries.ts";
import { appendEntry, type JournalEntry } from "#shared/policy/journal-entries.ts";
import type { DocumentKey } from "#shared/ports/document-kinds.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { aCall, aRequestId } from "../support/calls.ts";
import { hashOf } from "../support/dialer-calls.ts";
import type { DutiesBench } from "../support/duties-bench.ts";
import { readRows } from "../support/reads.ts";
import { rowIn } from "../support/rows.ts";
import { confirm, restoreUnderKills } from "./large-restore.ts";

/** `LONG=1` runs the sizes that are promised. */
const isLong = process.env["LONG"] === "1";
const minutesMax = 15;
/** Rows of each number that is erased. */
const rowsOfNumber = 10;
/** Time that an object takes to be read, where five are read at once: together they take 30 ms. */
const objectMs = 6;

/**
 * Describes how long a restored ledger may take to apply a long journal: cancellations, opt-outs, removals of some of the same
 * numbers, and erasures of these, while sweeps are killed.
 *
 * @param create makes an empty ledger; its `minute` runs the crons of a minute
 */
export function describeLongJournal(name: string, create: () => Promise<DutiesBench>): void {
  const scale = isLong ? 1 : 0.02;
  const sizes = { cancel: 60_000 * scale, list: 30_000 * scale, erase: 5_000 * scale };

  describe(`a restore of a journal of ${sizes.cancel} cancellations in ${name}`, () => {
    it("is ready within fifteen minutes though each second sweep is killed, each at a later step", async () => {
      const bench = await create();
      const { deps } = bench;
      const since = bench.now();
      const numbers = Array.from({ length: sizes.list }, (_, n) => `+1202${2_000_000 + n}`);
      const gone = numbers.slice(0, sizes.erase);
      const rows = await fillRows(bench, gone);
      const requests = await appendAll(bench, { numbers, gone, orders: sizes.cancel });
      // Most of them are older than an hour, and upkeep has gathered them.
      bench.advance(2 * hourMs);
      await compactJournal({ journalAfter: null }, { isOver: () => false }, deps);
      const { read } = deps.journal;
      deps.journal = {
        ...deps.journal,
        read(entry) {
          bench.advance(objectMs);
          return read(entry);
        },
      };
      await confirm(bench, since, { isJournalDone: false });
      const startedAt = bench.now();
      expect(await restoreUnderKills(bench, minutesMax)).toBeGreaterThan(0);
      const ms = bench.now() - startedAt;
      if (isLong) console.log(`${name}: ready after ${(ms / minuteMs).toFixed(1)} minutes`);
      const kept = numbers.slice(gone.length);
      const missing = await Promise.all([
        missingOf(
          bench,
          requests.map((request) => cancellationKeyOf({ request })),
        ),
        missingOf(
          bench,
          kept.map((number) => doNotCallKeyOf(hashOf(number))),
        ),
        missingOf(
          bench,
          gone.map((number) => ({ kind: "erasure" as const, key: hashOf(number) })),
        ),
      ]);
      expect(missing).toEqual([0, 0, 0]);
      const removed = gone.map((number) => doNotCallKeyOf(hashOf(number)));
      expect(await missingOf(bench, removed)).toBe(gone.length);
      // Upkeep erases the rows within a day.
      let halfHours = 0;
      for (; halfHours < 48 && (await keptNumbers(bench, rows)) > 0; halfHours++) {
        for (let minute = 0; minute < 30; minute++) await bench.minute();
      }
      if (isLong) console.log(`${name}: rows erased after ${halfHours / 2} hours`);
      expect(await keptNumbers(bench, rows)).toBe(0);
      expect(bench.dialed).toEqual([]);
    }, 3_600_000);
  });
}

/** Writes waiting calls to each number, of two hundred clients. */
async function fillRows(bench: DutiesBench, numbers: readonly string[]): Promise<CallRow[]> {
  const at = bench.now();
  const rows = numbers.flatMap((phone_number, n) => {
    const client = `client_${n % 200}`;
    const requestId = aRequestId(at);
    return Array.from({ length: rowsOfNumber }, (_, index) => {
      const request = { phone_number, agent_id: "agent_sales", context: { name: "Ada" } };
      const of = { id: toCallId(requestId, index), requestId, client, acceptedAt: at, request };
      return rowIn("WAITING", aCall({ ...of, batchCalls: rowsOfNumber }), {
        at,
        dueAt: at + 48 * hourMs,
      });
    });
  });
  await bench.write(rows);
  return rows;
}

/** Appends the entries, each a millisecond later. Returns the requests that were cancelled. */
async function appendAll(
  bench: DutiesBench,
  { numbers, gone, orders }: { numbers: string[]; gone: string[]; orders: number },
): Promise<string[]> {
  const at = bench.now();
  const append = async (entry: JournalEntry) => {
    bench.advance(1);
    await appendEntry(entry, bench.deps);
  };
  const requests = Array.from({ length: orders }, () => aRequestId(at));
  const order = { client: "crm", at, by: "token", indexes: null };
  for (const request of requests) {
    await append({ kind: "cancel", of: { request }, order, expiresAt: at + 60 * dayMs });
  }
  for (const number of numbers) await append({ kind: "list", entries: [hashOf(number)] });
  for (const number of gone) {
    await append({ kind: "unlist", entries: [hashOf(number)], removals: [1] });
  }
  const erasure = { at, by: "ops", retentionMs: 60 * dayMs };
  for (const number of gone) await append({ kind: "erase", hashes: [hashOf(number)], ...erasure });
  return requests;
}

/** Returns how many documents there are not. */
async function missingOf({ deps }: DutiesBench, keys: readonly DocumentKey[]): Promise<number> {
  let missing = 0;
  for (let start = 0; start < keys.length; start += 500) {
    const some = keys.slice(start, start + 500);
    const read = await deps.documents.read(some);
    missing += some.filter(({ kind, key }) => read.get(kind, key) === undefined).length;
  }
  return missing;
}

/** Returns how many rows have a number still. */
async function keptNumbers({ deps }: DutiesBench, rows: readonly CallRow[]): Promise<number> {
  let kept = 0;
  for (let start = 0; start < rows.length; start += 500) {
    const ids = rows.slice(start, start + 500).map(({ id }) => id);
    const read = await readRows(deps.ledger, ids);
    kept += [...read.values()].filter(({ request }) => request !== null).length;
  }
  return kept;
}
