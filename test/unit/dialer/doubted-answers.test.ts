import { describe, expect, it } from "vitest";
import type { CallResult } from "#shared/calls/call-result.ts";
import { accountNameOf } from "#shared/calls/call-request.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { doubtRelease } from "#shared/calls/lost-claim.ts";
import type { CallState } from "#shared/calls/states.ts";
import { enterState } from "#shared/calls/transitions.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";
import { countedIn, dayKeyOf } from "#shared/policy/day-counts.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  type Bench,
  dispatchOf,
  documentOf,
  due,
  idsDialed,
  ownAccount,
  put,
  putDocument,
  putIn,
  rowOf,
  sendEach,
  stateOf,
  webhook,
} from "#test/support/dialer-calls.ts";
import { routeFrom } from "#test/support/plans.ts";
import { createBench as createResultsBench, route as twilio } from "#test/support/results-bench.ts";

const nothing = { human: null, word: null, answeredAt: null, endedAt: null, seconds: null };
const talked: CallResult = { ...nothing, status: "completed", human: true, seconds: 72 };
const failed: CallResult = { ...nothing, status: "failed" };
const signed = { body: "{}", headers: {}, receivedAt: 1 };
const route = routeFrom("webhook", webhook);

const maxCalls = { count: 2, days: 1 };

function createBench(result = talked, more: object = {}): Bench {
  const bench = createDialerBench({ plan: { results: { waitMinutes: 30 }, maxCalls, ...more } });
  bench.told = async () => ({ kind: "reported", result });
  return bench;
}

/** Dials a call to which its provider gives this answer, and returns its row and its claim. */
async function answered(bench: Bench, answer: DialOutcome) {
  bench.answer = async () => answer;
  const call = aCallNow(bench);
  await sendEach(bench, call);
  await bench.deliver();
  const row = await rowOf(bench, call);
  return { call, row, claim: row.released?.[0] ?? row.claims[0] ?? "" };
}

async function report(bench: Bench, { id }: CallRow, claim: string | undefined) {
  const call = claim === undefined ? {} : { call: { id, claim } };
  await bench.eventsQueue.send({ kind: "callback", account: "webhook", signed, ...call });
  return bench.deliverEvents();
}

const capEntries = async (bench: Bench, { numberHash }: CallRow) =>
  (await documentOf(bench, "cap", numberHash))?.value.entries;

/** Returns how many calls the account has placed today. */
async function countedToday({ documents, now }: Bench, account: string): Promise<number> {
  return countedIn(await documents.read([dayKeyOf({ account }, now())]), { account }, now());
}

const daily = { providers: { webhook: { callsPerDay: 1 } } };

const refusal = { kind: "not_placed", code: "http_503" } as const;

