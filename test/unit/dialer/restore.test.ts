import { describe, expect, it } from "vitest";
import type { ValueOf } from "#shared/ports/document-kinds.ts";
import { restoreKey, sweepKey } from "#shared/policy/ledger-epoch.ts";
import { callBackMsMax } from "#shared/dial-plan/retry-rules.ts";
import { suspendedAt, sweptAt } from "#test/support/document-values.ts";
import { aCall } from "#test/support/calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  allIn,
  type Bench,
  boom,
  callsNow,
  documentOf,
  due,
  idsDialed,
  putDocument,
  putIn,
  putWaiting,
  rowOf,
  sendEach,
  stateOf,
  statesOf,
} from "#test/support/dialer-calls.ts";
import { removeCurrent } from "#test/support/documents.ts";
import { inSlowTier } from "#test/support/per-tier.ts";
import { completed } from "#test/support/results-bench.ts";

const minute = 60_000;
const hour = 60 * minute;
const startAt = "2026-11-18T12:00:00Z";
const listed = { provider: "vapi", agent: "a", from: "f" } as const;
const asked = {
  agents: {
    agent_sales: listed,
    agent_hooked: { provider: "webhook", url: "http://127.0.0.1:9/dial" },
    agent_again: { provider: "webhook", url: "http://127.0.0.1:9/again", idempotent: true },
    agent_numbered: { provider: "twilio", from: "+12025550100", stream: "wss://a.example/s" },
  },
  providers: { vapi: {}, webhook: {}, twilio: {} },
  reviewAfterSeconds: 600,
};

/** Declares the ledger restored to `hoursAgo`, as an operator's confirmation does. */
async function declare(bench: Bench, more: Partial<ValueOf<"restore">> = {}, hoursAgo = 1) {
  const since = bench.now();
  const at = since - hoursAgo * hour;
  const confirmed = { state: "confirmed", epoch: 1_000_000, at, by: "ops" } as const;
  await putDocument(bench, restoreKey, suspendedAt(since, { ...confirmed, ...more }));
}
const restoreOf = async (bench: Bench) =>
  (await documentOf(bench, restoreKey.kind, restoreKey.key))?.value;
/** Runs a sweep a minute. */
async function sweeps(bench: Bench, count: number) {
  for (let one = 0; one < count; one++) {
    await bench.sweep();
    bench.advance(minute);
  }
}

