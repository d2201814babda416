import { describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { toAccountName } from "#shared/calls/ids.ts";
import { proveClaimPlaced } from "#shared/calls/lost-claim.ts";
import { type CallState, callStates } from "#shared/calls/states.ts";
import { hourMs } from "#shared/lib/units.ts";
import { aRowIn } from "#test/support/call-rows.ts";

const at = Date.UTC(2026, 5, 1, 12);
const write = { version: "fresh", at: at + hourMs };
const url = "http://127.0.0.1:9/dial";
const route = { account: toAccountName("webhook"), provider: "webhook", url } as const;

/** Returns a row that was claimed twice before the backup unless it waits. */
const rowOf = (state: CallState, more: Partial<CallRow> = {}): CallRow =>
  aRowIn(state, {
    claims: state === "WAITING" ? [] : ["first", "last"],
    attempt: 2,
    claimedAt: state === "WAITING" ? null : at - 1,
    history: [{ at: at - hourMs, state: "WAITING", reason: "turn" }],
    ...more,
  });

describe("a signed proof that a lost claim placed a call", () => {
  const lost = { claim: "lost", route, attempt: 3, pollAt: undefined };
  const prove = (row: CallRow, more: Partial<typeof lost | { pollAt: number }> = {}) =>
    proveClaimPlaced(row, { ...lost, ...more }, write);

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

  it("uses its own account's route if the row names another account", () => {
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
