import { toRowsRead } from "#shared/ports/unreadable.ts";
import { routeFrom } from "#test/support/plans.ts";
import { describe, expect, it } from "vitest";
import type { CallResult } from "#shared/calls/call-result.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import type { CallbackReport } from "#shared/providers/provider.ts";
import { restoreKey } from "#shared/policy/ledger-epoch.ts";
import { applySettlement } from "#shared/calls/transitions.ts";
import { aCall } from "#test/support/calls.ts";
import { rowIn } from "#test/support/rows.ts";
import { suspendedAt } from "#test/support/document-values.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  type Bench,
  boom,
  documentOf,
  put,
  putDocument,
  putIn,
  rowOf,
  sendEach,
  stateOf,
  webhook,
} from "#test/support/dialer-calls.ts";

const nothing = { human: null, word: null, answeredAt: null, endedAt: null, seconds: null };
const busy: CallResult = { ...nothing, status: "busy", word: "busy" };
const route = routeFrom("webhook", webhook);
const signed = { body: "{}", headers: {}, receivedAt: 1 };

function createBench(told: Partial<CallbackReport & { kind: "reported" }> = {}): Bench {
  const bench = createDialerBench({ plan: { results: { waitMinutes: 30 } } });
  bench.told = async () => ({ kind: "reported", result: busy, ...told });
  return bench;
}

/** Delivers a signed callback of a claim that a restore has lost. */
async function reportLost(bench: Bench, { id, numberHash }: Pick<CallRow, "id" | "numberHash">) {
  const call = { id, claim: "lost", numberHash };
  await bench.eventsQueue.send({ kind: "callback", account: "webhook", signed, call });
  return bench.deliverEvents();
}

const isListed = async (bench: Bench, { numberHash }: Pick<CallRow, "numberHash">) =>
  (await documentOf(bench, "do-not-call", numberHash)) !== undefined;

const rowFor = async (bench: Bench, state: CallRow["state"]): Promise<CallRow> =>
  putIn(bench, state, aCallNow(bench), { route });

