import { describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { mayHaveBeenDialed, mayHaveHadRow } from "#shared/calls/lost-time.ts";
import { callStates } from "#shared/calls/states.ts";
import { clocksMarginMs } from "#shared/lib/timing.ts";
import { dayMs, hourMs } from "#shared/lib/units.ts";
import { aCall, aRequestId } from "#test/support/calls.ts";
import { aRowIn } from "#test/support/call-rows.ts";

/** The ledger was restored to the time `at`. Dialing was suspended an hour later. */
const at = Date.UTC(2026, 5, 1, 12);
const since = at + hourMs;
const before = { at: at - hourMs, state: "WAITING", reason: "r" } as const;
const tries = {
  number: 2,
  budget: 3,
  until: since + dayMs,
  dialedAt: [],
  callBacks: { most: 2, made: 0, until: since + dayMs },
};
const promised = { ...tries, promisedAt: since + dayMs };
const wished = (promisedAt: number) =>
  ({ at: promisedAt, state: "WAITING", reason: "call_back" }) as const;

const released = (claimedAt: number) => ({ released: ["claim"], claimedAt });

/** Returns whether a call may have been dialed in the lost time, by a row that is older than the backup. */
function isLost(state: CallRow["state"], more: Partial<CallRow> = {}): boolean {
  const acceptedAt = at - hourMs;
  const row = aRowIn(state, { acceptedAt, updatedAt: acceptedAt, history: [before], ...more });
  return mayHaveBeenDialed(row, { at, since });
}

it("counts a call as accepted before the suspension within the margin of two clocks", () => {
  expect(mayHaveHadRow(aCall({ acceptedAt: since + clocksMarginMs }), since)).toBe(true);
  expect(mayHaveHadRow(aCall({ acceptedAt: since + clocksMarginMs + 1 }), since)).toBe(false);
});

it("counts a call as accepted when its request first came, though a repeat has renewed it", () => {
  const requestId = aRequestId(since + clocksMarginMs);
  expect(mayHaveHadRow(aCall({ requestId, acceptedAt: since + dayMs }), since)).toBe(true);
  const later = aRequestId(since + clocksMarginMs + 1);
  expect(mayHaveHadRow(aCall({ requestId: later, acceptedAt: since + dayMs }), since)).toBe(false);
});

describe("a row of a restored ledger may have been dialed in the lost time", () => {
  it("in a state in which the service continues with the call", () => {
    const lost = callStates.filter((state) => isLost(state, { dueAt: since }));
    expect(lost).toEqual(["WAITING", "DIALING", "UNKNOWN"]);
  });

  it.each(["DIALING", "UNKNOWN"] as const)("%s, whenever it is due", (state) => {
    expect(isLost(state, { dueAt: since + dayMs })).toBe(true);
  });

  it("unless it was accepted after the suspension", () => {
    expect(isLost("DIALING", { acceptedAt: since + clocksMarginMs })).toBe(true);
    expect(isLost("DIALING", { acceptedAt: since + clocksMarginMs + 1 })).toBe(false);
  });

  it("unless it is looked up in all of that time already", () => {
    expect(isLost("UNKNOWN", { lostUntil: since - 1 })).toBe(true);
    expect(isLost("UNKNOWN", { lostUntil: since })).toBe(false);
    expect(isLost("UNKNOWN", { lostUntil: since + 1 })).toBe(false);
  });

  it.each<[name: string, isLost: boolean, more: Partial<CallRow>]>([
    ["was due within the margin", true, { dueAt: since + clocksMarginMs }],
    ["was not due", false, { dueAt: since + clocksMarginMs + 1 }],
    ["has no due time", true, { dueAt: null }],
    ["began after the backup", true, { history: [{ ...before, at: at + 1 }] }],
    ["began with the backup", false, { history: [{ ...before, at }] }],
    ["began before the backup and changed after it", false, { updatedAt: at + 1 }],
    ["has no history and was written after the backup", true, { history: [], updatedAt: at + 1 }],
    ["has no history and was written before the backup", false, { history: [], updatedAt: at }],
    ["is a retry that a wish may have moved", true, { tries }],
    ["may have rung though its claim was given back", true, released(since + clocksMarginMs)],
    ["is a redial of a call that may have rung", true, { ancestors: ["call"] }],
    ["was claimed after the suspension alone", false, released(since + clocksMarginMs + 1)],
    ["is a first call", false, { tries: { ...tries, number: 1 } }],
    [
      "is a retry of an agent without call-backs",
      false,
      { tries: { ...tries, callBacks: undefined }, ancestors: ["call"] },
    ],
    ["was promised before the backup", false, { tries: promised, history: [before, wished(at)] }],
    ["was promised after the backup", true, { tries: promised, history: [before, wished(at + 1)] }],
    ["was promised, and its full history does not say when", true, { tries: promised }],
  ])("if it waits and %s: %s", (_, expected, more) => {
    expect(isLost("WAITING", { dueAt: since + dayMs, ...more })).toBe(expected);
  });
});
