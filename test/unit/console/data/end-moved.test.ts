import { describe, expect, it } from "vitest";
import { type EndRead, findMoved } from "#functions/console/data/end-moved.ts";

const noon = Date.parse("2026-06-01T12:00:00Z");
const minuteMs = 60_000;
const isoAt = (minutes: number) => new Date(noon + minutes * minuteMs).toISOString();

/** One reading: when it was made, the end that it expects, and the waits of the last call in minutes. */
function reading(at: number, end: number | null, waits: Record<string, number>): EndRead {
  return {
    at: isoAt(at),
    calls: 100,
    expected_end_at: end === null ? null : isoAt(end),
    end_waits_for: Object.entries(waits).map(([reason, minutes]) => ({
      reason,
      name: "vapi",
      seconds: minutes * 60,
    })),
  };
}

describe("an end that has moved", () => {
  it("is shown with the wait that grew the most", () => {
    const before = reading(0, 120, { pace: 115, turn: 5 });
    const now = reading(10, 240, { pace: 105, live_calls: 120, turn: 5 });
    expect(findMoved(before, now)).toEqual({
      before: isoAt(120),
      toldAt: isoAt(0),
      isEarlier: false,
      cause: { reason: "live_calls", name: "vapi", seconds: 7200 },
    });
  });

  it("is shown as earlier, with the wait that shrank", () => {
    const moved = findMoved(reading(0, 240, { pace: 240 }), reading(5, 120, { pace: 115 }));
    expect(moved).toMatchObject({ isEarlier: true, cause: { reason: "pace", seconds: -7500 } });
  });

  it("has no cause where its waits do not explain it: other calls came or went", () => {
    const moved = findMoved(reading(0, 60, { pace: 60 }), reading(20, 100, { pace: 62 }));
    expect(moved).toMatchObject({ isEarlier: false, cause: undefined });
  });

  it("is not shown below ten minutes, nor below a tenth of the time left, nor if an end is not known", () => {
    const before = reading(0, 600, { pace: 600 });
    expect(findMoved(before, reading(1, 650, { pace: 650 }))).toBeUndefined();
    expect(findMoved(reading(0, 20, {}), reading(1, 29, {}))).toBeUndefined();
    expect(findMoved(before, reading(1, null, {}))).toBeUndefined();
    expect(findMoved(reading(0, null, {}), before)).toBeUndefined();
  });
});