describe("a signed callback of a call whose own answer said that nothing was placed", () => {
  it.each([
    ["WAITING", refusal],
    ["WAITING", { kind: "account_refused", code: "http_401" }],
    ["REJECTED", { kind: "rejected", code: "http_404" }],
  ] as const)("proves a call that is %s placed if its phone rang", async (state, answer) => {
    const bench = createBench();
    const { call, row, claim } = await answered(bench, answer);
    expect(row.state).toBe(state);
    expect(await report(bench, row, claim)).toEqual(["ack"]);
    expect(await rowOf(bench, row)).toMatchObject({
      state: "PLACED",
      reason: "found",
      claims: [claim],
      request: null,
      result: { status: "completed", seconds: 72 },
    });
    expect(bench.eventsOf("call.placed_late")).toMatchObject([{ level: "alarm", state }]);
    bench.answer = async () => ({ kind: "placed" });
    bench.advance(60_000);
    await bench.send(due(call));
    await bench.deliver();
    expect(idsDialed(bench)).toHaveLength(1);
  });

  it("lists its opt-out and raises an alarm though another account, whose receiver ignores repeats, placed the call", async () => {
    const bench = createBench();
    bench.told = async () => ({ kind: "reported", result: talked, optedOut: true });
    const { row, claim } = await answered(bench, refusal);
    const other = routeFrom("webhook", { ...webhook, provider: "other" });
    const placed = { state: "PLACED", version: "placed", lane: null, dueAt: null } as const;
    await put(bench, {
      ...row,
      ...placed,
      claims: ["next"],
      route: { ...other, idempotent: true },
    });
    expect(await report(bench, row, claim)).toEqual(["ack"]);
    expect(bench.eventsOf("call.placed_late")).toMatchObject([{ state: "PLACED" }]);
    expect(await documentOf(bench, "do-not-call", row.numberHash)).toBeDefined();
  });

  it("counts towards the caps of its number again", async () => {
    const bench = createBench();
    const { row, claim } = await answered(bench, refusal);
    expect(await capEntries(bench, row)).toEqual([]);
    await report(bench, row, claim);
    expect(await capEntries(bench, row)).toMatchObject([{ call: row.id, claim }]);
  });

  it("counts towards the caps of its number though another call has taken the room", async () => {
    const bench = createBench(talked, { maxCalls: { count: 1, days: 1 } });
    const { row, claim } = await answered(bench, refusal);
    const other = { call: "other", claim: "other", at: bench.now() };
    const name = { kind: "cap", key: row.numberHash } as const;
    await putDocument(bench, name, { entries: [other] });
    await report(bench, row, claim);
    expect(await capEntries(bench, row)).toMatchObject([other, { call: row.id, claim }]);
  });

  it.each([
    ["WAITING", refusal],
    ["REJECTED", { kind: "rejected", code: "http_404" }],
    ["NEEDS_REVIEW", { kind: "forbidden", code: "http_403" }],
  ] as const)("counts once towards its account's day if it is %s", async (state, answer) => {
    const bench = createBench(talked, daily);
    const { row, claim } = await answered(bench, answer);
    expect(row.state).toBe(state);
    expect(await countedToday(bench, ownAccount)).toBe(0);
    for (let times = 0; times < 2; times++) {
      await report(bench, row, claim);
      expect(await countedToday(bench, ownAccount)).toBe(1);
      expect(await capEntries(bench, row)).toMatchObject([{ call: row.id, claim }]);
    }
    bench.answer = async () => ({ kind: "placed" });
    await sendEach(bench, aCallNow(bench));
    await bench.deliver();
    expect(idsDialed(bench)).toHaveLength(1);
  });

  it("counts once towards its account's day though others write its row first", async () => {
    const bench = createBench(talked, daily);
    const { row, claim } = await answered(bench, refusal);
    const { write } = bench.deps.ledger;
    let writes = 0;
    bench.breakLedger({
      write: async (changes) => {
        writes += 1;
        return writes === 1 ? changes.map(() => false) : write(changes);
      },
    });
    await report(bench, row, claim);
    expect(writes).toBeGreaterThan(1);
    expect(await stateOf(bench, row)).toBe("PLACED");
    expect(await countedToday(bench, ownAccount)).toBe(1);
  });

  it("does not count a call again whose outcome was unknown", async () => {
    const bench = createBench(talked, daily);
    const { row, claim } = await answered(bench, { kind: "unknown", code: "timeout" });
    await report(bench, row, claim);
    expect(await stateOf(bench, row)).toBe("PLACED");
    expect(await countedToday(bench, ownAccount)).toBe(1);
  });

  it("is told once, though it comes twice", async () => {
    const bench = createBench();
    const { row, claim } = await answered(bench, refusal);
    await report(bench, row, claim);
    const placed = await rowOf(bench, row);
    expect(await report(bench, row, claim)).toEqual(["ack"]);
    expect((await rowOf(bench, row)).history).toEqual(placed.history);
    expect(bench.eventsOf("call.placed_late")).toHaveLength(1);
  });

  it("proves nothing if the phone did not ring", async () => {
    for (const result of [
      failed,
      { ...failed, status: "unknown" },
      { ...failed, status: "live" },
    ] as const) {
      for (const answer of [refusal, { kind: "rejected", code: "http_404" }] as const) {
        const bench = createBench(result);
        const { row, claim } = await answered(bench, answer);
        expect(await report(bench, row, claim)).toEqual(["ack"]);
        expect(await rowOf(bench, row)).toEqual(row);
      }
    }
  });

  it.each(["UNKNOWN", "NEEDS_REVIEW", "EXPIRED", "CANCELLED", "REDIALED"] as const)(
    "proves a call that is %s now placed",
    async (state: CallState) => {
      const bench = createBench();
      const row = await putIn(bench, state, aCallNow(bench), { route });
      await put(bench, { ...row, released: ["before"], version: "again" });
      expect(await report(bench, row, "before")).toEqual(["ack"]);
      expect(await stateOf(bench, row)).toBe("PLACED");
      expect(bench.eventsOf("call.placed_late")).toMatchObject([{ state }]);
    },
  );

  it("raises an alarm if the call was placed again", async () => {
    const bench = createBench();
    const row = { ...(await putIn(bench, "PLACED", aCallNow(bench), { route })) };
    const again = { ...row, released: ["before"], version: "again" };
    await put(bench, again);
    expect(await report(bench, row, "before")).toEqual(["ack"]);
    expect(await rowOf(bench, row)).toEqual(again);
    expect(bench.eventsOf("call.placed_late")).toMatchObject([{ state: "PLACED" }]);
  });

  it("waits for the holder of a later claim, unless the phone did not ring", async () => {
    for (const [result, answer] of [
      [talked, { retryAfterSeconds: 1 }],
      [failed, "ack"],
    ] as const) {
      const bench = createBench(result);
      const row = await putIn(bench, "DIALING", aCallNow(bench), { route });
      await put(bench, { ...row, released: ["before"], version: "again" });
      expect(await report(bench, row, "before")).toEqual([answer]);
    }
  });

  it("to its account's address names the request by its number", async () => {
    const bench = createBench();
    const { row } = await answered(bench, refusal);
    const released = ["first", "second"];
    await put(bench, { ...row, released, attempt: 2, version: "again" });
    bench.told = async () => {
      const call = { id: row.id, attempt: 1 };
      return { kind: "reported", result: talked, call };
    };
    for (let times = 0; times < 2; times++) {
      expect(await report(bench, row, undefined)).toEqual(["ack"]);
      expect(await rowOf(bench, row)).toMatchObject({ state: "PLACED", claims: ["first"] });
    }
    expect(bench.eventsOf("call.placed_late")).toHaveLength(1);
  });
});

