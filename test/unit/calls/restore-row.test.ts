import { describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { toAccountName } from "#shared/calls/ids.ts";
import { watchLane } from "#shared/calls/lane.ts";
import { isOfRestore, proveLostClaim, recoverRow } from "#shared/calls/restore-row.ts";
import { type CallState, callStates } from "#shared/calls/states.ts";
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
    expect(isOfRestore(row)).toBe(false);
    expect(recovered && isOfRestore(recovered)).toBe(true);
  });

  it("was claimed before the backup at the latest", () => {
    const recovered = recoverRow(
      rowOf("DIALING", { claimedAt: at + 1 }),
      { route, restore },
      write,
    );
    expect(recovered?.claimedAt).toBe(at);
  });

  it("is reviewed where it cannot be looked up, or ends as it was cancelled", () => {
    const without = { route: undefined, restore };
    expect(recoverRow(rowOf("WAITING"), without, write)).toMatchObject({
      state: "NEEDS_REVIEW",
      reason: "restored",
    });
    expect(recoverRow(rowOf("WAITING"), { ...without, end }, write)).toMatchObject(end);
  });

  it("is no other row", () => {
    expect(recoverRow(rowOf("REJECTED"), { route, restore }, write)).toBeUndefined();
    expect(recoverRow(rowOf("REJECTED"), { route: undefined, restore }, write)).toBeUndefined();
  });
});

describe("a signed proof that a lost claim placed a call", () => {
  const lost = { claim: "lost", route, attempt: 3, pollAt: undefined };
  const prove = (row: CallRow, more: Partial<typeof lost | { pollAt: number }> = {}) =>
    proveLostClaim(row, { ...lost, ...more }, write);

  it("is accepted from each state but that of a call that is being dialed, or was placed since", () => {
    const accepted = callStates.filter((state) => prove(rowOf(state)) !== undefined);
    expect(accepted).toEqual(callStates.filter((state) => !/^(DIALING|PLACED)$/.test(state)));
  });

  it("adds the claim, its number, its route and its time", () => {
    const row = rowOf("WAITING", { claims: ["first"], attempt: 1 });
    expect(prove(row)).toMatchObject({
      state: "PLACED",
      reason: "found",
      version: "fresh",
      claims: ["first", "lost"],
      attempt: 3,
      route,
      claimedAt: write.at,
      dueAt: null,
    });
    const known = { ...route, url: `${url}/own` };
    const later = prove(rowOf("UNKNOWN", { attempt: 4, route: known }), { pollAt: write.at + 9 });
    expect(later).toMatchObject({
      attempt: 4,
      route: known,
      claimedAt: at - 1,
      dueAt: write.at + 9,
    });
  });

  it("goes along its own account where the row names another", () => {
    const other = { ...route, account: toAccountName("other") };
    expect(prove(rowOf("UNKNOWN", { route: other }))?.route).toEqual(route);
  });

  it("adds its claim to a call that an operator has marked placed, or that was found after a restore", () => {
    for (const more of [{ claims: [] }, { lostUntil: at }]) {
      const row = rowOf("PLACED", { ...more, history: [] });
      const proved = prove(row);
      expect(proved).toMatchObject({ state: "PLACED", version: "fresh", history: [] });
      expect(proved?.claims).toEqual([...row.claims, "lost"]);
    }
  });
});
