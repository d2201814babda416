import * as fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import type { Call } from "../../shared/call.ts";
import type {
  CallLedger,
  Claim,
  OperatorAct,
  Settlement,
  UnclaimedWrite,
} from "../../shared/ledger/call-ledger.ts";
import { createMemoryLedger } from "../../shared/ledger/memory-ledger.ts";
import type { Route } from "../../shared/providers/index.ts";
import { aCall } from "../support/calls.ts";

const webhook = { provider: "webhook", type: "webhook", url: "https://example.com/dial" } as const;
const route: Route = webhook;
const idempotentRoute: Route = { ...webhook, idempotent: true };
const trace = { numberHash: "hash", numberTail: "23" };

const claimOf = (call: Call, more: Partial<Claim> = {}): Claim => ({
  call,
  ...trace,
  token: "token_1",
  route,
  attempt: 1,
  at: 1000,
  deadline: 60_000,
  ...more,
});
const settlementOf = (call: Call, more: Partial<Settlement> = {}): Settlement => ({
  id: call.id,
  token: "token_1",
  state: "PLACED",
  reason: "placed",
  at: 2000,
  ...more,
});
const deferralOf = (call: Call, more: Partial<UnclaimedWrite> = {}): UnclaimedWrite => ({
  call,
  ...trace,
  state: "DEFERRED",
  reason: "rate_limited",
  dueAt: 5000,
  at: 1000,
  seenDueAt: null,
  ...more,
});

/** A ledger, and what its engine has stored. */
interface StoredLedger {
  ledger: CallLedger;
  /** Everything that is there at `now`, as text: what the engine deletes by itself, by then, is not. */
  stored(now: number): Promise<string>;
}