describe("a signed callback of a claim that a restore has lost", () => {
  it.each(["WAITING", "UNKNOWN", "NEEDS_REVIEW", "CANCELLED", "REDIALED", "EXPIRED"] as const)(
    "proves that a call that is %s was placed",
    async (state) => {
      const bench = createBench();
      const row = await rowFor(bench, state);
      expect(await reportLost(bench, row)).toEqual(["ack"]);
      const placed = await rowOf(bench, row);
      expect(placed).toMatchObject({ state: "PLACED", reason: "found", request: null });
      expect(placed.claims).toContain("lost");
      expect(placed).toMatchObject({ result: { status: "busy" }, lane: null, dueAt: null });
      const isLate = ["CANCELLED", "REDIALED"].includes(state);
      expect(bench.eventsOf("call.placed_late")).toHaveLength(isLate ? 1 : 0);
    },
  );

  it("counts the call towards its number's cap, whose entry the restore has lost too", async () => {
    const plan = { results: {}, maxCalls: { count: 1, days: 1 } };
    for (const state of ["WAITING", "UNKNOWN", "NEEDS_REVIEW"] as const) {
      const bench = createDialerBench({ plan });
      bench.told = async () => ({ kind: "reported", result: busy });
      await reportLost(bench, await rowFor(bench, state));
      const again = aCallNow(bench);
      await sendEach(bench, again);
      await bench.deliver();
      expect(bench.dialed).toEqual([]);
      expect(await rowOf(bench, again)).toMatchObject({ state: "WAITING", reason: "max_calls" });
    }
  });

  it("leaves a call that was placed under a newer claim, with an alarm", async () => {
    const bench = createBench();
    const row = await rowFor(bench, "PLACED");
    expect(await reportLost(bench, row)).toEqual(["ack"]);
    expect(await rowOf(bench, row)).toEqual(row);
    expect(bench.eventsOf("call.placed_late")).toMatchObject([{ level: "alarm", state: "PLACED" }]);
  });

  it("reports the result of a call that was found after the restore, or that an operator has marked placed", async () => {
    for (const found of [{ lostUntil: 1 }, { claims: [], claimedAt: null, route: null }]) {
      const bench = createBench();
      const row = await rowFor(bench, "PLACED");
      await put(bench, { ...row, ...found, version: "found" });
      await reportLost(bench, row);
      expect((await rowOf(bench, row)).result).toMatchObject({ status: "busy" });
      expect(bench.eventsOf("call.placed_late")).toEqual([]);
    }
  });

  it("waits for the holder of a newer claim", async () => {
    const bench = createBench();
    const row = await rowFor(bench, "DIALING");
    expect(await reportLost(bench, row)).toEqual([{ retryAfterSeconds: 1 }]);
    expect(await rowOf(bench, row)).toEqual(row);
  });

  it.each([
    "WAITING",
    "DIALING",
    "UNKNOWN",
    "NEEDS_REVIEW",
    "PLACED",
    "REJECTED",
    "EXPIRED",
    "CANCELLED",
    "REDIALED",
  ] as const)("lists its opt-out where the call is %s", async (state) => {
    const bench = createBench({ optedOut: true });
    const row = await rowFor(bench, state);
    await reportLost(bench, row);
    expect(await isListed(bench, row)).toBe(true);
    expect((await rowOf(bench, row)).optedOut).toBe(state !== "DIALING");
  });

  it("lists its opt-out at a later delivery, though its claim placed nothing and the call is DIALING again", async () => {
    const bench = createBench({ optedOut: true, result: { ...busy, status: "failed" } });
    const row = await rowFor(bench, "DIALING");
    await put(bench, { ...row, released: ["lost"], version: "again" });
    bench.breakDocuments({ write: boom });
    expect(await reportLost(bench, row)).toEqual([{ retryAfterSeconds: 5 }]);
    bench.repairLedger();
    bench.advance(5_000);
    expect(await bench.deliverEvents()).toEqual(["ack"]);
    expect(await isListed(bench, row)).toBe(true);
  });

  it("lists its opt-out without a row, and is kept until the restore is done", async () => {
    const bench = createBench({ optedOut: true });
    const row = await rowFor(bench, "WAITING");
    const lost = { ...row, id: aCallNow(bench).id };
    const epoch = 1_000_000;
    await putDocument(bench, restoreKey, { ...suspendedAt(bench.now()), epoch });
    expect(await reportLost(bench, lost)).toEqual([{ retryAfterSeconds: 5 }]);
    expect(await isListed(bench, lost)).toBe(true);
    // A message that came again gave the call a row, which waits for a person.
    await put(bench, { ...lost, state: "NEEDS_REVIEW", lane: null, dueAt: null });
    bench.advance(5_000);
    expect(await bench.deliverEvents()).toEqual(["ack"]);
    expect(await rowOf(bench, lost)).toMatchObject({ state: "PLACED", optedOut: true });
  });

  it("is dropped without a row once no restore is under way, and its opt-out is listed", async () => {
    const bench = createBench({ optedOut: true });
    await bench.sweep();
    const row = await rowFor(bench, "WAITING");
    const lost = { ...row, id: aCallNow(bench).id };
    expect(await reportLost(bench, lost)).toEqual(["ack"]);
    expect(await isListed(bench, lost)).toBe(true);
  });

  it("lists its opt-out in a process whose plan asks for no results", async () => {
    const bench = createBench({ optedOut: true });
    const row = await rowFor(bench, "UNKNOWN");
    bench.changePlan({ agents: { agent_sales: webhook } });
    expect(await reportLost(bench, row)).toEqual(["ack"]);
    expect(await isListed(bench, row)).toBe(true);
    expect(await stateOf(bench, row)).toBe("PLACED");
  });

  it("waits for the version that can read its row", async () => {
    const bench = createBench();
    const row = await rowFor(bench, "UNKNOWN");
    bench.breakLedger({
      read: async (ids) => toRowsRead([], ids),
    });
    expect(await reportLost(bench, row)).toEqual([{ retryAfterSeconds: 5 }]);
  });

  it("to an account's address proves an attempt that the row does not have", async () => {
    const bench = createBench();
    const row = await rowFor(bench, "WAITING");
    const call = { id: row.id, attempt: row.attempt + 1 };
    bench.told = async () => ({ kind: "reported", result: busy, call });
    await bench.eventsQueue.send({ kind: "callback", account: "webhook", signed });
    await bench.deliverEvents();
    expect(await rowOf(bench, row)).toMatchObject({ state: "PLACED", attempt: call.attempt });
  });
});

it("remembers the last claims that certainly placed nothing", () => {
  const row = rowIn("DIALING", aCall());
  const [claim = ""] = row.claims;
  const back = {
    id: row.id,
    claim,
    state: "WAITING",
    reason: "http_429",
    dueAt: 1,
    at: 1,
  } as const;
  expect(applySettlement(row, back, "v")).toMatchObject({ claims: [], released: [claim] });
  const before = Array.from({ length: 8 }, (_, index) => `c${index}`);
  const { released } = applySettlement({ ...row, released: before }, back, "v") ?? {};
  expect(released).toEqual([...before.slice(1), claim]);
});
