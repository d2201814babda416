import { toAccountName } from "#shared/calls/ids.ts";
import { accountOf } from "#test/support/account-of.ts";
import { describe, expect, it } from "vitest";
import { backlogOf, toCall, type CallRow } from "#shared/calls/call-row.ts";
import { watchLane } from "#shared/calls/lane.ts";
import { type CallState, callStates } from "#shared/calls/states.ts";
import {
  applyAction,
  applyClaim,
  type Decided,
  applyDecision,
  expireClaim,
  recordLookupMiss,
  type OperatorAction,
  requireReview,
  applySettlement,
  type Settlement,
  settlementSchema,
} from "#shared/calls/transitions.ts";
import { aCall } from "#test/support/calls.ts";
import { aRowIn } from "#test/support/call-rows.ts";

const now = 1_000_000;
const call = aCall();
const known = { call, numberHash: "hash", numberTail: "23" };
const write = { version: "fresh", at: now };
const route = {
  account: toAccountName("webhook"),
  provider: "webhook",
  url: "http://127.0.0.1:9/dial",
} as const;
const idempotent = { ...route, idempotent: true } as const;

/** Returns a row in each state, as read: claimed twice, unless it waits, and due a second ago. */
const rowOf = (state: CallState, more: Partial<CallRow> = {}): CallRow =>
  aRowIn(state, {
    id: call.id,
    version: "read",
    claims: state === "WAITING" ? [] : ["earlier", "last"],
    dueAt: ["WAITING", "DIALING", "UNKNOWN"].includes(state) ? now - 1 : null,
    unknownSince: state === "UNKNOWN" ? now - 400_000 : null,
    route,
    ...more,
  });

/** Returns the states from which a change is allowed, each with the resulting state. */
const allowedFrom = (change: (row: CallRow) => CallRow | undefined, more: Partial<CallRow> = {}) =>
  Object.fromEntries(
    callStates.flatMap((state) => {
      const next = change(rowOf(state, more));
      return next === undefined ? [] : [[state, next.state]];
    }),
  );
const to = (state: CallState, ...from: CallState[]) =>
  Object.fromEntries(from.map((one) => [one, state]));

const settlementIn = (state: Settlement["state"], claim: string): Settlement => ({
  id: call.id,
  claim,
  state,
  reason: "r",
  at: now,
});
const settlementStates = settlementSchema.shape.state.options;

const decisions: Decided[] = [
  { state: "WAITING", reason: "r", dueAt: now + 5 },
  ...(["EXPIRED", "REJECTED", "CANCELLED", "NEEDS_REVIEW"] as const).map((state) => ({
    state,
    reason: "r",
  })),
];

describe("a settlement", () => {
  const claimedStates = callStates.filter((state) => state !== "WAITING");

  it.each(["last", "earlier"])(
    "PLACED is taken under the %s claim from any state, once resent or not",
    (claim) => {
      const place = (row: CallRow) => applySettlement(row, settlementIn("PLACED", claim), "fresh");
      const others = claimedStates.filter((state) => state !== "PLACED");
      for (const resent of [false, true]) {
        expect(allowedFrom(place, { resent })).toEqual(to("PLACED", ...others));
      }
    },
  );

  it.each<[Settlement["state"], CallState[]]>([
    ["WAITING", ["DIALING", "UNKNOWN"]],
    ["REJECTED", ["DIALING", "UNKNOWN"]],
    ["UNKNOWN", ["DIALING"]],
    ["NEEDS_REVIEW", ["DIALING"]],
    ["CANCELLED", ["DIALING"]],
    ["EXPIRED", ["DIALING"]],
  ])(
    "%s is taken under the last claim from %j, and leaves what was resent UNKNOWN",
    (state, from) => {
      const settle = (row: CallRow) => applySettlement(row, settlementIn(state, "last"), "fresh");
      expect(allowedFrom(settle)).toEqual(to(state, ...from));
      expect(allowedFrom(settle, { resent: true })).toEqual(to("UNKNOWN", "DIALING"));
    },
  );

  it("under an earlier claim is taken for PLACED alone, and under a foreign one for nothing", () => {
    for (const state of settlementStates) {
      for (const resent of [false, true]) {
        const under = (claim: string) =>
          allowedFrom((row) => applySettlement(row, settlementIn(state, claim), "fresh"), {
            resent,
          });
        expect(under("foreign")).toEqual({});
        if (state !== "PLACED") expect(under("earlier")).toEqual({});
      }
    }
  });

  it("PLACED erases the call and keeps the provider's id, also where it says none", () => {
    const settlement = { ...settlementIn("PLACED", "last"), providerCallId: "CA1" };
    const placed = applySettlement(rowOf("DIALING"), settlement, "fresh");
    expect(placed).toMatchObject({
      request: null,
      providerCallId: "CA1",
      lane: null,
      dueAt: null,
    });
    const known1 = rowOf("UNKNOWN", { providerCallId: "CA0" });
    expect(applySettlement(known1, settlementIn("PLACED", "last"), "fresh")?.providerCallId).toBe(
      "CA0",
    );
  });
});

