/** Measures the cost of queries of the ledger with more and more rows. */
import type { CallRow } from "#shared/calls/call-row.ts";
import { watchLane } from "#shared/calls/lane.ts";
import { applySettlement } from "#shared/calls/transitions.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { rowIn } from "../support/rows.ts";
import { callOf, makeSweepable, startAt } from "./filled-ledger.ts";
import { ends, inWords, isFalling, short, touchedOf, tripsOf } from "./growth-counts.ts";
import { type Meter, sumOf } from "./meter.ts";
import { table, type Target } from "./report.ts";
import { type CountedPlatform, createService } from "./service.ts";

/** Calls that are claimed, settled and written as waiting at once. */
const together = 40;
const hourMs = 3_600_000;

let made = 0;
/** Returns fresh calls, each newer than the one before, so that lists order them the same way in each run. */
const fresh = () => Array.from({ length: together }, (_, n) => callOf(n, startAt + made++));

/** Returns the ledger operations for fresh calls, and those of an operator's first page. */
function questionsOf(ledger: CallLedger, limit: number): [string, () => Promise<unknown>][] {
  const claims = fresh().map((call) => rowIn("DIALING", call, { at: startAt + 1000 }));
  const placed = claims.flatMap((row): { next: CallRow; seen: string }[] => {
    const { id, version: claim } = row;
    const settlement = {
      id,
      claim,
      state: "PLACED",
      reason: "placed",
      at: startAt + 2000,
    } as const;
    const next = applySettlement(row, settlement, randomVersion());
    return next === undefined ? [] : [{ next, seen: claim }];
  });
  const waits = fresh().map((call) =>
    rowIn("WAITING", call, { at: startAt, dueAt: startAt + 9 * hourMs }),
  );
  const asNew = (rows: CallRow[]) => rows.map((next) => ({ next, seen: null }));
  return [
    [`to claim ${together} calls`, () => ledger.write(asNew(claims))],
    [`to settle ${together} calls`, () => ledger.write(placed)],
    [`to write ${together} calls that wait`, () => ledger.write(asNew(waits))],
    ["what is watched and due", () => ledger.due(watched)],
    ["an operator's first page", () => ledger.list({ all: true, limit })],
    ["an operator's first page, of PLACED", () => ledger.list({ state: "PLACED", limit })],
    [
      "an operator's first page, of NEEDS_REVIEW",
      () => ledger.list({ state: "NEEDS_REVIEW", limit }),
    ],
  ];
}
const watched = { lanes: [{ key: watchLane }], until: startAt, each: 500 };

/** Measures the cost of each operation with more and more rows in the ledger. */
export async function growRows(
  platform: CountedPlatform,
  meter: Meter,
  {
    sizes,
    listed,
    fill,
  }: {
    sizes: readonly number[];
    listed: number;
    fill: (from: number, to: number) => Promise<void>;
  },
): Promise<{ text: string; targets: Target[] }> {
  const service = createService(platform, meter);
  const found = new Map<string, { trips: number; touched: number; text: string }[]>();
  const keep = (what: string) => {
    const counted = sumOf(meter.take().values());
    const [trips, touched] = [tripsOf(counted), touchedOf(counted)];
    const { d1RowsRead: read, d1RowsWritten: written } = counted;
    const { dynamoReadUnits: unitsRead = 0, dynamoWriteUnits: unitsWritten = 0 } = counted;
    const text = `${trips} · ${short(read ?? unitsRead)} · ${short(written ?? unitsWritten)}`;
    found.set(what, [...(found.get(what) ?? []), { trips, touched, text }]);
  };
  let filled = 0;
  for (const size of sizes) {
    await fill(filled, size);
    filled = size;
    // Rows that come due meanwhile must not change the sweep's result.
    platform.clock.set(startAt);
    meter.take();
    for (const [what, ask] of questionsOf(platform.ledger, listed)) {
      await ask();
      keep(what);
    }
    await makeSweepable(platform);
    platform.clock.set(startAt);
    meter.take();
    await service.sweep();
    keep("a sweep");
    platform.deliver(platform.waiting());
    meter.take();
  }
  const all = [...found.values()];
  const sumsOf = (what: "trips" | "touched") =>
    sizes.map((_, index) => all.reduce((sum, costs) => sum + (costs[index]?.[what] ?? 0), 0));
  const unit = platform.name === "AWS" ? "units consumed" : "rows touched";
  const span = `${inWords(sizes[0] ?? 0)} to ${inWords(sizes.at(-1) ?? 0)} rows`;
  const target = {
    what: `growth: round trips and ${unit}, ${platform.name}, ${span}`,
    target: "does not grow",
    measured: [sumsOf("trips"), sumsOf("touched")].map(ends).join(", "),
    met: all.every((costs) =>
      (["trips", "touched"] as const).every((what) => isFalling(costs.map((one) => one[what]))),
    ),
  };
  const text = table(
    ["rows in the ledger", ...sizes.map(inWords)],
    [...found].map(([what, costs]) => [what, ...costs.map((one) => one.text)]),
  );
  return { text, targets: [target] };
}
