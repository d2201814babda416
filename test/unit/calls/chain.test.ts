import { describe, expect, it } from "vitest";
import type { CallResult } from "#shared/calls/call-result.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import {
  awaitsAnalysis,
  chainOf,
  isCallBackNext,
  isLaterTry,
  isTryPending,
  triesLeft,
} from "#shared/calls/chain.ts";
import { callStates } from "#shared/calls/states.ts";
import { aRowIn, suiteNow } from "#test/support/call-rows.ts";

const callBacks = { most: 2, made: 0, until: suiteNow };
const tries = { number: 2, budget: 5, until: suiteNow, dialedAt: [], callBacks };
const next = { id: "next", dueAt: suiteNow };
const unknownTimes = { human: null, word: null, answeredAt: null, endedAt: null, seconds: null };
const live: CallResult = { ...unknownTimes, status: "live" };
const ended: CallResult = { ...unknownTimes, status: "completed" };

/** Returns a placed call's row that is due. */
const placed = (more: Partial<CallRow> = {}) =>
  aRowIn("PLACED", { dueAt: suiteNow, tries, ...more });

it("a chain has the id of its first call", () => {
  expect(chainOf({ id: "third", ancestors: ["first", "second"] })).toBe("first");
  expect(chainOf({ id: "first", ancestors: [] })).toBe("first");
});

it("each try but the first is a later one", () => {
  expect([1, 2, 3].map((number) => isLaterTry({ tries: { ...tries, number } }))).toEqual([
    false,
    true,
    true,
  ]);
  expect(isLaterTry({})).toBe(false);
});

it("a try is pending while the placed call that has named it is due", () => {
  expect(isTryPending(placed({ next }))).toBe(true);
  expect(isTryPending(placed())).toBe(false);
  expect(isTryPending(placed({ next, dueAt: null }))).toBe(false);
  expect(isTryPending(placed({ next, state: "NEEDS_REVIEW" }))).toBe(false);
});

it("a call-back follows a call whose callee was promised a time", () => {
  expect(isCallBackNext({ callBack: { at: suiteNow } })).toBe(true);
  expect(isCallBackNext({ callBack: { reason: "past" } })).toBe(false);
  expect(isCallBackNext({})).toBe(false);
});

it.each<[name: string, awaits: boolean, more: Partial<CallRow>]>([
  ["has ended", true, { result: ended }],
  ["is live", false, { result: live }],
  ["has no result", false, { result: null }],
  ["is not due", false, { result: ended, dueAt: null }],
  ["has a successor", false, { result: ended, next }],
  ["went to review", false, { result: ended, state: "NEEDS_REVIEW" }],
  ["is no try, and whose callee may have opted out", true, { result: ended, tries: undefined }],
])("an analysis is awaited of a call that %s: %s", (_, awaits, more) => {
  expect(awaitsAnalysis(placed(more))).toBe(awaits);
});

describe("the tries that are left", () => {
  it("are the rest of the budget while the call may still be tried again", () => {
    const left = callStates.filter(
      (state) => triesLeft(aRowIn(state, { tries, result: null })) > 0,
    );
    expect(left).toEqual(["WAITING", "DIALING", "UNKNOWN", "NEEDS_REVIEW", "PLACED"]);
    expect(triesLeft(placed({ result: live }))).toBe(3);
  });

  it.each<[name: string, left: number, more: Partial<CallRow>]>([
    ["has ended", 0, { result: ended }],
    ["has ended, and a try follows", 3, { result: ended, next }],
    ["was cancelled while it was live", 0, { result: live, state: "CANCELLED" }],
    ["is to be called back", 0, { result: live, callBack: { at: suiteNow } }],
    ["is no try", 0, { result: live, tries: undefined }],
  ])("of a call that %s are %s", (_, left, more) => {
    expect(triesLeft(placed(more))).toBe(left);
  });
});
