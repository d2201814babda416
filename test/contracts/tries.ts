import { consumeCalls, consumeEvents, sweep, upkeep } from "#test/support/entries.ts";
import { readRow } from "#test/support/reads.ts";
import { beforeEach, describe, expect, it } from "vitest";
import type { DialerDeps } from "#functions/dialer/runtime/context.ts";
import { type Call, accountNameOf } from "#shared/calls/call-request.ts";
import type { ResultStatus } from "#shared/calls/call-result.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { toTryId } from "#shared/calls/tries.ts";
import { findAgentRoute } from "#shared/dial-plan/dial-plan.ts";
import { parseDialPlan } from "../support/plans.ts";
import { readRound } from "#shared/policy/split-rounds.ts";
import type { EventBody } from "#shared/events/outbox-rows.ts";
import type { ReadResult } from "#shared/providers/provider.ts";
import { aCall } from "../support/calls.ts";
import { message } from "../support/dialer-calls.ts";
import { dialerParts, jumpingSleep, settingsUnder, type Stores } from "../support/dialer-parts.ts";
import { apiEnvironment, testPlan, tokens } from "../support/environment.ts";
import { createTestApi } from "../support/api.ts";
import { jsonRequest } from "../support/json-request.ts";

const startAt = Date.parse("2026-11-18T12:00:00Z");
const minute = 60_000;