/** What every ledger does, whatever engine keeps it. `create` gives an empty one, which keeps what ended for 60 days. */
export function describeCallLedger(name: string, create: () => Promise<StoredLedger>): void {
  describe(`${name} as a call ledger`, () => {
    let ledger: CallLedger;
    let stored: StoredLedger["stored"];
    let sequence = 0;
    beforeEach(async () => {
      ({ ledger, stored } = await create());
    });
    const rowOf = async ({ id }: Call) => (await ledger.read([id])).get(id);

    it("knows nothing of a call it has not seen", async () => {
      expect(await ledger.read([aCall().id])).toEqual(new Map());
      expect(await ledger.read([])).toEqual(new Map());
    });

    it("claims a fresh call, and keeps the whole of it", async () => {
      const call = aCall();
      expect(await ledger.claim([claimOf(call)])).toEqual([true]);
      expect(await rowOf(call)).toEqual({
        id: call.id,
        state: "DIALING",
        reason: "claimed",
        token: "token_1",
        attempt: 1,
        resent: false,
        dueAt: 60_000,
        line: null,
        claimedAt: 1000,
        unknownSince: null,
        call,
        route,
        providerCallId: null,
        redialedAs: null,
        requestId: call.requestId,
        client: call.client,
        agentId: call.request.agent_id,
        ...trace,
        acceptedAt: call.acceptedAt,
        updatedAt: 1000,
        history: [{ at: 1000, state: "DIALING", reason: "claimed" }],
      });
    });

    it("keeps the story of a call, each step once, but for what is not worth recording", async () => {
      const call = aCall();
      const first = deferralOf(call, { dueAt: 2000 });
      await ledger.defer([first]);
      await ledger.defer([first]); // refused: the row stands
      const again = deferralOf(call, { dueAt: 3000, seenDueAt: 2000, at: 1500 });
      await ledger.defer([{ ...again, unrecorded: true }]);
      const line = { line: "vapi", dueAt: 1, seenDueAt: 3000, reason: "pace", at: 1600 };
      await ledger.defer([deferralOf(call, line)]);
      const claim = claimOf(call, { route: idempotentRoute, at: 4000 });
      expect(await ledger.claim([claim])).toEqual([true]);
      expect(await ledger.claim([claim])).toEqual([true]);
      const unknown = { state: "UNKNOWN", reason: "time_out", dueAt: 7000, at: 5000 } as const;
      await ledger.settle([settlementOf(call, unknown)]);
      await ledger.settle([settlementOf(call, unknown)]);
      const resend = {
        token: "token_2",
        resendOf: "token_1",
        route: idempotentRoute,
        attempt: 2,
        at: 7000,
      };
      await ledger.claim([claimOf(call, { ...resend, unrecorded: true })]);
      await ledger.settle([settlementOf(call, { token: "token_2", at: 8000 })]);
      expect((await rowOf(call))?.history).toEqual([
        { at: 1000, state: "DEFERRED", reason: "rate_limited", dueAt: 2000 },
        { at: 1600, state: "DEFERRED", reason: "pace" },
        { at: 4000, state: "DIALING", reason: "claimed" },
        { at: 5000, state: "UNKNOWN", reason: "time_out", dueAt: 7000 },
        { at: 8000, state: "PLACED", reason: "placed" },
      ]);
    });

    it("lets one of many claimers have a call", async () => {
      const call = aCall();
      const claims = Array.from({ length: 20 }, (_, n) => claimOf(call, { token: `token_${n}` }));
      const answers = await Promise.all(claims.map((claim) => ledger.claim([claim])));
      const won = answers.flat().filter(Boolean);
      expect(won).toHaveLength(1);
      expect((await rowOf(call))?.token).toBe(`token_${answers.findIndex(([mine]) => mine)}`);
    });

    it("says the same again to a claim that is made again", async () => {
      const call = aCall();
      await ledger.claim([claimOf(call)]);
      expect(await ledger.claim([claimOf(call)])).toEqual([true]);
      expect((await rowOf(call))?.attempt).toBe(1);
    });

    it("refuses a claim that was decided on before another attempt", async () => {
      const call = aCall();
      await ledger.claim([claimOf(call)]);
      await ledger.settle([settlementOf(call, { state: "DEFERRED", dueAt: 3000 })]);
      const late = claimOf(call, { token: "token_2", at: 4000 });
      expect(await ledger.claim([late])).toEqual([false]);
      expect(await ledger.claim([{ ...late, attempt: 3 }])).toEqual([false]);
      expect((await rowOf(call))?.state).toBe("DEFERRED");
      expect(await ledger.claim([{ ...late, attempt: 2 }])).toEqual([true]);
      expect(await rowOf(call)).toMatchObject({ attempt: 2, token: "token_2" });
      expect(await ledger.claim([claimOf(aCall(), { attempt: 2 })])).toEqual([false]);
    });

    it("claims a waiting call once it is due", async () => {
      const call = aCall();
      await ledger.defer([deferralOf(call)]);
      expect(await ledger.claim([claimOf(call, { at: 4999 })])).toEqual([false]);
      expect(await ledger.claim([claimOf(call, { at: 5000 })])).toEqual([true]);
      expect(await rowOf(call)).toMatchObject({ state: "DIALING", attempt: 1, call });
    });

    it("claims many at once, and answers each in its order", async () => {
      const [held, fresh, waiting] = [aCall(), aCall(), aCall()];
      await ledger.claim([claimOf(held, { token: "another" })]);
      await ledger.defer([deferralOf(waiting, { dueAt: 1000 })]);
      const claims = [held, fresh, waiting].map((call) => claimOf(call));
      expect(await ledger.claim(claims)).toEqual([false, true, true]);
    });

    it("carries a hundred calls with large contexts in one go", async () => {
      const request = { ...aCall().request, context: { text: "ü".repeat(15_000) } };
      const calls = Array.from({ length: 100 }, () => aCall({ request }));
      const claims = calls.map((call) => claimOf(call));
      expect(await ledger.claim(claims)).toEqual(calls.map(() => true));
      const rows = await ledger.read(calls.map(({ id }) => id));
      expect(
        calls.every(
          (call) => rows.get(call.id)?.call?.request.context?.["text"]?.length === 15_000,
        ),
      ).toBe(true);
    });

    it("forgets number and context once a call is placed, and keeps their trace", async () => {
      const call = aCall();
      await ledger.claim([claimOf(call)]);
      const placed = settlementOf(call, { providerCallId: "CA1" });
      expect(await ledger.settle([placed])).toEqual([true]);
      expect(await rowOf(call)).toMatchObject({
        state: "PLACED",
        call: null,
        dueAt: null,
        providerCallId: "CA1",
        ...trace,
      });
      expect(await ledger.settle([placed])).toEqual([true]);
    });

    it("settles for the holder of the token alone", async () => {
      const call = aCall();
      await ledger.claim([claimOf(call)]);
      expect(await ledger.settle([settlementOf(call, { token: "another" })])).toEqual([false]);
      expect(await ledger.settle([settlementOf(aCall())])).toEqual([false]);
      expect((await rowOf(call))?.state).toBe("DIALING");
    });

    it("never dials what is settled as placed, rejected, unknown or parked", async () => {
      for (const state of ["PLACED", "REJECTED", "UNKNOWN", "PARKED"] as const) {
        const call = aCall();
        await ledger.claim([claimOf(call)]);
        await ledger.settle([settlementOf(call, { state, reason: "x", dueAt: 3000 })]);
        expect(
          await ledger.claim([claimOf(call, { token: "token_2", attempt: 2, at: 90_000 })]),
        ).toEqual([false]);
        expect(await ledger.defer([deferralOf(call)])).toEqual([false]);
        expect((await rowOf(call))?.state).toBe(state);
      }
    });

    it("lets a late success win over unknown and parked, and nothing over placed", async () => {
      const call = aCall();
      await ledger.claim([claimOf(call)]);
      const unknown = settlementOf(call, { state: "UNKNOWN", reason: "time_out", dueAt: 9000 });
      expect(await ledger.settle([unknown])).toEqual([true]);
      expect(await rowOf(call)).toMatchObject({ unknownSince: 2000, dueAt: 9000, call });
      const parked = settlementOf(call, { state: "PARKED", reason: "outcome_unknown" });
      expect(await ledger.settle([parked])).toEqual([true]);
      expect(await ledger.settle([unknown])).toEqual([false]);
      expect(await ledger.settle([settlementOf(call, { state: "DEFERRED", dueAt: 1 })])).toEqual([
        false,
      ]);
      expect(await ledger.settle([settlementOf(call)])).toEqual([true]);
      expect(await ledger.settle([parked])).toEqual([false]);
      expect((await rowOf(call))?.state).toBe("PLACED");
    });

    it("resends an unknown call of an idempotent provider, under the token as read", async () => {
      const call = aCall();
      await ledger.claim([claimOf(call, { route: idempotentRoute })]);
      await ledger.settle([settlementOf(call, { state: "UNKNOWN", reason: "x", dueAt: 3000 })]);
      const resend = claimOf(call, {
        token: "token_2",
        attempt: 2,
        at: 3000,
        resendOf: "token_1",
      });
      expect(await ledger.claim([{ ...resend, resendOf: "another" }])).toEqual([false]);
      expect(await ledger.claim([resend])).toEqual([true]);
      expect(await ledger.claim([resend])).toEqual([true]);
      expect(await rowOf(call)).toMatchObject({
        state: "DIALING",
        token: "token_2",
        attempt: 2,
        resent: true,
        unknownSince: 2000,
        route: idempotentRoute,
      });
      const under2 = (more: Partial<Settlement>) =>
        ledger.settle([settlementOf(call, { token: "token_2", ...more })]);
      expect(await under2({ state: "DEFERRED", dueAt: 1 })).toEqual([false]);
      expect(await under2({ state: "REJECTED" })).toEqual([false]);
      expect(await under2({ state: "UNKNOWN", dueAt: 1 })).toEqual([true]);
      expect(await under2({ state: "PARKED" })).toEqual([true]);
    });

    it("resends to no other provider, and no call that it does not know", async () => {
      const call = aCall();
      await ledger.claim([claimOf(call)]);
      await ledger.settle([settlementOf(call, { state: "UNKNOWN", reason: "x", dueAt: 3000 })]);
      const resend = { token: "token_2", resendOf: "token_1", route: idempotentRoute, attempt: 2 };
      expect(await ledger.claim([claimOf(call, resend), claimOf(aCall(), resend)])).toEqual([
        false,
        false,
      ]);
    });

    it("writes what nobody has claimed, and moves it while it waits", async () => {
      const [waiting, ended, parked] = [aCall(), aCall(), aCall()];
      const end = { ...trace, reason: "destination_denied", at: 1000, seenDueAt: null };
      const writes: UnclaimedWrite[] = [
        deferralOf(waiting),
        { ...end, call: ended, state: "REJECTED" },
        { ...end, call: parked, state: "PARKED" },
      ];
      expect(await ledger.defer(writes)).toEqual([true, true, true]);
      expect(await rowOf(ended)).toMatchObject({
        state: "REJECTED",
        attempt: 0,
        token: null,
        call: ended,
      });
      const moved = deferralOf(waiting, { dueAt: 7000, reason: "pace", seenDueAt: 5000 });
      expect(await ledger.defer([moved])).toEqual([true]);
      expect(await rowOf(waiting)).toMatchObject({
        state: "DEFERRED",
        dueAt: 7000,
        reason: "pace",
        call: waiting,
      });
    });

    it("writes over nothing that has moved on since it was read", async () => {
      const [waiting, ended] = [aCall(), aCall()];
      await ledger.defer([
        deferralOf(waiting),
        { ...trace, call: ended, state: "EXPIRED", reason: "expired", at: 1, seenDueAt: null },
      ]);
      const stale = [
        deferralOf(waiting, { dueAt: 1 }), // read before it had a row
        deferralOf(waiting, { dueAt: 1, seenDueAt: 4999 }),
        deferralOf(ended, { dueAt: 1 }),
        deferralOf(ended, { dueAt: 1, seenDueAt: 5000 }),
        deferralOf(aCall(), { dueAt: 1, seenDueAt: 5000 }), // purged since
      ];
      for (const write of stale) expect(await ledger.defer([write])).toEqual([false]);
      expect(await rowOf(waiting)).toMatchObject({ state: "DEFERRED", dueAt: 5000 });
    });

    it("forgets when an outcome was unknown once it is known that nothing was placed", async () => {
      const call = aCall();
      await ledger.claim([claimOf(call)]);
      await ledger.settle([settlementOf(call, { state: "UNKNOWN", reason: "x", dueAt: 3000 })]);
      await ledger.settle([settlementOf(call, { state: "DEFERRED", reason: "x", dueAt: 3000 })]);
      expect(await rowOf(call)).toMatchObject({ state: "DEFERRED", unknownSince: null });
    });

    it("lists what is due, in its order, from any place on", async () => {
      const calls = [5000, 3000, 9000, 3000].map((dueAt) => ({ call: aCall(), dueAt }));
      await ledger.defer(calls.map(({ call, dueAt }) => deferralOf(call, { dueAt })));
      const placed = aCall();
      await ledger.claim([claimOf(placed)]);
      await ledger.settle([settlementOf(placed)]);
      const dialing = aCall();
      await ledger.claim([claimOf(dialing, { deadline: 4000 })]);
      const all = await ledger.due({ until: 8000, limit: 10 });
      expect(all.map(({ dueAt, state }) => [dueAt, state])).toEqual([
        [3000, "DEFERRED"],
        [3000, "DEFERRED"],
        [4000, "DIALING"],
        [5000, "DEFERRED"],
      ]);
      expect(all[2]).toEqual({
        id: dialing.id,
        state: "DIALING",
        reason: "claimed",
        token: "token_1",
        attempt: 1,
        route,
        requestId: dialing.requestId,
        agentId: dialing.request.agent_id,
        dueAt: 4000,
      });
      const [first] = all;
      const page = await ledger.due({
        until: 8000,
        limit: 2,
        after: { dueAt: first?.dueAt ?? 0, id: first?.id ?? "" },
      });
      expect(page).toEqual(all.slice(1, 3));
    });

    it("keeps calls that wait for a pace in a line of their own, each in its place", async () => {
      const waiting = aCall();
      const [first, second, third] = [aCall(), aCall(), aCall()];
      const line = "webhook:example.com";
      const inLine = { line, reason: "pace" };
      expect(await ledger.lines()).toEqual([]);
      await ledger.defer([
        deferralOf(waiting, { dueAt: 1 }),
        deferralOf(second, { dueAt: 2000, ...inLine }),
        deferralOf(first, { dueAt: 1000, ...inLine }),
        deferralOf(third, { dueAt: 2000, line: "webhook:example.org" }),
      ]);
      expect((await ledger.lines()).toSorted()).toEqual([line, "webhook:example.org"]);
      const idsOf = async (query: Parameters<CallLedger["due"]>[0]) =>
        (await ledger.due(query)).map(({ id }) => id);
      expect(await idsOf({ until: 9000, limit: 10 })).toEqual([waiting.id]);
      expect(await idsOf({ line, until: 9000, limit: 10 })).toEqual([first.id, second.id]);
      expect(await idsOf({ line, until: 9000, limit: 1 })).toEqual([first.id]);
      const after = { dueAt: 1000, id: first.id };
      expect(await idsOf({ line, until: 9000, after, limit: 9 })).toEqual([second.id]);
      expect(await rowOf(first)).toMatchObject({ line, dueAt: 1000 });

      // Given a slot, or claimed, a call leaves the line; it may come back to its place.
      const slot = deferralOf(first, { dueAt: 8000, reason: "slot", seenDueAt: 1000 });
      expect(await ledger.defer([slot])).toEqual([true]);
      expect(await ledger.claim([claimOf(second, { at: 3000 })])).toEqual([true]);
      expect(await rowOf(first)).toMatchObject({ line: null, dueAt: 8000, reason: "slot" });
      expect(await rowOf(second)).toMatchObject({ line: null, state: "DIALING" });
      expect(await idsOf({ line, until: 9000, limit: 10 })).toEqual([]);
      expect(await idsOf({ until: 9000, limit: 10 })).toEqual([waiting.id, first.id]);
      const back = deferralOf(first, { dueAt: 1000, seenDueAt: 8000, ...inLine });
      expect(await ledger.defer([back])).toEqual([true]);
      expect(await idsOf({ line, until: 9000, limit: 10 })).toEqual([first.id]);
      expect(await idsOf({ until: 9000, limit: 10 })).toEqual([waiting.id]);
    });

    it("remembers when the last sweep was", async () => {
      expect(await ledger.sweptAt()).toBeUndefined();
      await ledger.swept(1000);
      await ledger.swept(2000);
      expect(await ledger.sweptAt()).toBe(2000);
    });

    it("lists a state, newest first, page by page", async () => {
      const calls = [3, 1, 2].map((n) => aCall({ acceptedAt: n }));
      await ledger.defer(calls.map((call) => deferralOf(call)));
      const newest = await ledger.list({ state: "DEFERRED", limit: 2 });
      expect(newest.map(({ acceptedAt }) => acceptedAt)).toEqual([3, 2]);
      const before = { acceptedAt: 2, id: newest[1]?.id ?? "" };
      const rest = await ledger.list({ state: "DEFERRED", before, limit: 2 });
      expect(rest.map(({ acceptedAt, call }) => [acceptedAt, call])).toEqual([[1, calls[1]]]);
      expect(await ledger.list({ state: "PARKED", limit: 2 })).toEqual([]);
    });

    it("lists the calls to a number, whatever became of them, newest first, page by page", async () => {
      const calls = [3, 1, 2, 4].map((n) => aCall({ acceptedAt: n }));
      const [third, first, second, other] = calls;
      if (!third || !first || !second || !other) throw new Error("four calls were made");
      await ledger.defer([deferralOf(third), deferralOf(other, { numberHash: "other" })]);
      await ledger.claim([claimOf(first), claimOf(second)]);
      await ledger.settle([settlementOf(second, { providerCallId: "CA1" })]);
      const newest = await ledger.list({ numberHash: trace.numberHash, limit: 2 });
      expect(newest).toEqual([await rowOf(third), await rowOf(second)]);
      expect(newest[1]).toMatchObject({ providerCallId: "CA1", claimedAt: 1000 });
      const before = { acceptedAt: 2, id: second.id };
      const rest = await ledger.list({ numberHash: trace.numberHash, before, limit: 2 });
      expect(rest.map(({ id }) => id)).toEqual([first.id]);
      expect(await ledger.list({ numberHash: "nobody's", limit: 2 })).toEqual([]);
    });

    it("lists the calls of a request, page by page", async () => {
      const calls = [1, 2, 3].map((n) => aCall({ acceptedAt: n, requestId: "req_7" }));
      await ledger.defer([...calls, aCall()].map((call) => deferralOf(call)));
      const newest = await ledger.list({ requestId: "req_7", limit: 2 });
      expect(newest.map(({ id }) => id)).toEqual([calls[2]?.id, calls[1]?.id]);
      const before = { acceptedAt: 2, id: calls[1]?.id ?? "" };
      const rest = await ledger.list({ requestId: "req_7", before, limit: 2 });
      expect(rest.map(({ id }) => id)).toEqual([calls[0]?.id]);
    });

    const actOf = (call: Call, more: Partial<OperatorAct> = {}): Omit<OperatorAct, "from"> => ({
      id: call.id,
      to: "CANCELLED",
      by: "ops",
      at: 9000,
      ...more,
    });
    /** Acts on the rows as they are read. */
    const actAsRead = async (acts: Omit<OperatorAct, "from">[]) => {
      const rows = await ledger.read(acts.map(({ id }) => id));
      return ledger.act(
        acts.map((one) => ({ ...one, from: rows.get(one.id)?.state ?? "DEFERRED" })),
      );
    };

    it("does not let an operator's act hold of a row that has moved on since it was read", async () => {
      const [waiting, parked] = [aCall(), aCall()];
      await ledger.defer([deferralOf(waiting)]);
      await ledger.claim([claimOf(parked)]);
      await ledger.settle([settlementOf(parked, { state: "PARKED" })]);
      const stale = [
        { ...actOf(parked), from: "DEFERRED" },
        { ...actOf(parked, { to: "REDIALED", redialedAs: "call_1" }), from: "UNKNOWN" },
        { ...actOf(waiting), from: "PARKED" },
      ] as const;
      expect(await ledger.act([...stale])).toEqual([false, false, false]);
      expect([(await rowOf(waiting))?.state, (await rowOf(parked))?.state]).toEqual([
        "DEFERRED",
        "PARKED",
      ]);
    });

    it("lets an operator cancel what waits, and close what is parked, and nothing else", async () => {
      const [waiting, parked, dialing, placed] = [aCall(), aCall(), aCall(), aCall()];
      const line = { line: "vapi", dueAt: 1 };
      await ledger.defer([deferralOf(waiting, line)]);
      await ledger.claim([parked, dialing, placed].map((call) => claimOf(call)));
      await ledger.settle([settlementOf(parked, { state: "PARKED" }), settlementOf(placed)]);
      const calls = [waiting, parked, dialing, placed, aCall()];
      const acts = calls.map((call) => actOf(call));
      expect(await actAsRead(acts)).toEqual([true, true, false, false, false]);
      expect(await actAsRead(acts)).toEqual([true, true, false, false, false]);
      expect(await rowOf(waiting)).toMatchObject({
        state: "CANCELLED",
        reason: "operator",
        dueAt: null,
        line: null,
        call: waiting,
        updatedAt: 9000,
      });
      expect((await rowOf(waiting))?.history.at(-1)).toEqual({
        at: 9000,
        state: "CANCELLED",
        reason: "operator",
        by: "ops",
      });
      expect((await rowOf(parked))?.history).toHaveLength(3);
      expect(await ledger.claim([claimOf(waiting, { at: 99_000 })])).toEqual([false]);
      expect(await ledger.due({ until: 99_000, line: "vapi", limit: 9 })).toEqual([]);
      expect((await rowOf(dialing))?.state).toBe("DIALING");
    });

    it("lets an operator say that a parked call was placed, and forgets whom it was to", async () => {
      const [parked, waiting] = [aCall(), aCall()];
      await ledger.claim([claimOf(parked)]);
      await ledger.settle([settlementOf(parked, { state: "PARKED" })]);
      await ledger.defer([deferralOf(waiting)]);
      const acts = [parked, waiting].map((call) => actOf(call, { to: "PLACED" }));
      expect(await actAsRead(acts)).toEqual([true, false]);
      expect(await rowOf(parked)).toMatchObject({ state: "PLACED", call: null, numberTail: "23" });
    });

    it("has one call made in another's stead, however many ask", async () => {
      const [parked, rejected, expired, waiting] = [aCall(), aCall(), aCall(), aCall()];
      await ledger.claim([parked, rejected].map((call) => claimOf(call)));
      const states = ["PARKED", "REJECTED"] as const;
      await ledger.settle(
        [parked, rejected].map((call, n) => settlementOf(call, { state: states[n] ?? "PARKED" })),
      );
      await ledger.defer([deferralOf(expired, { state: "EXPIRED" }), deferralOf(waiting)]);
      const redial = (call: Call, redialedAs: string) =>
        actOf(call, { to: "REDIALED", redialedAs });
      const many = await Promise.all(
        Array.from({ length: 10 }, (_, n) => actAsRead([redial(parked, `call_${n}`)])),
      );
      expect(many.flat().filter(Boolean)).toHaveLength(1);
      const winner = `call_${many.findIndex(([won]) => won)}`;
      expect(await rowOf(parked)).toMatchObject({
        state: "REDIALED",
        redialedAs: winner,
        call: parked,
      });
      expect(await actAsRead([redial(parked, winner)])).toEqual([true]);
      const others = [rejected, expired, waiting].map((call) => redial(call, "call_new"));
      expect(await actAsRead(others)).toEqual([true, true, false]);
      // The provider may yet say that it had placed it.
      expect(await ledger.settle([settlementOf(parked, { at: 9500 })])).toEqual([true]);
      expect(await rowOf(parked)).toMatchObject({ state: "PLACED", redialedAs: winner });
    });

    it("adds notes to the history of a call that is there", async () => {
      const call = aCall();
      await ledger.defer([deferralOf(call)]);
      const entry = { at: 2000, state: "UNKNOWN", reason: "not_found" } as const;
      await ledger.note([
        { id: call.id, entry },
        { id: aCall().id, entry },
      ]);
      expect((await rowOf(call))?.history.at(-1)).toEqual(entry);
      expect(await rowOf(call)).toMatchObject({ state: "DEFERRED", updatedAt: 1000 });
    });

    it("counts what comes into each state, by the hour", async () => {
      const hour = 3_600_000;
      const calls = Array.from({ length: 5 }, () => aCall());
      const [one, two, three, four, five] = calls;
      if (!one || !two || !three || !four || !five) throw new Error("five calls were made");
      await ledger.defer([one, two].map((call) => deferralOf(call, { at: hour + 1 })));
      await ledger.defer([deferralOf(one, { at: hour + 2, seenDueAt: 5000 })]); // waits on
      await ledger.claim([three, four].map((call) => claimOf(call, { at: hour + 3 })));
      await ledger.settle([three, four].map((call) => settlementOf(call, { at: 2 * hour })));
      await ledger.settle([settlementOf(three, { at: 2 * hour })]); // the same again
      await ledger.defer([deferralOf(five, { state: "EXPIRED", at: 3 * hour })]);
      await actAsRead([actOf(two, { at: 2 * hour + 5 })]);
      await ledger.writeCounts();
      await ledger.writeCounts(); // there is nothing more to write
      expect(await ledger.counts(hour, 3 * hour)).toEqual([
        { hour: 1, state: "DEFERRED", count: 2 },
        { hour: 2, state: "CANCELLED", count: 1 },
        { hour: 2, state: "PLACED", count: 2 },
      ]);
      expect(await ledger.counts(3 * hour, 4 * hour)).toEqual([
        { hour: 3, state: "EXPIRED", count: 1 },
      ]);
      expect(await ledger.standing("PLACED", 10)).toBe(2);
      expect(await ledger.standing("PLACED", 1)).toBe(1);
      expect(await ledger.standing("PARKED", 10)).toBe(0);
    });

    it("keeps orders until they are dropped or have expired", async () => {
      const hold = { name: "hold agent a", at: 1000, by: "ops", expiresAt: null };
      const cancel = { name: "cancel request req_1", at: 1000, by: "ops", expiresAt: 5000 };
      await ledger.giveOrder(hold);
      await ledger.giveOrder(cancel);
      await ledger.giveOrder({ ...cancel, at: 2000 });
      const names = [cancel.name, hold.name, "cancel agent a", cancel.name];
      const standing = async (now: number) =>
        (await ledger.ordersNamed(names, now)).toSorted((a, b) => a.at - b.at);
      expect(await standing(4999)).toEqual([hold, { ...cancel, at: 2000 }]);
      expect(await standing(5000)).toEqual([hold]);
      expect(await ledger.ordersNamed(["hold agent"], 1)).toEqual([]);
      const all = async (some: string[], now: number) =>
        (await ledger.ordersFor(some, now)).toSorted((a, b) => a.at - b.at);
      expect(await all(names, 4999)).toEqual([hold, { ...cancel, at: 2000 }]);
      expect(await all(names, 5000)).toEqual([hold]);
      expect(await all([], 1)).toEqual([hold]);
      expect(await ledger.holdOrders()).toEqual([hold]);
      await ledger.dropOrder(hold.name);
      await ledger.dropOrder("no such order");
      expect(await ledger.holdOrders()).toEqual([]);
      expect(await ledger.ordersNamed([], 1)).toEqual([]);
    });

    it("finds a hold among any number of cancellations", async () => {
      const names = Array.from({ length: 1200 }, (_, n) => `cancel request req_${n}`);
      for (const one of ["hold account z", ...names]) {
        const expiresAt = one === "hold account z" ? null : 9;
        await ledger.giveOrder({ name: one, at: 1, by: "ops", expiresAt });
      }
      expect((await ledger.holdOrders()).map((order) => order.name)).toEqual(["hold account z"]);
      expect(await ledger.ordersNamed(names.slice(0, 150), 1)).toHaveLength(150);
    });

    it("keeps the list of numbers that are never called", async () => {
      const hashes = Array.from({ length: 250 }, (_, n) => `hash_${n}`);
      await ledger.addDoNotCall(hashes, 1000);
      await ledger.addDoNotCall(["hash_1"], 2000);
      expect(await ledger.doNotCall(["hash_1", "other", "hash_249"])).toEqual(
        new Set(["hash_1", "hash_249"]),
      );
      expect((await ledger.doNotCall(hashes)).size).toBe(250);
      await ledger.dropDoNotCall(["hash_1", "other"]);
      expect(await ledger.doNotCall(["hash_1"])).toEqual(new Set());
      expect(await ledger.doNotCall([])).toEqual(new Set());
    });

    it("tells what operators did, newest first, page by page", async () => {
      const acts = [3, 1, 2].map((at) => ({
        id: `act_${at}`,
        at,
        by: "ops",
        act: "hold",
        target: "a",
      }));
      for (const act of acts) await ledger.logAct(act);
      await ledger.logAct({ id: "act_4", at: 4, by: "ops", act: "cancel", target: "b", count: 7 });
      const newest = await ledger.acts({ limit: 2 });
      expect(newest.map(({ at, count }) => [at, count])).toEqual([
        [4, 7],
        [3, undefined],
      ]);
      const rest = await ledger.acts({ before: { at: 3, id: "act_3" }, limit: 9 });
      expect(rest).toEqual([acts[2], acts[1]]);
    });

    it("purges what ended long ago, and nothing that waits or dials", async () => {
      const accepted = { acceptedAt: 500 };
      const [placed, parked] = [aCall(accepted), aCall(accepted)];
      const [waiting, dialing] = [aCall(accepted), aCall(accepted)];
      await ledger.claim([placed, parked, dialing].map((call) => claimOf(call)));
      await ledger.settle([settlementOf(placed), settlementOf(parked, { state: "PARKED" })]);
      await ledger.defer([deferralOf(waiting)]);
      expect(await ledger.ended(2000, 10)).toEqual([]);
      const ended = await ledger.ended(2001, 10);
      expect(ended).toHaveLength(2);
      expect(ended).toEqual(
        expect.arrayContaining([
          { id: placed.id, state: "PLACED" },
          { id: parked.id, state: "PARKED" },
        ]),
      );
      expect(await ledger.ended(2001, 1)).toHaveLength(1);
      const all = [placed, parked, waiting, dialing].map(({ id }) => id);
      await ledger.purge(all, 2000, 10_000);
      expect((await ledger.read(all)).size).toBe(4);
      await ledger.purge(all, 2001, 10_000);
      const left = await ledger.read([placed, parked, waiting, dialing].map(({ id }) => id));
      expect([...left.keys()].toSorted()).toEqual([waiting.id, dialing.id].toSorted());
    });

    it("keeps of a call that was placed its number's hash and two digits, and nothing else", async () => {
      const call = aCall({ request: { ...aCall().request, context: { name: "Ada Lovelace" } } });
      await ledger.defer([deferralOf(call)]);
      expect(await stored(1000)).toContain("Ada Lovelace");
      await ledger.claim([claimOf(call, { at: 6000 })]);
      await ledger.settle([settlementOf(call)]);
      const left = await stored(2000);
      expect(left).toContain(call.id);
      for (const secret of [call.request.phone_number.slice(1, -2), "Ada", "New_York"]) {
        expect(left).not.toContain(secret);
      }
    });

    it("has nothing left of a call once its retention is over, nor of what was done to it", async () => {
      const day = 86_400_000;
      const retentionMs = 60 * day;
      const mark = "a9f3c1";
      const call = aCall({
        id: `call_${mark}`,
        requestId: `req_${mark}`,
        client: `client_${mark}`,
        request: { phone_number: "+12025550123", agent_id: `agent_${mark}` },
      });
      const traced = { numberHash: `hash_${mark}`, numberTail: "23" };
      const at = 100 * day;
      await ledger.defer([{ ...deferralOf(call, { dueAt: at, at }), ...traced }]);
      const claim = claimOf(call, { at, deadline: at + 60_000 });
      await ledger.claim([{ ...claim, ...traced }]);
      await ledger.settle([settlementOf(call, { state: "PARKED", at })]);
      const redial = { id: call.id, to: "REDIALED", redialedAs: "call_x", by: "ops", at } as const;
      await ledger.act([{ ...redial, from: "PARKED" }]);
      await ledger.note([{ id: call.id, entry: { at, state: "REDIALED", reason: mark } }]);
      await ledger.logAct({ id: "act_1", at, by: "ops", act: "redial", target: call.id });
      const expiresAt = at + 7 * day;
      await ledger.giveOrder({ name: `cancel request req_${mark}`, at, by: "ops", expiresAt });
      await ledger.bindKey(`key_${mark}`, { fingerprint: mark, seed: mark }, at, at + day);
      const caps = [{ count: 2, days: 30 }];
      await ledger.count({ numberHash: traced.numberHash, callId: call.id, at, caps });
      expect((await stored(at)).split(mark).length).toBeGreaterThan(6);

      // As the sweep does it, each minute; and what an engine's own clock deletes within two days of its time.
      const purgeAt = async (now: number) => {
        const before = now - retentionMs;
        const ended = await ledger.ended(before, 100);
        await ledger.purge(
          ended.map(({ id }) => id),
          before,
          now,
        );
      };
      await purgeAt(at + retentionMs - 1);
      expect(await stored(at + retentionMs - 1)).toContain(call.id);
      await purgeAt(at + retentionMs + 1);
      expect(await stored(at + retentionMs + 2 * day)).not.toContain(mark);
    });

    it("finds what ended long ago among many rows that were accepted earlier and ended later", async () => {
      const late = Array.from({ length: 40 }, (_, n) => aCall({ acceptedAt: n }));
      const early = aCall({ acceptedAt: 500 });
      await ledger.claim([...late, early].map((call) => claimOf(call)));
      await ledger.settle(late.map((call) => settlementOf(call, { at: 9000 })));
      await ledger.settle([settlementOf(early, { state: "PARKED" })]);
      expect(await ledger.ended(2001, 5)).toEqual([{ id: early.id, state: "PARKED" }]);
    });

    it("binds a key once, until it expires", async () => {
      const bound = { fingerprint: "f1", seed: "s1" };
      expect(await ledger.readKey("key", 0)).toBeUndefined();
      expect(await ledger.bindKey("key", bound, 0, 100)).toEqual(bound);
      const later = { fingerprint: "f2", seed: "s2" };
      expect(await ledger.bindKey("key", later, 99, 199)).toEqual(bound);
      expect(await ledger.readKey("key", 99)).toEqual(bound);
      expect(await ledger.readKey("key", 100)).toBeUndefined();
      expect(await ledger.bindKey("key", later, 100, 200)).toEqual(later);
      await ledger.purge([], 0, 150);
      expect(await ledger.readKey("key", 150)).toEqual(later);
    });

    it("binds a key to one of many at once", async () => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          ledger.bindKey("key", { fingerprint: "f", seed: `s${n}` }, 0, 100),
        ),
      );
      expect(new Set(answers.map(({ seed }) => seed)).size).toBe(1);
    });

    it("holds from the given number of equal strikes on, until cleared", async () => {
      const strike = (code: string, at = 0, probeAt = 50) =>
        ledger.strike({ name: "route:1", code, holdFrom: 3, probeAt, at });
      expect(await ledger.holds()).toEqual([]);
      expect(await strike("http_404")).toMatchObject({ count: 1, probeAt: null });
      await strike("http_404");
      expect(await strike("http_422")).toMatchObject({ count: 1, probeAt: null });
      await strike("http_422");
      const held = { name: "route:1", code: "http_422", count: 3, probeAt: 50 };
      expect(await strike("http_422")).toEqual(held);
      expect(await ledger.holds()).toEqual([held]);
      // Answers that were under way change nothing; once the probe is due, another refusal holds on.
      expect(await strike("http_422", 49, 90)).toEqual(held);
      expect(await strike("http_400", 50, 90)).toMatchObject({ count: 1, probeAt: 90 });
      await ledger.clearHold("route:1");
      expect(await ledger.holds()).toEqual([]);
    });

    it("gives a probe to one of many, and counts it", async () => {
      const account = {
        name: "account:webhook",
        code: "http_401",
        holdFrom: 1,
        probeAt: 50,
        at: 0,
      };
      const hold = await ledger.strike(account);
      const taken = await Promise.all(
        Array.from({ length: 10 }, () => ledger.takeProbe(hold, 110)),
      );
      expect(taken.filter(Boolean)).toHaveLength(1);
      expect(await ledger.holds()).toEqual([{ ...hold, count: 2, probeAt: 110 }]);
    });

    it("gives slots at the account's pace, its burst at once, and none later than asked", async () => {
      const now = 1_700_000_000_000;
      const two = { account: "webhook:example.com", intervalUs: 500_000, burst: 3, count: 100 };
      const slots = await ledger.reserve({ ...two, now, until: now + 2000 });
      expect(slots.map((slot) => slot - now)).toEqual([0, 0, 0, 500, 1000, 1500, 2000]);
      expect(await ledger.reserve({ ...two, now, until: now + 2000 })).toEqual([]);
      expect(await ledger.reserve({ ...two, count: 1, now, until: now + 9000 })).toEqual([
        now + 2500,
      ]);
      const other = { ...two, account: "webhook:example.org", count: 1 };
      expect(await ledger.reserve({ ...other, now, until: now })).toEqual([now]);
      // After a pause the burst is there again, and no more than that.
      const later = now + 60_000;
      const again = await ledger.reserve({ ...two, now: later, until: later + 500 });
      expect(again.map((slot) => slot - later)).toEqual([0, 0, 0, 500]);
    });

    it("never exceeds the pace, however many reserve at once", async () => {
      const now = 1_700_000_000_000;
      const [perSecond, burst] = [20, 4];
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, n) =>
          ledger.reserve({
            account: "webhook:example.com",
            intervalUs: 1_000_000 / perSecond,
            burst,
            count: 1 + (n % 5),
            now: now + n,
            until: now + 75_000,
          }),
        ),
      );
      const slots = answers.flat().toSorted((a, b) => a - b);
      expect(slots).toHaveLength(150);
      for (const [index, slot] of slots.entries()) {
        const second = slots.slice(index).filter((one) => one < slot + 1000);
        expect(second.length).toBeLessThanOrEqual(perSecond + burst);
        const rest = slots[index + burst + 10 * perSecond];
        if (rest !== undefined) expect(rest - slot).toBeGreaterThanOrEqual(10_000);
      }
      // And leaves none of it unused: 150 calls, 4 of them at once, take 146 intervals.
      expect((slots.at(-1) ?? 0) - now).toBeLessThanOrEqual(146 * 50 + 50);
    });

    it("gives the slots that the arithmetic gives, for any sequence of requests", async () => {
      const request = fc.record({
        account: fc.constantFrom("a", "b"),
        intervalUs: fc.constantFrom(50_000, 333_334, 1_000_000, 50_000_000),
        burst: fc.integer({ min: 1, max: 4 }),
        count: fc.integer({ min: 1, max: 30 }),
        passedMs: fc.nat({ max: 5000 }),
        aheadMs: fc.constantFrom(0, 5000, 75_000),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 12 }), async (requests) => {
          const model = createMemoryLedger();
          const run = sequence++;
          let now = 1_700_000_000_000;
          for (const { passedMs, aheadMs, account, ...pace } of requests) {
            now += passedMs;
            const one = { ...pace, account: `${account}${run}`, now, until: now + aheadMs };
            expect(await ledger.reserve(one)).toEqual(await model.reserve(one));
          }
        }),
        { numRuns: 40 },
      );
    });

    it("counts calls to a number until a cap is reached, each once", async () => {
      const day = 86_400_000;
      const caps = [
        { count: 2, days: 1 },
        { count: 3, days: 7 },
      ];
      const count = (callId: string, at: number, numberHash = "hash") =>
        ledger.count({ numberHash, callId, at, caps });
      expect(await count("call_1", 100 * day)).toBe(100 * day);
      expect(await count("call_1", 100 * day + 1000)).toBe(100 * day + 1000); // the same, later
      expect(await count("call_2", 100 * day + 2000)).toBe(100 * day + 2000);
      // Two within a day: free again a day after the first of them.
      expect(await count("call_3", 100 * day + 3000)).toBe(101 * day + 1000);
      expect(await count("call_3", 100 * day + 3000, "another")).toBe(100 * day + 3000);
      expect(await count("call_3", 101 * day + 999)).toBe(101 * day + 1000);
      expect(await count("call_3", 101 * day + 1000)).toBe(101 * day + 1000);
      // Three within a week.
      expect(await count("call_4", 103 * day)).toBe(107 * day + 1000);
      expect(await count("call_2", 103 * day)).toBe(103 * day); // the others are two
    });

    it("frees a number at a whole millisecond, whatever fraction of a day its cap is for", async () => {
      const caps = [{ count: 1, days: 0.0416667 }];
      const count = (callId: string, at: number) =>
        ledger.count({ numberHash: "hash", callId, at, caps });
      const at = 1_780_000_000_000;
      expect(await count("call_1", at)).toBe(at);
      const free = await count("call_2", at + 1);
      expect(free).toBe(at + 3_600_003);
      expect(await count("call_2", free - 1)).toBe(free);
      expect(await count("call_2", free)).toBe(free);
    });

    it("takes a counted call back, if it still is counted at that time", async () => {
      const caps = [{ count: 1, days: 1 }];
      const count = (callId: string, at: number) =>
        ledger.count({ numberHash: "hash", callId, at, caps });
      await count("call_1", 1000);
      await ledger.uncount({ numberHash: "hash", callId: "call_1", at: 999 });
      await ledger.uncount({ numberHash: "hash", callId: "call_2", at: 1000 });
      await ledger.uncount({ numberHash: "another", callId: "call_1", at: 1000 });
      expect(await count("call_2", 2000)).toBe(86_401_000);
      await ledger.uncount({ numberHash: "hash", callId: "call_1", at: 1000 });
      expect(await count("call_2", 2000)).toBe(2000);
    });

    it("counts a call from its latest attempt on, though an earlier one's write comes late", async () => {
      const caps = [{ count: 1, days: 1 }];
      const day = 86_400_000;
      const count = (callId: string, at: number) =>
        ledger.count({ numberHash: "hash", callId, at, caps });
      expect(await count("call_1", 9000)).toBe(9000);
      expect(await count("call_1", 1000)).toBe(1000);
      expect(await count("call_2", 9500)).toBe(9000 + day);
      expect(await count("call_1", 9800)).toBe(9800);
      expect(await count("call_2", 9900)).toBe(9800 + day);
    });

    it("lets as many of many at once through as the cap has room for", async () => {
      const caps = [{ count: 3, days: 1 }];
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          ledger.count({ numberHash: "hash", callId: `call_${n}`, at: 1000 + n, caps }),
        ),
      );
      expect(answers.filter((free, n) => free === 1000 + n)).toHaveLength(3);
    });

    it("counts for other agents' caps what comes under none, and forgets it in time", async () => {
      const day = 86_400_000;
      const one = { numberHash: "hash", callId: "call_1", at: 100 * day };
      expect(await ledger.count({ ...one, caps: [] })).toBe(100 * day);
      const next = { ...one, callId: "call_2", caps: [{ count: 1, days: 60 }] };
      expect(await ledger.count({ ...next, at: 159 * day })).toBe(160 * day);
      await ledger.purge([], 0, 160 * day);
      expect(await ledger.count({ ...next, at: 160 * day })).toBe(160 * day);
    });

    it("does what the state machine says, for any sequence of writes", async () => {
      const ids = fc.nat({ max: 2 });
      const token = fc.constantFrom("t1", "t2", "t3");
      const time = fc.nat({ max: 20 });
      const unrecorded = fc.boolean();
      const write = fc.oneof(
        fc.record({
          kind: fc.constant("claim" as const),
          unrecorded,
          stale: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
          which: ids,
          token,
          at: time,
          deadline: time,
          idempotent: fc.boolean(),
          resendOf: fc.option(token, { nil: undefined }),
        }),
        fc.record({
          kind: fc.constant("settle" as const),
          unrecorded,
          which: ids,
          token,
          at: time,
          dueAt: time,
          state: fc.constantFrom(
            ...(["PLACED", "DEFERRED", "REJECTED", "UNKNOWN", "PARKED"] as const),
          ),
        }),
        fc.record({
          kind: fc.constant("defer" as const),
          unrecorded,
          which: ids,
          at: time,
          dueAt: time,
          state: fc.constantFrom(...(["DEFERRED", "EXPIRED", "REJECTED", "PARKED"] as const)),
          line: fc.option(fc.constantFrom("a", "b"), { nil: undefined }),
          seenDueAt: fc.option(time),
        }),
        fc.record({
          kind: fc.constant("act" as const),
          stale: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
          which: ids,
          at: time,
          to: fc.constantFrom(...(["PLACED", "CANCELLED", "REDIALED"] as const)),
          redialedAs: fc.constantFrom("call_1", "call_2"),
        }),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(write, { minLength: 1, maxLength: 25 }), async (writes) => {
          const model = createMemoryLedger();
          const calls = [aCall(), aCall(), aCall()];
          const waits = (state: string) => state === "DEFERRED" || state === "UNKNOWN";
          const run = async (on: CallLedger, one: (typeof writes)[number], order: number) => {
            const call = calls[one.which] ?? aCall();
            if (one.kind === "claim") {
              const before = (await model.read([call.id])).get(call.id)?.attempt ?? 0;
              const attempt = one.stale ? before : before + 1;
              const resend = one.resendOf === undefined ? {} : { resendOf: one.resendOf };
              const { at, deadline, unrecorded: quiet } = one;
              const to = one.idempotent ? idempotentRoute : route;
              return on.claim([
                claimOf(call, {
                  token: one.token,
                  route: to,
                  attempt,
                  at,
                  deadline,
                  unrecorded: quiet,
                  ...resend,
                }),
              ]);
            }
            if (one.kind === "act") {
              const { to, at, redialedAs } = one;
              const as = to === "REDIALED" ? { redialedAs } : {};
              const state = (await model.read([call.id])).get(call.id)?.state;
              const from = one.stale || state === undefined ? "DEFERRED" : state;
              return on.act([{ id: call.id, to, from, by: "ops", at, ...as }]);
            }
            const { state, at, unrecorded: quiet } = one;
            const due = waits(state) ? { dueAt: one.dueAt } : {};
            if (one.kind === "settle") {
              const { id } = call;
              return on.settle([
                {
                  id,
                  token: one.token,
                  at,
                  state: one.state,
                  reason: "r",
                  unrecorded: quiet,
                  ...due,
                },
              ]);
            }
            const { seenDueAt } = one;
            // No two of the same millisecond: one that says the same as another's may be taken for it.
            const deferredAt = 1000 + order;
            const line = one.line === undefined || !waits(state) ? {} : { line: one.line };
            return on.defer([
              {
                call,
                ...trace,
                ...due,
                ...line,
                seenDueAt,
                state: one.state,
                reason: "r",
                unrecorded: quiet,
                at: deferredAt,
              },
            ]);
          };
          for (const [order, one] of writes.entries()) {
            expect(await run(ledger, one, order)).toEqual(await run(model, one, order));
          }
          const read = calls.map(({ id }) => id);
          expect(await ledger.read(read)).toEqual(await model.read(read));
        }),
        { numRuns: 150 },
      );
    });
  });
}