describe("a decision", () => {
  it.each(decisions)("of $state is allowed without a row, and of one that waits", (decision) => {
    const decide = (row: CallRow | undefined) =>
      applyDecision(row, { newCall: known, decision }, write);
    expect(decide(undefined)?.state).toBe(decision.state);
    expect(allowedFrom(decide)).toEqual(to(decision.state, "WAITING"));
    expect(allowedFrom(decide, { resent: true })).toEqual(to(decision.state, "WAITING"));
  });
});

describe("a claim", () => {
  const claim = (row: CallRow | undefined) =>
    applyClaim(row, { route, account: accountOf(route), newCall: known }, write);

  it("is allowed without a row, and of a row that waits and is due", () => {
    expect(claim(undefined)?.state).toBe("DIALING");
    expect(allowedFrom(claim)).toEqual(to("DIALING", "WAITING"));
    expect(claim(rowOf("WAITING", { dueAt: now }))?.state).toBe("DIALING");
    expect(claim(rowOf("WAITING", { dueAt: now + 1 }))).toBeUndefined();
    expect(claim(rowOf("WAITING", { dueAt: null }))).toBeUndefined();
  });

  it("of an unknown outcome is allowed as a resend to an idempotent provider alone", () => {
    expect(allowedFrom(claim, { route: idempotent })).toEqual(to("DIALING", "WAITING", "UNKNOWN"));
    expect(claim(rowOf("UNKNOWN", { route: null }))).toBeUndefined();
    const resend = claim(rowOf("UNKNOWN", { route: { ...idempotent, url: "http://first/" } }));
    expect(resend).toMatchObject({
      resent: true,
      reason: "resent",
      claims: ["earlier", "last", "fresh"],
      // The resend goes to the route of the first request.
      route: { url: "http://first/" },
    });
  });

  it("lapses 25 s after the provider's time limit, and the version of its write is its name", () => {
    expect(claim(rowOf("WAITING", { attempt: 2 }))).toMatchObject({
      version: "fresh",
      claims: ["fresh"],
      attempt: 3,
      resent: false,
      claimedAt: now,
      dueAt: now + 10_000 + 30_000 + 15_000,
      lane: `dialing:${JSON.stringify(["webhook:http://127.0.0.1:9", call.client, call.request.agent_id])}`,
    });
  });
});

describe("the passing of time", () => {
  it("turns DIALING into UNKNOWN past its dueAt, and no state into one that dials", () => {
    const lapse = (row: CallRow) => expireClaim(row, now + 60_000, write);
    expect(allowedFrom(lapse)).toEqual(to("UNKNOWN", "DIALING"));
    expect(allowedFrom(lapse, { resent: true })).toEqual(to("UNKNOWN", "DIALING"));
    expect(lapse(rowOf("DIALING", { dueAt: now }))?.state).toBe("UNKNOWN");
    expect(lapse(rowOf("DIALING", { dueAt: now + 1 }))).toBeUndefined();
  });

  it("turns UNKNOWN into NEEDS_REVIEW after reviewAfterSeconds, and not before", () => {
    const review = (row: CallRow) => requireReview(row, 400, write);
    expect(allowedFrom(review)).toEqual(to("NEEDS_REVIEW", "UNKNOWN"));
    expect(allowedFrom(review, { unknownSince: now - 400_000 })).toEqual(
      to("NEEDS_REVIEW", "UNKNOWN"),
    );
    expect(review(rowOf("UNKNOWN", { unknownSince: now - 399_999 }))).toBeUndefined();
    expect(review(rowOf("UNKNOWN", { unknownSince: null }))).toBeUndefined();
  });

  it("counts an unsuccessful look-up of an UNKNOWN row, whose review time stays", () => {
    const miss = (row: CallRow) => recordLookupMiss(row, now + 60_000, write);
    expect(allowedFrom(miss)).toEqual(to("UNKNOWN", "UNKNOWN"));
    const next = miss(rowOf("UNKNOWN", { misses: 2 }));
    expect(next).toMatchObject({ misses: 3, dueAt: now + 60_000, unknownSince: now - 400_000 });
  });
});

describe("every state", () => {
  it("is entered by some change", () => {
    const acts: OperatorAction[] = [
      { to: "PLACED" },
      { to: "CANCELLED" },
      { to: "REDIALED", redialedAs: "call_2" },
    ];
    const changes: ((row: CallRow) => CallRow | undefined)[] = [
      (row) => applyClaim(row, { route, account: accountOf(route), newCall: known }, write),
      ...decisions.map(
        (one) => (row: CallRow) => applyDecision(row, { newCall: known, decision: one }, write),
      ),
      ...settlementStates.map(
        (one) => (row: CallRow) => applySettlement(row, settlementIn(one, "last"), "fresh"),
      ),
      ...acts.map((one) => (row: CallRow) => applyAction(row, { action: one, by: "ops" }, write)),
    ];
    const entered = changes.flatMap((change) => Object.values(allowedFrom(change)));
    expect(new Set(entered)).toEqual(new Set(callStates));
  });
});

