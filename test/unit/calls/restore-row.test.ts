import { describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { toAccountName } from "#shared/calls/ids.ts";
import { watchLane } from "#shared/calls/lane.ts";
import { leastSequenceOf } from "#shared/calls/lost-time.ts";
import { recoverRow } from "#shared/calls/restore-row.ts";
import type { CallState } from "#shared/calls/states.ts";
import { hourMs } from "#shared/lib/units.ts";
import { aRowIn } from "#test/support/call-rows.ts";

const at = Date.UTC(2026, 5, 1, 12);
const restore = { at, since: at + hourMs };
const write = { version: "fresh", at: restore.since + 5 };
const url = "http://127.0.0.1:9/dial";
const route = { account: toAccountName("webhook"), provider: "webhook", url } as const;
const end = { state: "CANCELLED", reason: "client" } as const;

/** Returns a row that is due, and was claimed twice before the backup unless it waits. */
const rowOf = (state: CallState, more: Partial<CallRow> = {}): CallRow =>
  aRowIn(state, {
    acceptedAt: at - hourMs,
    dueAt: at,
    claims: state === "WAITING" ? [] : ["first", "last"],
    attempt: 2,
    claimedAt: state === "WAITING" ? null : at - 1,
    misses: 3,
    history: [{ at: at - hourMs, state: "WAITING", reason: "turn" }],
    ...more,
  });

describe("a row that may have been dialed in the lost time", () => {
  it.each<[CallState, attempt: number, claimedAt: number]>([
    ["WAITING", 3, at],
    ["DIALING", 2, at - 1],
    ["UNKNOWN", 2, at - 1],
  ])("%s is looked up in all of it", (state, attempt, claimedAt) => {
    const row = rowOf(state);
    const recovered = recoverRow(row, { route, restore }, write);
    expect(recovered).toMatchObject({
      state: "UNKNOWN",
      reason: "restored",
      lane: watchLane,
      dueAt: write.at,
      unknownSince: write.at,
      route,
      claims: [...row.claims, "fresh"],
      attempt,
      claimedAt,
      lostUntil: restore.since,
      misses: 0,
    });
    // No new event gets the id of a lost one.
    expect(leastSequenceOf(row)).toBe(1);
    expect(recovered && leastSequenceOf(recovered)).toBe(101);
  });

  it("gets a claim time no later than the backup", () => {
    const recovered = recoverRow(
      rowOf("DIALING", { claimedAt: at + 1 }),
      { route, restore },
      write,
    );
    expect(recovered?.claimedAt).toBe(at);
  });

  it("goes to review if it cannot be looked up, unless a cancellation ends it", () => {
    const without = { route: undefined, restore };
    expect(recoverRow(rowOf("WAITING"), without, write)).toMatchObject({
      state: "NEEDS_REVIEW",
      reason: "restored",
    });
    expect(recoverRow(rowOf("WAITING"), { ...without, end }, write)).toMatchObject(end);
  });

  it("is never a rejected row", () => {
    expect(recoverRow(rowOf("REJECTED"), { route, restore }, write)).toBeUndefined();
    expect(recoverRow(rowOf("REJECTED"), { route: undefined, restore }, write)).toBeUndefined();
  });
});