/** Describes how the dialer tries calls again over a real ledger. */
export function describeTries(name: string, create: (now: () => number) => Promise<Stores>): void {
  describe(`tries over ${name}`, () => {
    let bench: Awaited<ReturnType<typeof createBench>>;
    beforeEach(async () => {
      bench = await createBench(create);
    });

    it("follow busy and no answer at the planned times, and end with a completed call", async () => {
      bench.results.push("busy", "no_answer", "completed");
      const call = await bench.post();
      const ids = [call.id, toTryId(call.id, 2), toTryId(call.id, 3)];
      await bench.pass(2, 1, 13);
      expect(bench.dialed.map(({ id }) => id)).toEqual(ids.slice(0, 1));
      await bench.pass(1, 1, 3, 1, 100, 75);
      expect(bench.dialed.map(({ id }) => id)).toEqual(ids.slice(0, 2));
      await bench.pass(5, 1, 3, 1, 1);
      expect(bench.dialed.map(({ id }) => id)).toEqual(ids);
      await bench.pass(600, 1, 1);
      expect(bench.dialed).toHaveLength(3);
      const [first = 0, second = 0, third = 0] = bench.dialed.map(({ at }) => at);
      for (const [delay, planned] of [
        [second - first, 15],
        [third - second, 180],
      ] as const) {
        expect(delay).toBeGreaterThanOrEqual(planned * minute);
        expect(delay).toBeLessThan((planned + 10) * minute);
      }
      const ended = bench.told("call.ended").map(({ data }) => [data["id"], data["tries_left"]]);
      expect(ended).toEqual([ids[0], ids[1], ids[2]].map((id, index) => [id, [2, 1, 0][index]]));
      expect(bench.told("request.finished")).toMatchObject([
        { data: { request_id: call.requestId, counts: { by_result: { completed: 1 } } } },
      ]);
      for (const id of ids)
        expect(await bench.row(id)).toMatchObject({ request: null, dueAt: null });
    });

    it.each([
      ["before a result is known", [], false],
      ["while a try is named and has no row", [2, 1], true],
      ["while a try waits", [2, 1], false],
    ])("are cancelled with their request %s", async (_, before, isDown) => {
      bench.results.push("busy", "completed");
      const call = await bench.post();
      bench.refusesTries(isDown);
      await bench.pass(...before);
      const second = await bench.row(toTryId(call.id, 2));
      expect(second?.state).toBe(before.length > 0 && !isDown ? "WAITING" : undefined);
      expect(await bench.cancel(call.requestId)).toBe(200);
      bench.refusesTries(false);
      await bench.pass(2, 1, 13, 1, 100, 75);
      expect(bench.dialed).toHaveLength(1);
      expect(await bench.row(toTryId(call.id, 2))).toMatchObject({ state: "CANCELLED" });
    });

    it("of a call to a split are its arm's, and count once in the split's results", async () => {
      bench.results.push("busy", "completed");
      const call = await bench.post("agent_any");
      await bench.pass(2, 1, 13, 1, 5, 5, 1);
      expect(bench.dialed.map(({ id }) => id)).toEqual([call.id, toTryId(call.id, 2)]);
      for (const { id } of bench.dialed) {
        expect(await bench.row(id)).toMatchObject({
          agentId: "agent_sales",
          split: `${startAt} agent_any`,
        });
      }
      const ended = bench.told("call.ended").map(({ data }) => [data["agent_id"], data["split"]]);
      expect(ended).toEqual([
        ["agent_sales", "agent_any"],
        ["agent_sales", "agent_any"],
      ]);
      const { round, arms } = await bench.round();
      expect(round?.value).toMatchObject({ since: startAt, arms: { agent_sales: 1 } });
      expect(arms).toEqual([
        { arm: "agent_sales", weight: 1, ended: 1, answered: 1, completed: 1 },
      ]);
    });

    it("are followed by the call-back for which a callee asked, in the place of a waiting retry", async () => {
      bench.results.push("busy", "completed", "completed");
      const call = await bench.post();
      const ids = [call.id, toTryId(call.id, 2), toTryId(call.id, 3)];
      await bench.pass(2, 1);
      expect(await bench.row(ids[1] ?? "")).toMatchObject({ state: "WAITING", reason: "retry" });
      const first = bench.asks(ids[0] ?? "", 120);
      await bench.hint(call);
      expect(await bench.row(ids[1] ?? "")).toMatchObject({
        state: "WAITING",
        reason: "call_back",
        dueAt: first,
        tries: { number: 2, promisedAt: first, callBacks: { made: 1 } },
      });
      await bench.pass(60);
      expect(bench.dialed).toHaveLength(1);
      await bench.pass(62, 1);
      expect(bench.dialed.map(({ id }) => id)).toEqual(ids.slice(0, 2));
      const second = bench.asks(ids[1] ?? "", 60);
      await bench.pass(3, 1, 1, 1);
      expect(await bench.row(ids[1] ?? "")).toMatchObject({ callBack: { at: second } });
      await bench.pass(60, 1);
      expect(bench.dialed.map(({ id }) => id)).toEqual(ids);
      await bench.pass(3, 1, 1);
      for (const id of ids)
        expect(await bench.row(id)).toMatchObject({ request: null, dueAt: null });
      expect(bench.told("call.call_back").map(({ data }) => data["call_back"])).toMatchObject([
        { at: new Date(first).toISOString(), call_id: ids[1], by: "service" },
        { at: new Date(second).toISOString(), call_id: ids[2], by: "service" },
      ]);
    });

    it("are cancelled by the client by their ids, and by no other", async () => {
      bench.results.push("completed");
      const call = await bench.post();
      bench.asks(call.id, 120);
      await bench.pass(2, 1);
      const promised = toTryId(call.id, 2);
      expect(await bench.row(promised)).toMatchObject({ reason: "call_back" });
      expect(await bench.cancelCall(promised, "shop")).toBe(404);
      expect(await bench.cancelCall(promised)).toBe(200);
      expect(await bench.cancelCall(promised)).toBe(200);
      expect(await bench.cancelCall(call.id)).toBe(409);
      await bench.pass(130, 1);
      expect(bench.dialed).toHaveLength(1);
      expect(await bench.row(promised)).toMatchObject({ state: "CANCELLED", reason: "client" });
    });

    it("do not follow a call that was declined", async () => {
      bench.results.push("declined", "completed");
      const call = await bench.post();
      await bench.pass(2, 1, 1, 20, 240, 1);
      expect(bench.dialed).toHaveLength(1);
      expect(bench.told("call.ended")).toMatchObject([{ data: { try: 1, tries_left: 0 } }]);
      expect(bench.told("request.finished")).toHaveLength(1);
      expect(await bench.row(call.id)).toMatchObject({ request: null });
      expect(await bench.row(toTryId(call.id, 2))).toBeUndefined();
    });
  });
}

const nothing = { human: null, word: null, answeredAt: null, endedAt: null, seconds: null };

