/** Sweeps and upkeeps over SQLite, through D1's adapter, which refuses more statements than D1 takes of an invocation. */
import { listDocuments, readRow } from "#test/support/reads.ts";
import { describe, expect, it } from "vitest";
import { upkeepKey } from "#shared/policy/ledger-epoch.ts";
import { describeLargeRestore } from "#test/contracts/large-restore.ts";
import { describeLongJournal } from "#test/contracts/long-journal.ts";
import { aCall } from "#test/support/calls.ts";
import {
  createDutiesBench,
  type DutiesBench,
  fillBacklogs,
  finishRequests,
} from "#test/support/duties-bench.ts";
import { rowIn } from "#test/support/rows.ts";

/** `npm run test:schedules` runs this file with its largest sizes. */
const isLong = process.env["LONG"] === "1";
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

const unfinished = async ({ deps }: DutiesBench) =>
  (await listDocuments(deps.documents, "request", { limit: 100_000 })).filter(
    ({ value }) => value.finishedAt === null,
  ).length;

const tier = isLong ? 3 : 2;
const sizes = [200, 1_200, 10_000].slice(0, tier);
const rates = [60, 600, 3_000].slice(0, tier);

describe.each(sizes)("with %d backlogs that wait for tomorrow", (backlogs) => {
  it("each minute's crons do all that they are for", { timeout: 600_000 }, async () => {
    const bench = createDutiesBench();
    const { deps } = bench;
    await fillBacklogs(bench, { backlogs }, bench.now() + 20 * hourMs);
    const at = bench.now();
    const ended = rowIn("PLACED", aCall({ client: "crm", acceptedAt: at }), { at, dueAt: at });
    const expired = rowIn(
      "WAITING",
      aCall({ client: `client_${backlogs - 1}`, acceptedAt: at - 1_000 * hourMs }),
      { at, dueAt: at + 20 * hourMs },
    );
    await bench.write([ended, expired]);
    const spent: number[] = [];
    for (let minute = 0; minute < 3; minute++) spent.push(await bench.minute());
    expect(Math.max(...spent)).toBeLessThan(1_000);
    expect(bench.eventsOf("sweep.failed")).toEqual([]);
    expect(bench.eventsOf("upkeep.failed")).toEqual([]);
    // One full round a minute.
    expect(bench.eventsOf("sweep.completed")).toHaveLength(3);
    // All were visited, each once.
    expect((await readRow(deps.ledger, expired.id))?.state).toBe("EXPIRED");
    const read = await deps.documents.read([upkeepKey]);
    expect(read.get("upkeep", upkeepKey.key)?.value).toMatchObject({ walk: null, purge: null });
  });
});

describe.each(rates)("with %d requests a minute that finish", (rate) => {
  it("each is finished within two minutes", { timeout: 600_000 }, async () => {
    const bench = createDutiesBench();
    await fillBacklogs(bench, { backlogs: 200 }, bench.now() + 20 * hourMs);
    for (let minute = 0; minute < 4; minute++) {
      await finishRequests(bench, rate);
      expect(await bench.minute()).toBeLessThan(1_000);
    }
    await bench.minute();
    expect(await unfinished(bench)).toBe(0);
    expect(bench.eventsOf("upkeep.failed")).toEqual([]);
  });
});

describe("expired documents", () => {
  it("are all deleted within two hours, and a gauge shows the age of the oldest", async () => {
    const count = isLong ? 2_000_000 : 70_000;
    const bench = createDutiesBench();
    const { deps } = bench;
    await bench.minute(); // the first purge finds nothing
    const expiresAt = bench.now() + minuteMs;
    for (let start = 0; start < count; start += 5_000) {
      const some = Array.from({ length: 5_000 }, (_, n) => ({
        kind: "counters" as const,
        key: `k${start + n}`,
        version: "v",
        value: {},
        expiresAt,
      }));
      await deps.documents.write(some.map((next) => ({ next, seen: null })));
    }
    bench.advance(hourMs);
    for (let minute = 0; minute < (isLong ? 20 : 4); minute++) await bench.minute();
    const left = await bench.count("counters");
    expect(left).toBe(0);
    const told = bench.eventsOf("sweep.measured").at(-1);
    expect(told?.oldest_expired_seconds).toBeLessThan(2 * 3_600);
    expect(bench.eventsOf("upkeep.late")).toEqual([]);
  });
});

describeLongJournal("D1", async () => createDutiesBench());
describeLargeRestore("D1", async () => createDutiesBench(), {
  backlogs: 1_200,
  calls: 5,
});
