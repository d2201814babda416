import { consumeCalls, sweep, upkeep } from "#test/support/entries.ts";
import { readRow } from "#test/support/reads.ts";
import { beforeEach, describe, expect, it } from "vitest";
import type { DialerDeps } from "#functions/dialer/runtime/context.ts";
import type { MadeTokenAnswer } from "#functions/operator/tokens.ts";
import { createDialerMemory } from "#functions/dialer/runtime/memory.ts";
import { type Call, accountNameOf } from "#shared/calls/call-request.ts";
import { findAgentRoute } from "#shared/dial-plan/dial-plan.ts";
import { parseDialPlan } from "../support/plans.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import type { EpochStore } from "#shared/ports/epoch-store.ts";
import type { Journal } from "#shared/ports/journal.ts";
import { randomVersion } from "#shared/lib/random.ts";
import type { SoughtCall } from "#shared/providers/provider.ts";
import { aCall } from "../support/calls.ts";
import { dialerParts, jumpingSleep, settingsUnder, type Stores } from "../support/dialer-parts.ts";
import { jsonRequest } from "../support/json-request.ts";
import { createTestApi } from "../support/api.ts";
import { testPlan, tokens } from "../support/environment.ts";
import { message } from "../support/dialer-calls.ts";

/** A ledger that can be copied and put back, and the store of its epoch beside it. */
export interface RestorableLedger extends Stores {
  epochStore: EpochStore;
  journal: Journal;
  /** Copies everything in the ledger. Resolves to a function that puts the copy back in its stead. */
  copy(): Promise<() => Promise<void>>;
}

const startAt = Date.parse("2026-11-18T12:00:00Z");
const minute = 60_000;