describe("an operator's act", () => {
  it.each<[OperatorAction, CallState[]]>([
    [{ to: "PLACED" }, ["NEEDS_REVIEW"]],
    [{ to: "CANCELLED" }, ["WAITING", "NEEDS_REVIEW"]],
    [{ to: "REDIALED", redialedAs: "call_2" }, ["NEEDS_REVIEW", "REJECTED", "EXPIRED"]],
  ])("of %j is allowed from %j, and keeps the claims", (act, from) => {
    const take = (row: CallRow) => applyAction(row, { action: act, by: "ops" }, write);
    expect(allowedFrom(take)).toEqual(to(act.to, ...from));
    expect(allowedFrom(take, { resent: true })).toEqual(to(act.to, ...from));
    const next = take(rowOf("NEEDS_REVIEW"));
    expect(next).toMatchObject({ claims: ["earlier", "last"], version: "fresh" });
    expect(next?.history.at(-1)).toEqual({ at: now, state: act.to, reason: "operator", by: "ops" });
    expect(next?.redialedAs).toBe(act.to === "REDIALED" ? "call_2" : null);
    expect(next?.request === null).toBe(act.to === "PLACED");
  });
});

describe("a row", () => {
  it("that waits has no claim, its client's and agent's backlog, and the time it was given", () => {
    const waits = { ...settlementIn("WAITING", "last"), dueAt: now + 5 };
    const row = rowOf("UNKNOWN", { misses: 2 });
    expect(applySettlement(row, waits, "fresh")).toMatchObject({
      claims: [],
      resent: false,
      unknownSince: null,
      misses: 0,
      lane: backlogOf(row),
      dueAt: now + 5,
      request: row.request,
    });
  });

  it.each(["REJECTED", "EXPIRED", "CANCELLED", "NEEDS_REVIEW"] as const)(
    "that is %s keeps its claims and its call, and is in no lane",
    (state) => {
      const row = rowOf("DIALING");
      const next = applySettlement(row, settlementIn(state, "last"), "fresh");
      expect(next).toMatchObject({ claims: ["earlier", "last"], lane: null, dueAt: null });
      expect(next && toCall(next)).toEqual(toCall(row));
    },
  );

  it("that is UNKNOWN keeps its claims, is watched, and records since when", () => {
    const settlement = { ...settlementIn("UNKNOWN", "last"), dueAt: now + 60_000 };
    const next = applySettlement(rowOf("DIALING"), settlement, "fresh");
    const watched = { claims: ["earlier", "last"], lane: watchLane };
    expect(next).toMatchObject({ ...watched, dueAt: now + 60_000, unknownSince: now });
    // The outcome has been unknown since before the resend.
    const again = applySettlement(
      rowOf("DIALING", { unknownSince: 7, resent: true }),
      settlement,
      "fresh",
    );
    expect(again?.unknownSince).toBe(7);
  });

  it("keeps what this version does not know of it, whatever is written", () => {
    const later: Partial<CallRow> & { laterField: unknown } = { laterField: { deep: [1] } };
    const made = [
      applyDecision(
        rowOf("WAITING", later),
        { newCall: known, decision: { state: "EXPIRED", reason: "r" } },
        write,
      ),
      applyClaim(
        rowOf("WAITING", later),
        { route, account: accountOf(route), newCall: known },
        write,
      ),
      applySettlement(rowOf("DIALING", later), settlementIn("PLACED", "last"), "fresh"),
      expireClaim(rowOf("DIALING", later), now, write),
      recordLookupMiss(rowOf("UNKNOWN", later), now, write),
      requireReview(rowOf("UNKNOWN", later), 1, write),
      applyAction(rowOf("NEEDS_REVIEW", later), { action: { to: "CANCELLED" }, by: "ops" }, write),
    ];
    for (const next of made) expect(next).toMatchObject({ ...later, version: "fresh" });
  });

  it("records sixty steps of its history, and after them only the end; no step twice in a row", () => {
    let row: CallRow | undefined;
    for (let step = 0; step < 200; step++) {
      row = applyDecision(
        row,
        { newCall: known, decision: { state: "WAITING", reason: `r${step >> 1}`, dueAt: now } },
        write,
      );
    }
    expect(row?.history).toHaveLength(60);
    expect(row?.history.map(({ reason }) => reason).slice(0, 2)).toEqual(["r0", "r1"]);
    row = applyDecision(
      row,
      { newCall: known, decision: { state: "EXPIRED", reason: "expired" } },
      write,
    );
    expect(row?.history).toHaveLength(61);
    expect(row?.history.at(-1)?.state).toBe("EXPIRED");
  });
});