describe("an unsigned callback of a call whose own answer said that nothing was placed", () => {
  const hint = async (bench: Bench, { id }: CallRow, claim: string) => {
    await bench.eventsQueue.send({ kind: "callback", account: "twilio", call: { id, claim } });
    return bench.deliverEvents();
  };

  it("ends its dialing until the provider's record says more", async () => {
    const bench = createResultsBench({}, { maxCalls, providers: { twilio: { callsPerDay: 1 } } });
    const { row, claim } = await answered(bench, refusal);
    expect(await hint(bench, row, claim)).toEqual([{ retryAfterSeconds: 1 }]);
    expect(await rowOf(bench, row)).toMatchObject({
      state: "UNKNOWN",
      reason: "answer_doubted",
      claims: [claim],
      unknownSince: bench.now(),
    });
    expect(await documentOf(bench, "cap", row.numberHash)).toMatchObject({
      value: { entries: [{ call: row.id, claim }] },
    });
    expect(await countedToday(bench, accountNameOf(twilio))).toBe(1);
    bench.find = async () => ({ by: "id", providerCallId: "CA_found" });
    bench.advance(1_000);
    expect(await bench.deliverEvents()).toEqual(["ack"]);
    expect(await rowOf(bench, row)).toMatchObject({ state: "PLACED", providerCallId: "CA_found" });
    expect(await countedToday(bench, accountNameOf(twilio))).toBe(1);
    expect(idsDialed(bench)).toHaveLength(1);
  });

  it("is not undone by its own answer, which comes from the queue again", async () => {
    const bench = createResultsBench();
    const { row, claim } = await answered(bench, refusal);
    const { id, reason, updatedAt: at } = row;
    const settlement = { id, claim, state: "WAITING", reason, dueAt: at + 1_000, at } as const;
    await hint(bench, row, claim);
    for (const doubted of ["UNKNOWN", "PLACED"] as const) {
      expect(await stateOf(bench, row)).toBe(doubted);
      await bench.send({ kind: "outcome", settlement });
      expect(await bench.deliver()).toEqual(["ack"]);
      expect(await stateOf(bench, row)).toBe(doubted);
      const state = "PLACED" as const;
      await bench.send({ kind: "outcome", settlement: { id, claim, state, reason: "found", at } });
      await bench.deliver();
    }
  });

  it("is not undone by a holder that has to write its answer again", async () => {
    const bench = createResultsBench();
    let doubts = 0;
    bench.breakLedger({
      async write(changes) {
        const done = await bench.rows.write(changes);
        const waiting = changes.find(({ next }) => next.released !== undefined)?.next;
        if (waiting?.state !== "WAITING" || doubts > 0) return done;
        doubts += 1;
        const [claim = ""] = waiting.released ?? [];
        const write = { version: "doubted", at: bench.now() };
        const doubted = doubtRelease(waiting, { claim, dueAt: bench.now() + 60_000 }, write);
        if (doubted !== undefined) await put(bench, doubted);
        throw new Error("the answer to the write was lost");
      },
    });
    const { row } = await answered(bench, refusal);
    expect(doubts).toBe(1);
    expect(row).toMatchObject({ state: "UNKNOWN", reason: "answer_doubted" });
  });

  it("leaves it to the provider's record whether the call is dialed again", async () => {
    const bench = createResultsBench();
    const { call, row, claim } = await answered(bench, refusal);
    await hint(bench, row, claim);
    bench.find = async () => ({ by: "id", notPlaced: refusal });
    bench.advance(60_000);
    await bench.send(dispatchOf([call], accountNameOf(twilio)));
    await bench.deliver();
    expect(await rowOf(bench, row)).toMatchObject({ state: "WAITING", reason: refusal.code });
  });

  it.each([
    ["EXPIRED", refusal],
    ["CANCELLED", refusal],
    ["REDIALED", refusal],
    ["REJECTED", { kind: "rejected", code: "http_404" }],
  ] as const)(
    "proves a call that is %s placed if its provider's record has it",
    async (state, answer) => {
      const bench = createResultsBench();
      const { row, claim } = await answered(bench, answer);
      const by = state === "REDIALED" || state === "CANCELLED" ? { by: "ops" } : {};
      const write = { version: "ended", at: bench.now() };
      if (row.state !== state)
        await put(bench, enterState(row, { state, reason: "r", ...by }, write));
      bench.find = async () => ({ by: "id", providerCallId: "CA_found" });
      expect(await hint(bench, row, claim)).toEqual(["ack"]);
      const placed = { state: "PLACED", claims: [claim], providerCallId: "CA_found" };
      expect(await rowOf(bench, row)).toMatchObject(placed);
      expect(bench.eventsOf("call.placed_late")).toMatchObject([{ level: "alarm", state }]);
      const redial = aCallNow(bench, {}, { ancestors: [row.id] });
      await sendEach(bench, redial);
      await bench.deliver();
      bench.advance(60_000);
      await bench.send(dispatchOf([redial], accountNameOf(twilio)));
      await bench.deliver();
      expect(idsDialed(bench)).toEqual([row.id]);
      expect(await stateOf(bench, redial)).toBe("CANCELLED");
    },
  );

  it("counts a call that waited for review once its provider's record has it", async () => {
    const bench = createResultsBench({}, { maxCalls, providers: { twilio: { callsPerDay: 1 } } });
    const { row, claim } = await answered(bench, { kind: "forbidden", code: "http_403" });
    expect(row.state).toBe("NEEDS_REVIEW");
    bench.find = async () => ({ by: "id", providerCallId: "CA_found" });
    await hint(bench, row, claim);
    expect(await stateOf(bench, row)).toBe("PLACED");
    expect(await countedToday(bench, accountNameOf(twilio))).toBe(1);
    expect(await capEntries(bench, row)).toMatchObject([{ call: row.id, claim }]);
  });

  it("changes nothing of a call that was rejected, or under a claim that it never had", async () => {
    const bench = createResultsBench();
    const { row } = await answered(bench, refusal);
    expect(await hint(bench, row, "other")).toEqual(["ack"]);
    expect(await rowOf(bench, row)).toEqual(row);
    const rejected = await putIn(bench, "REJECTED", aCallNow(bench), {
      route: twilio,
    });
    expect(await hint(bench, rejected, rejected.claims[0] ?? "")).toEqual(["ack"]);
    expect(await rowOf(bench, rejected)).toEqual(rejected);
  });
});
