import { describe, expect, it } from "vitest";
import { purgeSome } from "#functions/dialer/sweep/purge.ts";
import { type CallState, callStates } from "#shared/calls/states.ts";
import { aCall } from "#test/support/calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { type Bench, boom, documentOf, put, putDocument } from "#test/support/dialer-calls.ts";
import { rowIn } from "#test/support/rows.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const days = 86_400_000;
const startAt = "2026-06-01T10:00Z";
const createBench = () => createDialerBench({ plan: { retentionDays: 40 }, startAt });
/** Runs a whole purge. */
const run = (bench: Bench) =>
  purgeSome({ purge: null, purgeBeganAt: 0, purgedUntil: 0 }, { isOver: () => false }, bench.deps);
/** Puts the row of a call accepted this many days ago into the ledger. */
async function accepted(bench: Bench, daysAgo: number, state: CallState) {
  const acceptedAt = bench.now() - daysAgo * days;
  const row = rowIn(state, aCall({ acceptedAt }), { at: acceptedAt });
  await put(bench, row);
  return row.id;
}

describe("a purge", () => {
  it("deletes the rows of calls that were accepted longer ago than the retention, and no others", async () => {
    const bench = createBench();
    const kept = [
      await accepted(bench, 39.9, "PLACED"),
      await accepted(bench, 1, "NEEDS_REVIEW"),
      await accepted(bench, 60, "WAITING"),
      await accepted(bench, 60, "DIALING"),
    ];
    for (const state of callStates) {
      if (state !== "WAITING" && state !== "DIALING") await accepted(bench, 40.1, state);
    }
    await run(bench);
    expect(new Set(bench.stored.keys())).toEqual(new Set(kept));
  });

  it("raises no alarm for unresolved test calls", async () => {
    const bench = createBench();
    const acceptedAt = bench.now() - 41 * days;
    const call = aCall({ acceptedAt, client: "test:acme" });
    await put(bench, rowIn("NEEDS_REVIEW", call, { at: acceptedAt }));
    await run(bench);
    expect(bench.eventsOf("call.purged")).toMatchObject([{ level: "info", call_id: call.id }]);
    expect(bench.stored.size).toBe(0);
  });

  it("first raises an alarm for unresolved calls", async () => {
    const bench = createBench();
    const review = await accepted(bench, 41, "NEEDS_REVIEW");
    const unknown = await accepted(bench, 42, "UNKNOWN");
    await accepted(bench, 43, "PLACED");
    await accepted(bench, 44, "REDIALED");
    bench.breakLedger({ purge: boom });
    await bench.upkeep();
    const told = [
      expect.objectContaining({ level: "alarm", call_id: unknown, state: "UNKNOWN" }),
      expect.objectContaining({ level: "alarm", call_id: review, state: "NEEDS_REVIEW" }),
    ];
    expect(bench.eventsOf("call.purged")).toEqual(told); // the event comes before the deletion
    expect(bench.eventsOf("upkeep.failed")).toMatchObject([{ level: "alarm" }]);
    expect(bench.stored.size).toBe(4);
    bench.repairLedger();
    await bench.upkeep();
    expect(bench.eventsOf("call.purged").slice(2)).toEqual(told);
    expect(bench.stored.size).toBe(0);
  });

  it(
    "goes through any number of rows, page by page, and resumes where its time ran out",
    inSlowTier,
    async () => {
      const bench = createBench();
      const acceptedAt = bench.now() - 41 * days;
      const rows = Array.from({ length: 1700 }, () =>
        rowIn("PLACED", aCall({ acceptedAt }), { at: acceptedAt }),
      );
      await put(bench, ...rows);
      const sizes: number[] = [];
      bench.breakLedger({
        async purge(ids) {
          sizes.push(ids.length);
          bench.advance(4_000);
          return bench.rows.purge(ids);
        },
      });
      await bench.upkeep();
      expect(sizes).toEqual([500, 500]); // it has eight seconds
      expect(bench.stored.size).toBe(700);
      await bench.upkeep();
      expect(bench.stored.size).toBe(0);
    },
  );

  it("deletes documents that have expired", async () => {
    const bench = createBench();
    const order = { of: { agent: "stays" }, at: 1, by: "ops" };
    await putDocument(bench, { kind: "pause", key: "stays" }, order);
    const ending = { kind: "do-not-call", key: "ends" } as const;
    await putDocument(bench, ending, { at: 1 }, bench.now() + 1000);
    let isAsked = false;
    bench.breakDocuments({
      async purge(after) {
        isAsked = true;
        return bench.documents.purge(after);
      },
    });
    bench.advance(2000);
    await run(bench);
    expect(isAsked).toBe(true);
    expect(await documentOf(bench, "pause", "stays")).toBeDefined();
    expect(await documentOf(bench, "do-not-call", "ends")).toBeUndefined();
  });
});