describe("a ledger that was restored", () => {
  it("has nobody dialed while it is held or confirmed, and nothing decided that a client would see", async () => {
    for (const state of ["suspended", "confirmed"] as const) {
      const bench = createDialerBench({ startAt, plan: { ...asked, expireAfterHours: 1 } });
      const [old] = await putWaiting(bench, 1, -2 * hour, { acceptedAt: bench.now() - 3 * hour });
      await declare(bench, { state, at: null });
      const fresh = aCallNow(bench);
      await sendEach(bench, fresh);
      await bench.send(due(...(old === undefined ? [] : [old])));
      expect(await bench.deliver()).toEqual(["ack", "ack"]);
      expect(bench.dialed).toEqual([]);
      // Neither has expired, as it may have been dialed.
      expect(await statesOf(bench, [old ?? fresh, fresh])).toEqual(["WAITING", "WAITING"]);
      expect(await rowOf(bench, fresh)).toMatchObject({
        reason: "restored",
        dueAt: fresh.acceptedAt,
      });
      expect(bench.queued()).toEqual([]); // no hint, which would only come back
    }
  });

  it("has no request sent for a call that was claimed before it was noticed", async () => {
    const bench = createDialerBench({ startAt, plan: asked });
    await bench.sweep();
    const { write } = bench.rows;
    bench.breakLedger({
      async write(changes) {
        if (changes.some(({ next }) => next.state === "DIALING")) {
          await declare(bench, { state: "suspended", at: null });
          bench.advance(6_000); // documents are read again once they are 5 s old
        }
        return write(changes);
      },
    });
    const call = aCallNow(bench);
    await sendEach(bench, call);
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "WAITING", reason: "restored" });
  });

  it("is noticed by a delivery before any sweep, and by a process that has just begun", async () => {
    const bench = createDialerBench({ startAt, plan: asked });
    await bench.deps.epochStore.write(9, 0);
    await putDocument(bench, sweepKey, sweptAt(bench.now(), { epoch: 7 }));
    const call = aCallNow(bench);
    await sendEach(bench, call);
    await bench.deliver();
    expect(idsDialed(bench)).toEqual([]);
    expect(await stateOf(bench, call)).toBe("WAITING");
    await bench.sweep();
    expect(await restoreOf(bench)).toMatchObject({ state: "suspended", epoch: 9, at: null });
    expect(bench.eventsOf("ledger.restored")[0]).toMatchObject({ level: "alarm" });
    // The ledger's epoch stays behind, so that it is held without the document too.
    expect((await documentOf(bench, sweepKey.kind, sweepKey.key))?.value.epoch).toBe(7);
  });

  it(
    "is looked up or waits for review, call by call, in pages, until nothing more is found",
    inSlowTier,
    async () => {
      const bench = createDialerBench({ startAt, plan: asked });
      const waiting = await putWaiting(bench, 1200, -minute);
      const hooked = callsNow(bench, 3, { agent_id: "agent_hooked" });
      for (const call of hooked) await putIn(bench, "WAITING", call, { dueAt: bench.now() });
      const later = await putWaiting(bench, 2, 3 * hour);
      const underWay = aCallNow(bench);
      await putIn(bench, "DIALING", underWay); // through a webhook, which cannot be asked
      // A resend to a provider that deduplicates would do no harm; its call is judged as the others are.
      const resent = aCallNow(bench, { agent_id: "agent_again" });
      await putIn(bench, "UNKNOWN", resent);
      bench.advance(minute);
      await declare(bench, {}, 0.01);
      await sweeps(bench, 4);
      expect(await restoreOf(bench)).toMatchObject({ state: "done", lookedUp: 1200, toReview: 5 });
      expect(await statesOf(bench, waiting.slice(0, 3))).toEqual(allIn([1, 2, 3], "UNKNOWN"));
      expect(await statesOf(bench, [...hooked, resent, underWay])).toEqual(
        allIn([...hooked, resent, underWay], "NEEDS_REVIEW"),
      );
      expect(await statesOf(bench, later)).toEqual(["WAITING", "WAITING"]);
      const row = await rowOf(bench, waiting[0] ?? underWay);
      const since = (await restoreOf(bench))?.since ?? 0;
      expect(row).toMatchObject({ claimedAt: since - 0.01 * hour, lostUntil: since, attempt: 1 });
      expect(bench.dialed).toEqual([]);
      expect(bench.eventsOf("restore.done")).toEqual([expect.objectContaining({ count: 1205 })]);
      await bench.run(3 * 3600);
      expect(idsDialed(bench).toSorted()).toEqual(later.map(({ id }) => id).toSorted());
    },
  );

  it("stays confirmed where an operator was faster than the sweep that notices it", async () => {
    const bench = createDialerBench({ startAt, plan: asked });
    const call = aCallNow(bench);
    await putIn(bench, "WAITING", call, { dueAt: bench.now() });
    await bench.deps.epochStore.write(9, 0);
    await declare(bench, { epoch: 3 });
    await sweeps(bench, 3);
    expect(await restoreOf(bench)).toMatchObject({ state: "done", epoch: 9, by: "ops" });
    expect(await stateOf(bench, call)).toBe("UNKNOWN");
  });

  it(
    "looks each call up before it goes to review, though many come due at once",
    inSlowTier,
    async () => {
      const bench = createDialerBench({ startAt, plan: asked });
      const calls = await putWaiting(bench, 40, -minute);
      await declare(bench, {}, 0.01);
      await sweeps(bench, 3);
      bench.advance(11 * minute); // past reviewAfterSeconds
      let asks = 0;
      bench.find = async ({ call }) => {
        if (++asks % 3 === 0) throw new Error("too many requests");
        return { by: "id", providerCallId: `ring_${call.id}` };
      };
      await bench.run(1200);
      expect(await statesOf(bench, calls)).toEqual(allIn(calls, "PLACED"));
    },
  );

  it("waits for review where the plan has no route for the agent any more", async () => {
    const bench = createDialerBench({ startAt, plan: asked });
    const call = aCallNow(bench, { agent_id: "agent_gone" });
    await putIn(bench, "WAITING", call, { dueAt: bench.now() });
    await declare(bench);
    await sweeps(bench, 2);
    expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
  });

  it(
    "does not take a call found by its number, or a record of one attempt, as proof",
    inSlowTier,
    async () => {
      for (const agent_id of ["agent_numbered", "agent_sales"]) {
        const bench = createDialerBench({ startAt, plan: asked });
        bench.find = async (_sought, { provider }) =>
          provider === "twilio"
            ? { by: "number", providerCallIds: ["CA_of_a_lost_row"] }
            : { by: "id", notPlaced: { kind: "not_placed", code: "ended_before" } };
        const call = aCallNow(bench, { agent_id });
        await putIn(bench, "WAITING", call, { dueAt: bench.now() });
        await declare(bench, {}, 0);
        await sweeps(bench, 3);
        await bench.run(1800);
        expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
        expect(bench.dialed).toEqual([]);
      }
    },
  );

  describe("in which a callback was lost that said that a phone rang", () => {
    const signed = { body: "{}", headers: {}, receivedAt: 1 };

    /** Has a callback prove a claim's call in the lost time, and restores the ledger to ten minutes before. */
    async function lose(bench: Bench, { id }: { id: string }, claim = "") {
      const backup = new Map(bench.stored);
      bench.advance(10 * minute);
      bench.told = async () => ({ kind: "reported", result: completed });
      const of = { kind: "callback", account: "webhook", signed } as const;
      await bench.eventsQueue.send({ ...of, call: { id, claim } });
      await bench.deliverEvents();
      expect(await stateOf(bench, { id })).toBe("PLACED");
      bench.stored.clear();
      for (const [key, stored] of backup) bench.stored.set(key, stored);
      await declare(bench, {}, 1 / 6);
      await sweeps(bench, 4);
      expect(await restoreOf(bench)).toMatchObject({ state: "done" });
    }

    const hooked = { agent_id: "agent_hooked" };
    const plan = { ...asked, results: {} };

    it("has its call go to review once it is due", async () => {
      const bench = createDialerBench({ startAt, plan });
      bench.answer = async () => ({
        kind: "not_placed",
        code: "http_503",
        blamesNumber: true,
        retryAfterSeconds: 1800,
      });
      const call = aCallNow(bench, hooked);
      await sendEach(bench, call);
      await bench.deliver();
      const { state, dueAt, released } = await rowOf(bench, call);
      expect(state).toBe("WAITING");
      await lose(bench, call, released?.[0]);
      bench.advance((dueAt ?? 0) - bench.now());
      await bench.send(due(call));
      await bench.deliver();
      expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
      expect(bench.dialed).toHaveLength(1);
    });

    it("has a redial of its call go to review once it is due", async () => {
      const bench = createDialerBench({ startAt, plan });
      const { id, claims } = await putIn(bench, "REDIALED", aCallNow(bench, hooked));
      const redial = aCallNow(bench, hooked, { ancestors: [id] });
      await putIn(bench, "WAITING", redial, { dueAt: bench.now() + hour });
      await lose(bench, { id }, claims[0]);
      bench.advance(hour);
      await bench.send(due(redial));
      await bench.deliver();
      expect(await stateOf(bench, redial)).toBe("NEEDS_REVIEW");
      expect(bench.dialed).toEqual([]);
    });
  });

  it("has a row that appears late go to review, by whatever time it is due", async () => {
    const bench = createDialerBench({ startAt, plan: asked });
    const since = bench.now();
    await declare(bench, { state: "done" });
    bench.advance(minute + 1);
    // A function that stood still since before the restore writes its call's row now.
    const late = aCall({ ...aCallNow(bench), acceptedAt: since - 10 * minute });
    const [noRow, now] = [
      aCall({ ...aCallNow(bench), acceptedAt: since - minute }),
      aCallNow(bench),
    ];
    await putIn(bench, "WAITING", late, { dueAt: since + 2 * minute, at: since - 9 * minute });
    bench.advance(minute);
    await bench.send(due(late));
    await sendEach(bench, noRow, now);
    await bench.deliver();
    await bench.dispatch();
    await bench.deliver();
    expect(await statesOf(bench, [late, noRow, now])).toEqual([
      "NEEDS_REVIEW",
      "NEEDS_REVIEW",
      "PLACED",
    ]);
    expect(idsDialed(bench)).toEqual([now.id]);
  });

  it("has a call that was promised for the last possible day go to review, not dialed again", async () => {
    const plan = { ...asked, retentionDays: 100 };
    const bench = createDialerBench({ startAt, plan });
    const since = bench.now();
    await declare(bench);
    await sweeps(bench, 4);
    expect(await restoreOf(bench)).toMatchObject({ state: "done" });
    // A wish was granted again after the restore. Its former call may have been dialed in the lost time.
    const promisedAt = since + callBackMsMax;
    const tries = { number: 2, budget: 2, until: promisedAt + hour, dialedAt: [], promisedAt };
    const callBacks = { most: 2, made: 1, until: promisedAt };
    const acceptedAt = since - 2 * hour;
    const call = aCall({ ...aCallNow(bench), acceptedAt, tries: { ...tries, callBacks } });
    await putIn(bench, "WAITING", call, { dueAt: promisedAt, at: bench.now() });
    bench.advance(promisedAt - bench.now());
    await bench.send(due(call));
    await bench.deliver();
    expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
    expect(bench.dialed).toEqual([]);
  });

  it("has a call go to review that an API with a fast clock accepted before it was held", async () => {
    const bench = createDialerBench({ startAt, plan: asked });
    const since = bench.now();
    await declare(bench, { state: "done" });
    const [noRow, waiting] = [
      aCall({ ...aCallNow(bench), acceptedAt: since + 1_500 }),
      aCall({ ...aCallNow(bench), acceptedAt: since + 1_500 }),
    ];
    await putIn(bench, "WAITING", waiting, { dueAt: since + 1_500, at: since - minute });
    bench.advance(3_000);
    await bench.send(due(waiting));
    await sendEach(bench, noRow);
    await bench.run(30);
    expect(await statesOf(bench, [waiting, noRow])).toEqual(["NEEDS_REVIEW", "NEEDS_REVIEW"]);
    expect(bench.dialed).toEqual([]);
  });

  it("has its backlogs written again by every process that knew them", async () => {
    const bench = createDialerBench({ startAt, plan: { ...asked, callingHours: closed } });
    await sendEach(bench, aCallNow(bench));
    await bench.deliver();
    const backlog = JSON.stringify(["crm", "agent_sales"]);
    expect(await documentOf(bench, "backlog", backlog)).toBeDefined();
    await removeCurrent(bench.documents, { kind: "backlog", key: backlog });
    await declare(bench, { state: "done", since: bench.now() - 2 * minute });
    bench.advance(1_000); // sooner than a process renews it anyway
    await sendEach(bench, aCallNow(bench));
    await bench.deliver();
    expect(await documentOf(bench, "backlog", backlog)).toBeDefined();
  });
});

