import { readRows } from "#test/support/reads.ts";
import { describe, expect, it } from "vitest";
import { restoreKey } from "#shared/policy/ledger-epoch.ts";
import { suspendedAt } from "../support/document-values.ts";
import { type DutiesBench, fillBacklogs } from "../support/duties-bench.ts";

/** `LONG=1` runs the largest size, or `BACKLOGS` of it. */
const isLong = process.env["LONG"] === "1";
const largest = { backlogs: Number(process.env["BACKLOGS"] ?? 10_000), calls: 50 };
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const usualMinutesMax = 20;
/** Rows that may have been dialed in the lost time. */
const lostRows = 2_000;

/**
 * Describes how long a restored ledger may take until calls go again, however many wait in it and whenever its sweeps are
 * killed.
 *
 * @param create makes an empty ledger; its `minute` runs the crons of a minute
 */
export function describeLargeRestore(
  name: string,
  create: () => Promise<DutiesBench>,
  { backlogs, calls }: { backlogs: number; calls: number } = { backlogs: 1_200, calls: 5 },
): void {
  const sizes = isLong ? largest : { backlogs, calls };

  describe(`a restore of ${sizes.backlogs} backlogs in ${name}`, () => {
    it("ends within twenty minutes though each second sweep is killed, each at a later step", async () => {
      const bench = await create();
      const { deps } = bench;
      const rows = await fillBacklogs(bench, sizes, bench.now() + 20 * hourMs);
      // Some were due before the ledger was held, and may have been dialed.
      const lost = rows.filter((_, n) => n % Math.ceil(rows.length / lostRows) === 0);
      await deps.ledger.write(
        lost.map((row) => ({
          next: { ...row, dueAt: bench.now() - minuteMs, version: deps.random.version() },
          seen: row.version,
        })),
      );
      const since = bench.now();
      await confirm(bench, since);
      expect(await restoreUnderKills(bench, usualMinutesMax)).toBeGreaterThan(0);
      const after = await readRows(
        deps.ledger,
        lost.map(({ id }) => id),
      );
      expect(after.size).toBe(lost.length);
      for (const row of after.values()) expect(row.state).not.toBe("WAITING");
      expect(bench.dialed).toEqual([]);
    }, 3_600_000);
  });
}

/** Has the service hold a ledger that was restored, and an operator confirm it. Its journal was applied, unless it is said otherwise. */
export async function confirm(
  { deps }: DutiesBench,
  since: number,
  journal = { isJournalDone: true },
): Promise<void> {
  const value = suspendedAt(since, {
    state: "confirmed",
    epoch: 1_000_000,
    at: since - hourMs,
    by: "ops",
    ...journal,
  });
  const next = { ...restoreKey, version: deps.random.version(), value, expiresAt: null };
  await deps.documents.write([{ next, seen: null }]);
}

async function stateOf({ deps }: DutiesBench): Promise<string | undefined> {
  const read = await deps.documents.read([restoreKey]);
  return read.get("restore", restoreKey.key)?.value.state;
}

/** Has a sweep run each minute until a restore is done. Each second one is killed, each at a later step. Returns the kills. */
export async function restoreUnderKills(
  bench: DutiesBench,
  withinMinutes: number,
): Promise<number> {
  const startedAt = bench.now();
  let kills = 0;
  for (let sweeps = 0; (await stateOf(bench)) !== "done"; sweeps++) {
    expect(bench.now() - startedAt).toBeLessThanOrEqual(withinMinutes * minuteMs);
    // The last one is killed as late as a sweep gets.
    if (sweeps % 2 === 0) await killed(bench, 1 + 3 * kills++);
    else await bench.minute();
  }
  return kills;
}

/** Runs the crons of a minute, which are killed after some writes: nothing more of them reaches the ledger. */
async function killed(bench: DutiesBench, writes: number): Promise<void> {
  const { deps } = bench;
  const { ledger, documents } = deps;
  let made = 0;
  const unlessKilled = <Result>(work: () => Promise<Result>) =>
    ++made > writes ? Promise.reject(new Error("killed")) : work();
  deps.ledger = { ...ledger, write: (changes) => unlessKilled(() => ledger.write(changes)) };
  deps.documents = {
    ...documents,
    write: (changes) => unlessKilled(() => documents.write(changes)),
  };
  await bench.minute();
  Object.assign(deps, { ledger, documents });
}