/** Describes what a restore of the ledger may never do: have somebody phoned twice. */
export function describeRestore(
  name: string,
  create: (now: () => number) => Promise<RestorableLedger>,
): void {
  describe(`a restore of ${name}`, () => {
    let bench: Awaited<ReturnType<typeof createBench>>;
    beforeEach(async () => {
      bench = await createBench(create);
    });

    it("phones nobody twice, and loses no call that the copy has", async () => {
      const [listed, hooked] = [bench.call("agent_listed"), bench.call("agent_hooked")];
      const tomorrow = bench.call("agent_listed", { timezone: "+09:00" });
      await bench.deliver([listed, hooked, tomorrow]);
      expect(bench.rung).toEqual([]);
      expect((await bench.row(tomorrow))?.state).toBe("WAITING");
      const backup = await bench.backUp();

      bench.provider.isBusy = false;
      await bench.pass(minute);
      await bench.deliver([listed, hooked]);
      const fresh = bench.call("agent_hooked");
      await bench.deliver([fresh]);
      expect(bench.rung.toSorted()).toEqual([listed.id, hooked.id, fresh.id].toSorted());
      await bench.pass(minute);

      await backup.restore();
      expect((await bench.row(listed))?.state).toBe("WAITING");
      // Whatever comes first, a delivery or a sweep: nobody is dialed.
      const later = bench.call("agent_hooked");
      await bench.deliver([listed, hooked, fresh, later]);
      await bench.pass(3 * minute);
      await bench.deliver([listed, hooked, fresh, later]);
      expect(bench.rung).toHaveLength(3);
      expect(bench.alarms()).toContain("ledger.restored");

      await bench.confirm(backup.at);
      await bench.pass(5 * minute);
      await bench.deliver([listed, hooked, fresh, later]);
      await bench.pass(4 * minute);
      const states = async (calls: Call[]) =>
        Promise.all(calls.map(async (call) => (await bench.row(call))?.state));
      expect(await states([listed, hooked, fresh, tomorrow])).toEqual([
        "PLACED", // the provider has it
        "NEEDS_REVIEW", // nobody can be asked
        "NEEDS_REVIEW", // its row was lost
        "WAITING", // it was not due before
      ]);
      expect(bench.rung.filter((id) => id === later.id).length).toBeLessThanOrEqual(1);
      expect(new Set(bench.rung).size).toBe(bench.rung.length);

      const after = bench.call("agent_hooked");
      await bench.deliver([after]);
      expect(bench.rung).toContain(after.id);
    });

    it("leaves each callee the arm that a split has chosen for him", async () => {
      bench.provider.isBusy = false;
      const numbers = Array.from({ length: 25 }, (_, index) => `+354555${2000 + index}`);
      const callAll = async () => {
        const calls = numbers.map((phone_number) => bench.call("agent_any", { phone_number }));
        await bench.deliver(calls);
        const rows = await Promise.all(calls.map((call) => bench.row(call)));
        return rows.map((row) => row?.agentId);
      };
      const arms = await callAll();
      expect(new Set(arms)).toEqual(new Set(["agent_listed", "agent_hooked"]));
      const backup = await bench.backUp();
      await bench.pass(minute);
      expect(await callAll()).toEqual(arms);
      await backup.restore();
      await bench.pass(3 * minute);
      await bench.confirm(backup.at);
      await bench.pass(5 * minute);
      expect(await callAll()).toEqual(arms);
      expect(bench.rung).toHaveLength(3 * numbers.length);
      expect(new Set(bench.rung).size).toBe(bench.rung.length);
    });

    it("looks each call up in all of the lost time, and sends it to review if nothing is found", async () => {
      const call = bench.call("agent_listed");
      await bench.deliver([call]);
      const backup = await bench.backUp();
      await bench.pass(7 * minute);
      await backup.restore();
      await bench.pass(2 * minute);
      await bench.confirm(backup.at);
      await bench.pass(4 * minute);
      const [sought] = bench.sought;
      expect(sought?.from).toBeLessThanOrEqual(backup.at);
      expect(sought?.until).toBeGreaterThanOrEqual(backup.at + 7 * minute);
      await bench.pass(4 * minute);
      expect(await bench.row(call)).toMatchObject({ state: "NEEDS_REVIEW" });
      expect(bench.rung).toEqual([]);
    });

    it("is not detected if the ledger was never set back", async () => {
      const call = bench.call("agent_hooked");
      for (let turn = 0; turn < 3; turn++) {
        await bench.pass(minute);
        bench.restart();
        await bench.deliver([bench.call("agent_hooked")]);
      }
      bench.provider.isBusy = false;
      await bench.deliver([call]);
      await bench.pass(2 * minute); // until the breaker that the busy provider has opened is probed
      expect(bench.rung).toContain(call.id);
      expect(bench.alarms()).toEqual([]);
    });

    it("restores no data of erased people, and calls nobody who opted out or whose call was cancelled", async () => {
      bench.provider.isBusy = false;
      bench.advance(500); // No wait is then as long as that for a slow answer.
      const soon = { timezone: "-06:15" }; // it is 05:45 there, and calling hours begin at 06:00
      const call = () => bench.call("agent_hooked", soon);
      const [erased, listed, ofClient, cancelled] = [call(), call(), call(), call()] as const;
      const [ordered, unlisted, other] = [call(), call(), call()] as const;
      const all = [erased, listed, ofClient, cancelled, ordered, unlisted, other];
      const numberOf = ({ request }: Call) => request.phone_number;
      await bench.deliver(all);
      await bench.ask("/operator/do-not-call", { add: [numberOf(unlisted)] });
      const [placed] = [bench.call("agent_hooked")];
      await bench.deliver([placed]);
      await bench.pass(minute);
      expect(bench.rung).toEqual([placed.id]);
      const backup = await bench.backUp();

      await bench.pass(minute);
      for (const one of [erased, placed]) {
        await bench.ask("/operator/erase", { phone_number: numberOf(one) });
      }
      await bench.ask("/operator/do-not-call", { remove: [numberOf(unlisted)] });
      await bench.ask("/operator/do-not-call", { add: [numberOf(listed)] });
      const phone_numbers = [numberOf(ofClient)];
      await bench.ask("/v1/do-not-call", { phone_numbers, scope: "client" }, tokens.crmOptOut);
      await bench.ask(`/operator/calls/${cancelled.id}/cancel`, {});
      await bench.ask("/operator/cancel", { request_id: ordered.requestId });

      await backup.restore();
      expect(JSON.stringify(await bench.row(erased))).toContain(numberOf(erased));
      await bench.pass(3 * minute);
      await bench.confirm(backup.at);
      await bench.pass(5 * minute);
      for (const one of [erased, placed]) {
        const row = await bench.row(one);
        expect(row).toMatchObject({ request: null, numberTail: "" });
        expect(JSON.stringify(row)).not.toContain(numberOf(one).slice(1));
      }
      await bench.pass(10 * minute);
      expect(bench.rung.toSorted()).toEqual([placed.id, unlisted.id, other.id].toSorted());
      const states = await Promise.all(all.map(async (one) => (await bench.row(one))?.reason));
      const ended = ["erased", "do_not_call", "do_not_call", "operator", "operator"];
      expect(states).toEqual([...ended, "placed", "placed"]);
    });

    it("leaves the do-not-call list as the last opt-outs and removals set it, though processes' clocks differ", async () => {
      const [put, taken, again] = ["+12025550171", "+12025550172", "+12025550173"] as const;
      const optOut = (...phone_numbers: string[]) =>
        bench.ask("/v1/do-not-call", { phone_numbers }, tokens.crmOptOut);
      const remove = (number: string) => bench.ask("/operator/do-not-call", { remove: [number] });
      const listed = async () => {
        const answers = await Promise.all(
          [put, taken, again].map((phone_number) =>
            bench.ask("/operator/do-not-call/check", { phone_number }),
          ),
        );
        const texts = await Promise.all(answers.map((answer) => answer.text()));
        return texts.map((text) => text === '{"listed":true}');
      };
      await optOut(put, taken);
      await bench.pass(minute);
      const backup = await bench.backUp();
      await bench.pass(minute);
      await remove(put);
      bench.advance(-2_000); // each following process is two seconds behind
      await optOut(put, again);
      bench.advance(-2_000);
      await remove(taken);
      await remove(again);
      bench.advance(-2_000);
      await optOut(again);
      bench.advance(6_000);
      expect(await listed()).toEqual([true, false, true]);
      for (let restores = 0; restores < 2; restores++) {
        await backup.restore();
        await bench.pass(3 * minute);
        await bench.confirm(backup.at);
        await bench.pass(5 * minute);
        expect(await listed()).toEqual([true, false, true]);
        bench.advance(minute);
      }
    });

    it("lets nobody in by a token that has ended, and keeps one that was made meanwhile", async () => {
      for (const client of ["kept", "removed"]) await bench.client("PUT", client);
      const [kept, ended] = [await bench.makeToken("kept"), await bench.makeToken("kept")];
      const removed = await bench.makeToken("removed");
      await bench.pass(minute);
      const backup = await bench.backUp();

      await bench.pass(minute);
      await bench.ask(`/operator/tokens/${ended.id}/revoke`, {});
      await bench.client("DELETE", "removed");
      const made = await bench.makeToken("kept");
      const all = [kept, ended, removed, made];
      expect(await bench.statusesOf(all)).toEqual([201, 401, 401, 201]);

      await backup.restore();
      // No sweep has noticed the restore yet.
      expect(await bench.statusesOf(all)).toEqual([503, 503, 503, 503]);
      await bench.pass(3 * minute);
      expect(await bench.statusesOf(all)).toEqual([503, 503, 503, 503]);
      await bench.confirm(backup.at);
      await bench.pass(5 * minute);
      expect(await bench.statusesOf(all)).toEqual([201, 401, 401, 201]);
    });

    it("does not call a token unknown while the journal may bring it back", async () => {
      await bench.client("PUT", "kept");
      await bench.pass(minute);
      const backup = await bench.backUp();
      await bench.pass(minute);
      await bench.client("PUT", "later");
      const made = await bench.makeToken("kept");
      const end = () => bench.statusOf("POST", `/operator/tokens/${made.id}/revoke`);
      const remove = () => bench.statusOf("DELETE", "/operator/clients/later");

      await backup.restore();
      expect([await end(), await remove()]).toEqual([409, 409]);
      await bench.pass(3 * minute);
      expect([await end(), await remove()]).toEqual([409, 409]);
      await bench.confirm(backup.at);
      await bench.pass(5 * minute);
      expect(await bench.statusesOf([made])).toEqual([201]);
      expect([await end(), await remove()]).toEqual([200, 200]);
      await bench.pass(minute);
      expect(await bench.statusesOf([made])).toEqual([401]);
      expect(await bench.statusOf("POST", "/operator/tokens/x/revoke")).toBe(404);
      expect(await bench.statusOf("DELETE", "/operator/clients/x")).toBe(404);
    });

    it("revives no token of a removed client that is made anew before the journal is applied", async () => {
      await bench.client("PUT", "removed");
      const ended = await bench.makeToken("removed");
      await bench.pass(minute);
      const backup = await bench.backUp();
      await bench.pass(minute);
      await bench.client("DELETE", "removed");
      await backup.restore();
      await bench.pass(3 * minute);
      const body = { agents: ["*"], reuse: true };
      const make = () => bench.statusOf("PUT", "/operator/clients/removed", body);
      const makeToken = () => bench.statusOf("POST", "/operator/clients/removed/tokens", {});
      expect([await make(), await makeToken()]).toEqual([409, 409]);
      await bench.confirm(backup.at);
      await bench.pass(5 * minute);
      expect([await makeToken(), await make(), await makeToken()]).toEqual([404, 200, 201]);
      await bench.pass(minute);
      expect(await bench.statusesOf([ended])).toEqual([401]);
    });

    it("brings back no receiver that its client has removed, and no former secret", async () => {
      const url = "https://example.com/events";
      await bench.receiver("PUT", "/kept", { url });
      await bench.receiver("PUT", "/removed", { url });
      await bench.pass(minute);
      const backup = await bench.backUp();
      await bench.pass(minute);
      await bench.receiver("DELETE", "/removed");
      await bench.receiver("POST", "/kept/rotate-secret", {});
      await bench.receiver("PUT", "/made", { url });
      const standing = await bench.receiver("GET", "");
      await backup.restore();
      expect(await bench.receiver("GET", "")).not.toEqual(standing);
      await bench.pass(3 * minute);
      await bench.receiver("PUT", "/last", { url });
      await bench.confirm(backup.at);
      await bench.pass(5 * minute);
      await bench.receiver("DELETE", "/last");
      const { receivers } = await bench.receiver("GET", "");
      expect(receivers).toHaveLength(2);
      expect(receivers).toEqual(expect.arrayContaining(standing.receivers));
    });

    it("brings back no receiver of a client that was removed", async () => {
      const receiver = { url: "https://example.com/events" };
      await bench.client("PUT", "removed");
      const put = "/operator/clients/removed/receiver";
      expect(await bench.statusOf("PUT", put, receiver)).toBe(200);
      await bench.pass(minute);
      const backup = await bench.backUp();
      await bench.pass(minute);
      await bench.client("DELETE", "removed");
      await backup.restore();
      await bench.pass(3 * minute);
      await bench.confirm(backup.at);
      await bench.pass(5 * minute);
      const main = "/operator/clients/removed/receivers/main";
      expect(await bench.statusOf("DELETE", main)).toBe(404);
    });

    it("stays on hold while the journal cannot be read", async () => {
      const call = bench.call("agent_hooked");
      await bench.deliver([call]);
      const backup = await bench.backUp();
      await bench.pass(minute);
      await backup.restore();
      await bench.pass(2 * minute);
      await bench.confirm(backup.at);
      bench.provider.isBusy = false;
      bench.breakJournal();
      await bench.pass(5 * minute);
      const later = bench.call("agent_hooked");
      await bench.deliver([later]);
      expect(bench.rung).toEqual([]);
      expect(bench.alarms()).toContain("sweep.failed");
      expect(await bench.row(later)).toMatchObject({ reason: "restored" });
    });

    it("is detected if the whole ledger is gone", async () => {
      const putBack = await bench.copy();
      await bench.pass(3 * minute);
      await putBack();
      bench.restart();
      await bench.sweep();
      bench.provider.isBusy = false;
      const call = bench.call("agent_hooked");
      await bench.deliver([call]);
      expect(bench.rung).toEqual([]);
      expect(await bench.row(call)).toMatchObject({ state: "WAITING", reason: "restored" });
    });
  });
}

