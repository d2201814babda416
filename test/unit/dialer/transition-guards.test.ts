import { toAccountName } from "#shared/calls/ids.ts";
import { accountOf } from "#test/support/account-of.ts";
import { describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import {
  applyAction,
  applyClaim,
  applyDecision,
  applySettlement,
  expireClaim,
  requireReview,
} from "#shared/calls/transitions.ts";
import { aCall } from "#test/support/calls.ts";
import { aRowIn } from "#test/support/call-rows.ts";

const now = 1_000_000;
const call = aCall();
const newCall = { call, numberHash: "hash", numberTail: "23" };
const write = { version: "fresh", at: now };
const route = {
  account: toAccountName("webhook"),
  provider: "webhook",
  url: "http://127.0.0.1:9/dial",
} as const;
const claimed = (more: Partial<CallRow> = {}) =>
  aRowIn("DIALING", { id: call.id, claims: ["last"], dueAt: now - 1, route, ...more });

describe("a change of a row", () => {
  it("sends nothing again to a provider of which the plan says that it repeats", () => {
    const of = { route, account: accountOf(route), newCall };
    const unknown = (idempotent: boolean) =>
      aRowIn("UNKNOWN", { claims: ["last"], dueAt: now - 1, route: { ...route, idempotent } });
    expect(applyClaim(unknown(false), of, write)).toBeUndefined();
    expect(applyClaim(unknown(true), of, write)?.state).toBe("DIALING");
  });

  it("that ends a call by an erasure leaves nothing of the person", () => {
    const erased = { id: call.id, claim: "last", reason: "erased", erasedAt: now - 5, at: now };
    const next = applySettlement(
      claimed({ numberTail: "23" }),
      { ...erased, state: "CANCELLED" },
      "fresh",
    );
    expect(next).toMatchObject({ request: null, numberTail: "", erasedAt: now - 5 });
    const ended = { id: call.id, claim: "last", reason: "operator", at: now };
    const kept = applySettlement(claimed(), { ...ended, state: "CANCELLED" }, "fresh");
    expect(kept).not.toHaveProperty("erasedAt");
    expect(kept?.request).not.toBeNull();
  });

  it("makes no call again whose number is erased", () => {
    const redial = { action: { to: "REDIALED", redialedAs: "call_2" }, by: "ops" } as const;
    const cancel = { action: { to: "CANCELLED" }, by: "ops" } as const;
    const erased = aRowIn("NEEDS_REVIEW", { claims: ["last"], request: null });
    expect(applyAction(erased, redial, write)).toBeUndefined();
    expect(applyAction(erased, cancel, write)?.state).toBe("CANCELLED");
  });

  it("lets no claim lapse that has no time to lapse", () => {
    expect(expireClaim(claimed({ dueAt: null }), now + 60_000, write)).toBeUndefined();
  });

  it("places a call without a route, and asks nobody for its result", () => {
    const settlement = { id: call.id, claim: "last", reason: "found", pollAt: now + 5, at: now };
    const next = applySettlement(
      claimed({ route: null }),
      { ...settlement, state: "PLACED" },
      "fresh",
    );
    expect(next).toMatchObject({ state: "PLACED", lane: null, dueAt: null });
  });
});

describe("a placed call that may be tried again", () => {
  const tries = { number: 1, budget: 3, until: now + 3_600_000, dialedAt: [now - 5] };
  const place = (more: object) => {
    const settlement = { id: call.id, claim: "last", reason: "placed", at: now, ...more };
    return applySettlement(claimed({ tries }), { ...settlement, state: "PLACED" }, "fresh");
  };

  it("keeps its number until its result is asked for", () => {
    const placed = place({ pollAt: now + 5 });
    expect(placed?.request).not.toBeNull();
    expect(placed?.dueAt).toBe(now + 5);
  });

  it("keeps no number where nobody asks for its result", () => {
    expect(place({})).toMatchObject({ request: null, dueAt: null });
  });
});

describe("a row's history", () => {
  it("has a step into another state, though its reason is that of the step before", () => {
    const unknownSince = now - 1_000;
    const row = aRowIn("UNKNOWN", {
      reason: "outcome_unknown",
      unknownSince,
      history: [{ at: unknownSince, state: "UNKNOWN", reason: "outcome_unknown" }],
    });
    expect(requireReview(row, 0, write)?.history).toHaveLength(2);
  });

  it("has the first step of a call, though a new row has the same state and reason", () => {
    const decision = { state: "WAITING", reason: "accepted", dueAt: now } as const;
    expect(applyDecision(undefined, { newCall, decision }, write)?.history).toHaveLength(1);
  });
});