const closed = { default: { "mon-sun": ["13:00-14:00"] } };

describe("the epoch", () => {
  it("moves on with each sweep, in the ledger and beside it", async () => {
    const bench = createDialerBench({ startAt });
    await sweeps(bench, 3);
    expect(await bench.deps.epochStore.read()).toBe(3);
    expect((await documentOf(bench, sweepKey.kind, sweepKey.key))?.value.epoch).toBe(3);
  });

  it("that nobody can read has nothing dispatched, with an alarm", async () => {
    const bench = createDialerBench({ startAt });
    await putWaiting(bench, 1, 0);
    const { epochStore } = bench.deps;
    bench.deps.epochStore = { ...epochStore, read: boom };
    await bench.sweep();
    await bench.dispatch();
    expect(bench.queued()).toEqual([]);
    expect(bench.eventsOf("sweep.failed")[0]).toMatchObject({ level: "alarm" });
    bench.deps.epochStore = epochStore;
    bench.advance(minute);
    await bench.dispatch();
    expect(bench.queued()).toHaveLength(1);
  });

  it(
    "that a sweep cannot write raises an alarm, and has nothing dispatched once that lasts for minutes",
    inSlowTier,
    async () => {
      const bench = createDialerBench({ startAt });
      const [call] = await putWaiting(bench, 1, 0);
      const { epochStore } = bench.deps;
      bench.deps.epochStore = { ...epochStore, write: boom };
      await bench.run(70);
      expect(idsDialed(bench)).toEqual([call?.id]);
      expect(bench.eventsOf("epoch.unreachable")[0]).toMatchObject({ level: "alarm" });
      await bench.run(180);
      // A restore to now would not be noticed while the object store knows no epoch.
      const [late] = await putWaiting(bench, 1, 0);
      await bench.run(180);
      expect(idsDialed(bench)).toEqual([call?.id]);
      expect(bench.eventsOf("sweep.failed")[0]).toMatchObject({ level: "alarm" });
      bench.deps.epochStore = epochStore;
      await bench.run(130);
      expect(idsDialed(bench)).toEqual([call?.id, late?.id]);
    },
  );

  it("that a process could never read lets its calls wait for a sweep, and later failures hold nobody up for minutes", async () => {
    const bench = createDialerBench({ startAt });
    const { epochStore } = bench.deps;
    bench.deps.epochStore = { ...epochStore, read: boom };
    const first = aCallNow(bench);
    await sendEach(bench, first);
    await bench.deliver();
    expect(await rowOf(bench, first)).toMatchObject({ state: "WAITING", reason: "restored" });
    bench.deps.epochStore = epochStore;
    await bench.run(120);
    expect(idsDialed(bench)).toEqual([first.id]);
    bench.deps.epochStore = { ...epochStore, read: boom };
    bench.advance(2 * minute);
    const second = aCallNow(bench);
    await sendEach(bench, second);
    await bench.deliver();
    expect(await stateOf(bench, second)).toBe("PLACED");
    bench.advance(6 * minute);
    const third = aCallNow(bench);
    await sendEach(bench, third);
    await bench.deliver();
    expect(await stateOf(bench, third)).toBe("WAITING");
  });
});