/** Creates a dialer over the ledger, whose clock the test moves, and a provider whose records tell results in turn. */
async function createBench(create: (now: () => number) => Promise<Stores>) {
  let now = startAt;
  const { ledger: stored, documents } = await create(() => now);
  let areRefused = false;
  const ledger: Stores["ledger"] = {
    ...stored,
    async write(changes) {
      const isTry = changes.some(({ next }) => next.tries !== undefined && next.tries.number > 1);
      if (areRefused && isTry) throw new Error("the ledger is down");
      return stored.write(changes);
    },
  };
  const dialed: { id: string; at: number }[] = [];
  const results: ResultStatus[] = [];
  /** Times for which callees want to be called back, by the calls in which they say so. */
  const wishes = new Map<string, string>();
  const posted: EventBody[] = [];
  const queued: unknown[] = [];
  const log: DialerDeps["log"] = () => undefined;
  const retry = { attempts: 3, within: "72h", after: { busy: "15m", no_answer: "3h" } };
  const planned = {
    ...testPlan,
    agents: {
      agent_sales: {
        provider: "vapi",
        agent: "a",
        from: "f",
        retry,
        callBacks: { within: "14d", most: 2 },
      },
      agent_any: { split: { agent_sales: 1 } },
    },
    results: {},
    events: { "*": { url: "http://127.0.0.1:9/events" } },
  };
  const plan = parseDialPlan(planned, {});
  const deps: DialerDeps = {
    ...dialerParts(),
    log,
    eventsQueue: {
      send: async (one) => void queued.push(one),
      sendMany: async (all) => queued.push(...all.map((one) => one.message)),
    },
    ledger,
    documents,
    settings: {
      ...settingsUnder(plan, log),
      async postEvent(_receiver, { body }) {
        posted.push(JSON.parse(body));
        return { status: 204, text: "" };
      },
      providerOf: () => ({
        async dial({ call: { id } }) {
          dialed.push({ id, at: now });
          return { kind: "placed", providerCallId: `ring_${id}` };
        },
        async readResult({ id }): Promise<ReadResult | undefined> {
          const status = results[dialed.findIndex((one) => one.id === id)];
          const wished = wishes.get(id);
          const analysis = { ...(wished === undefined ? {} : { wished }), isAnalyzed: true };
          return status && { ...nothing, status, analysis };
        },
      }),
    },
    clock: { now: () => now, sleep: jumpingSleep((ms) => (now += ms)) },
  };
  const ids: string[] = [];
  const open = (text: unknown) => ({
    attempt: 1,
    id: "message",
    open: async () => JSON.stringify(text),
  });
  const deliver = (text: unknown) => consumeCalls([open(text)], deps, now + 900_000);
  const route = findAgentRoute("agent_sales", plan);
  const account = route === undefined ? "" : accountNameOf(route);
  return {
    dialed,
    results,
    told: (type: string) => posted.filter((one) => one.type === type),
    row: async (id: string): Promise<CallRow | undefined> => await readRow(ledger, id),
    /** Reads the round of the plan's split, and its results. */
    round() {
      const split = plan.splits["agent_any"];
      if (split === undefined) throw new Error("the plan has a split");
      return readRound({ name: "agent_any", split }, documents);
    },
    /** Has the ledger refuse the rows of tries, or take them again. */
    refusesTries: (isSo: boolean) => void (areRefused = isSo),
    /** Has a client cancel its request. Resolves to the status. */
    async cancel(requestId: string): Promise<number> {
      const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify(planned) };
      const { app } = createTestApi({ ledger, documents, environment, now: () => now });
      const path = `/v1/requests/${requestId}/cancel`;
      return (await app.request(path, jsonRequest(tokens.crmDesk, "POST", {}))).status;
    },
    /** Has a call's record say that its callee wants to be called back in some minutes. Returns that time. */
    asks(id: string, minutes: number): number {
      const at = Math.floor((now + minutes * minute) / 1000) * 1000;
      wishes.set(id, new Date(at).toISOString());
      return at;
    },
    /** Has the provider say by a callback that a call's record has changed. */
    async hint({ id }: Pick<Call, "id">) {
      const [claim = ""] = (await readRow(ledger, id))?.claims ?? [];
      const hinted = { kind: "callback", account: "vapi", call: { id, claim } };
      await consumeEvents([open(hinted)], deps, now + 120_000);
      await this.pass(0);
    },
    /** Has a client cancel one call. Resolves to the status. */
    async cancelCall(id: string, client = "crm"): Promise<number> {
      const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify(planned) };
      const { app } = createTestApi({ ledger, documents, environment, now: () => now });
      const token = client === "crm" ? tokens.crmDesk : tokens.shopDesk;
      return (await app.request(`/v1/calls/${id}/cancel`, jsonRequest(token, "POST", {}))).status;
    },
    /** Has a call accepted and dialed. */
    async post(agent_id = "agent_sales"): Promise<Call> {
      const request = { phone_number: "+12025551000", agent_id, timezone: "UTC" };
      const call = aCall({ acceptedAt: now, request });
      ids.push(call.id, toTryId(call.id, 2), toTryId(call.id, 3));
      await deliver(message(call));
      await deliver({ kind: "dispatch", rows: [{ id: call.id, account }] });
      return call;
    },
    /** Lets minutes pass, after each of these times with a sweep, the messages that it sends, and a dispatch. */
    async pass(...minutes: number[]) {
      for (const one of minutes) {
        now += one * minute;
        await sweep(deps, now + 120_000);
        await upkeep(deps, now + 120_000);
        for (let turn = 0; turn < 3; turn++) {
          const messages = queued.splice(0).map(open);
          if (messages.length > 0) await consumeEvents(messages, deps, now + 120_000);
        }
        const rows = ids.map((id) => ({ id, account }));
        await deliver({ kind: "dispatch", rows });
      }
    },
  };
}
