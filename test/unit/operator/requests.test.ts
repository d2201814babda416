import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { listFinishedIndexes, toRequestView } from "#functions/operator/request-progress.ts";
import { aCall } from "#test/support/calls.ts";
import { rowIn } from "#test/support/rows.ts";

const now = Date.UTC(2026, 10, 21, 12);
const minuteMs = 60_000;

describe("how far a request is", () => {
  it("is counted over calls that lie evenly, each once and each of the request", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.integer({ min: 1, max: 200 }),
        (total, most) => {
          const indexes = listFinishedIndexes(total, most);
          expect(indexes).toHaveLength(Math.min(total, most));
          expect(new Set(indexes).size).toBe(indexes.length);
          expect(indexes.every((index) => index >= 0 && index < total)).toBe(true);
          const ends = [-1, ...indexes, total];
          const gaps = ends.slice(1).map((index, n) => index - (ends[n] ?? 0));
          expect(Math.max(...gaps)).toBeLessThanOrEqual(Math.ceil(total / indexes.length) + 1);
        },
      ),
    );
  });

  it("has no expected end while calls are on the queue, of which nothing is known", () => {
    const row = rowIn("WAITING", aCall({ acceptedAt: now, batchCalls: 2 }));
    const end = { at: now + minuteMs, blockedBy: [], waiting: 0 };
    const endOf = (counted: number) =>
      toRequestView(row, { rows: [row], counted, now, end }).expected_end_at;
    expect(endOf(1)).toBe(new Date(now + minuteMs).toISOString());
    expect(endOf(2)).toBeNull();
  });

  it("counts a call for the rate when it was placed, not when its result came", () => {
    const call = aCall({ acceptedAt: now - 60 * minuteMs, batchCalls: 1 });
    const placed = rowIn("PLACED", call, { at: now - 30 * minuteMs });
    const withResult = { ...placed, updatedAt: now - minuteMs };
    expect(
      toRequestView(withResult, { rows: [withResult], counted: 1, now, end: undefined })
        .calls_per_minute,
    ).toBe(0);
    const late = rowIn("PLACED", call, { at: now - minuteMs });
    expect(
      toRequestView(late, { rows: [late], counted: 1, now, end: undefined }).calls_per_minute,
    ).toBeCloseTo(1 / 15, 2);
  });
});