/** Creates a dialer over the ledger, whose clock the test moves, and a provider that counts whom it rings. */
async function createBench(create: (now: () => number) => Promise<RestorableLedger>) {
  let now = startAt;
  const { ledger, documents: stored, epochStore, journal, copy } = await create(() => now);
  // The engine's own clock does not follow the simulated one of this test.
  const documents = { ...stored, storeTime: async () => now };
  const rung: string[] = [];
  const sought: SoughtCall[] = [];
  const provider = { isBusy: true };
  const events: { level: string; event: string }[] = [];
  const log: DialerDeps["log"] = (level, event) => events.push({ level, event });
  const plan = parseDialPlan(
    {
      ...testPlan,
      agents: {
        agent_listed: { provider: "vapi", agent: "a", from: "f" },
        agent_hooked: { provider: "webhook", url: "https://hook.example/dial" },
        agent_any: { split: { agent_listed: 1, agent_hooked: 1 } },
      },
      results: {},
      providers: { vapi: {}, webhook: {} },
      callingHours: { default: { "mon-sun": ["06:00-20:00"] } },
      reviewAfterSeconds: 120,
    },
    {},
  );
  const deps: DialerDeps = {
    ...dialerParts(),
    log,
    ledger,
    documents,
    epochStore,
    journal,
    settings: {
      ...settingsUnder(plan, log),
      postEvent: () => Promise.reject(new Error("the plan has no receiver")),
      providerOf: ({ provider: type }) => ({
        async dial({ call }) {
          if (provider.isBusy)
            return { kind: "not_placed", code: "http_429", retryAfterSeconds: 5 };
          rung.push(call.id);
          return { kind: "placed", providerCallId: `ring_${call.id}` };
        },
        ...(type === "vapi"
          ? {
              async lookUp(asked: SoughtCall) {
                sought.push(asked);
                if (!rung.includes(asked.call.id)) return undefined;
                return { by: "id" as const, providerCallId: `ring_${asked.call.id}` };
              },
            }
          : {}),
      }),
    },
    clock: { now: () => now, sleep: jumpingSleep((ms) => (now += ms)) },
  };
  const createApi = () =>
    createTestApi({ ledger, documents, journal, epochStore, now: () => now }).app;
  let app = createApi();
  const calls: Call[] = [];
  const deliverText = (text: string) =>
    consumeCalls([{ attempt: 1, id: "message", open: async () => text }], deps, now + 900_000);
  const bench = {
    rung,
    sought,
    provider,
    copy,
    now: () => now,
    advance(ms: number) {
      now += ms;
    },
    alarms: () => events.filter(({ level }) => level === "alarm").map(({ event }) => event),
    call(agent_id: string, more: { timezone?: string; phone_number?: string } = {}): Call {
      const phone_number = `+354555${String(1000 + calls.length)}`;
      const request = { phone_number, agent_id, timezone: "UTC", ...more };
      const call = aCall({ acceptedAt: now, request });
      calls.push(call);
      return call;
    },
    row: async ({ id }: Pick<Call, "id">): Promise<CallRow | undefined> =>
      await readRow(ledger, id),
    /** Delivers each call's own message, as often as it is called. */
    async deliver(some: Call[]) {
      for (const call of some) await deliverText(JSON.stringify(message(call)));
      await bench.dispatch(some);
    },
    /** Delivers a dispatch of these calls, as often as it is called. */
    async dispatch(waiting: readonly { id: string; request: { agent_id: string } }[]) {
      for (const { id, request } of waiting) {
        const { agentId } = (await bench.row({ id })) ?? { agentId: request.agent_id };
        const route = findAgentRoute(agentId, plan);
        const account = route === undefined ? "" : accountNameOf(route);
        await deliverText(JSON.stringify({ kind: "dispatch", rows: [{ id, account }] }));
      }
    },
    /** Asks the API, as an operator unless it is another token. */
    async ask(path: string, body: object, token = tokens.operator) {
      const answer = await app.request(path, jsonRequest(token, "POST", body));
      expect([path, answer.ok]).toEqual([path, true]);
      return answer;
    },
    /** Makes a client, or removes one, as an operator. */
    async client(method: "PUT" | "DELETE", name: string) {
      const body = method === "PUT" ? { agents: ["*"] } : undefined;
      expect(await bench.statusOf(method, `/operator/clients/${name}`, body)).toBe(200);
    },
    /** Asks for receivers as their client. */
    async receiver(method: string, path: string, body?: object): Promise<{ receivers: object[] }> {
      const request = jsonRequest(tokens.crmEvents, method, body);
      const answer = await app.request(`/v1/receivers${path}`, request);
      expect([method, path, answer.status]).toEqual([method, path, 200]);
      return JSON.parse(await answer.text());
    },
    /** Asks the operator's API, and resolves to the status of its answer. */
    statusOf: async (method: "POST" | "PUT" | "DELETE", path: string, body?: object) =>
      (await app.request(path, jsonRequest(tokens.operator, method, body))).status,
    async makeToken(client: string): Promise<MadeTokenAnswer> {
      const answer = await bench.ask(`/operator/clients/${client}/tokens`, {});
      return JSON.parse(await answer.text());
    },
    /** Resolves to the statuses of calls that are placed with each token. */
    async statusesOf(made: readonly MadeTokenAnswer[]) {
      const statuses: number[] = [];
      for (const { token } of made) {
        const call = { phone_number: "+12025550123", agent_id: "agent_sales" };
        const request = jsonRequest(token, "POST", call);
        statuses.push((await app.request("/v1/calls", request)).status);
      }
      return statuses;
    },
    /** Copies the ledger after a sweep. `restore` puts the copy back, and starts a new process. */
    async backUp() {
      await bench.sweep();
      const at = now;
      const putBack = await copy();
      const restore = async () => {
        await putBack();
        bench.restart();
      };
      return { at, restore };
    },
    breakJournal() {
      deps.journal = { ...journal, list: () => Promise.reject(new Error("unreachable")) };
    },
    async sweep() {
      await sweep(deps, now + 120_000);
      await upkeep(deps, now + 120_000);
    },
    /** Lets time pass, with a sweep and a dispatch of every call a minute. */
    async pass(ms: number) {
      for (const endAt = now + ms; now < endAt; now += minute) {
        await bench.sweep();
        await bench.dispatch(calls);
      }
    },
    /** Starts a new process. */
    restart() {
      deps.memory = createDialerMemory();
      app = createApi();
    },
    /** Confirms the restore, as the operator's API does. */
    async confirm(at: number) {
      const key = { kind: "restore", key: "ledger" } as const;
      const current = (await documents.read([key])).get("restore", "ledger");
      if (current === undefined) throw new Error("no restore was noticed");
      const value = { ...current.value, state: "confirmed" as const, at, by: "operator" };
      const next = { ...current, version: randomVersion(), value };
      expect(await documents.write([{ next, seen: current.version }])).toEqual([true]);
    },
  };
  return bench;
}
