import { randomBytes } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { callStorySchema, callViewSchema } from "../../functions/api/operator-schemas.ts";
import type { Call } from "../../shared/call.ts";
import type { CallLedger, CallRow } from "../../shared/ledger/call-ledger.ts";
import type { Message } from "../../shared/message.ts";
import { cancelOrderOf, holdOrderOf, listMarks, neverCalled } from "../../shared/orders.ts";
import { traceOfNumber } from "../../shared/phone-number.ts";
import { aCall } from "../support/calls.ts";
import { apiEnvironment, tokens } from "../support/environment.ts";

export interface OperatorApiUnderTest {
  request(path: string, init?: RequestInit): Promise<Response>;
  queued(count: number): Promise<Message[]>;
  /** The ledger that the API works on. */
  ledger(): CallLedger;
}

const hashKey = apiEnvironment.HASH_KEY;
const route = { provider: "webhook", type: "webhook", url: "http://127.0.0.1:9/dial" } as const;
interface Answer {
  status: number;
  body: Record<string, never> & {
    calls: { id: string; state: string; number_tail: string }[];
    acts: { act: string; target: string; by: string }[];
    history: { state: string; reason: string; by: string | null }[];
    errors: { pointer: string }[];
    counts: { state: string; count: number }[];
    standing: Record<string, number>;
    orders: { name: string }[];
    holds: { name: string }[];
    id: string;
    state: string;
    cursor: string;
    cancelled: number;
    detail: string;
  };
}

/** The operator's API, whatever platform serves it, under `apiEnvironment`. Each test has calls of its own. */
export function describeOperatorApi(name: string, create: () => OperatorApiUnderTest): void {
  describe(`the operator's API on ${name}`, () => {
    let api: OperatorApiUnderTest;
    let ledger: CallLedger;
    /** An agent and a request that no other test knows. */
    let agent: string;
    let requestId: string;
    beforeEach(() => {
      api = create();
      ledger = api.ledger();
      agent = `agent_${randomBytes(6).toString("hex")}`;
      requestId = `req_${randomBytes(6).toString("hex")}`;
    });

    async function ask(path: string, body?: unknown, token = tokens.operator): Promise<Answer> {
      const response = await api.request(`/operator${path}`, {
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, body: JSON.parse(text === "" ? "{}" : text) };
    }
    const newCall = (more: Partial<Call> = {}) =>
      aCall({
        requestId,
        acceptedAt: Date.now(),
        ...more,
        request: { phone_number: "+12025550123", agent_id: agent, context: { name: "Zoë" } },
      });
    const traced = (call: Call) => ({ call, ...traceOfNumber(call.request.phone_number, hashKey) });
    /** A call that stands in a state of the ledger. */
    async function callIn(state: CallRow["state"], more: Partial<Call> = {}): Promise<Call> {
      const call = newCall(more);
      const at = Date.now();
      if (state === "DEFERRED" || state === "EXPIRED") {
        const dueAt = state === "DEFERRED" ? { dueAt: at + 60_000 } : {};
        const write = { ...traced(call), ...dueAt, state, reason: "hours:default", at };
        await ledger.defer([{ ...write, seenDueAt: null }]);
        return call;
      }
      const claim = { ...traced(call), token: "t", route, attempt: 1, at, deadline: at + 60_000 };
      await ledger.claim([claim]);
      if (state === "PARKED" || state === "PLACED" || state === "REJECTED") {
        await ledger.settle([{ id: call.id, token: "t", state, reason: "r", at }]);
      }
      return call;
    }
    const rowOf = async ({ id }: Call) => (await ledger.read([id])).get(id);

    it("lets in operators' tokens alone, and a client's nowhere", async () => {
      for (const token of [tokens.crm, "oc_wrong", ""]) {
        expect((await ask("/calls?state=PARKED", undefined, token)).status).toBe(401);
        expect((await ask("/cancel", { agent_id: agent }, token)).status).toBe(401);
        expect((await ask("/nothing", undefined, token)).status).toBe(401);
      }
      const asClient = await api.request("/v1/calls", {
        method: "POST",
        headers: {
          authorization: `Bearer ${tokens.operator}`,
          "content-type": "application/json",
        },
        body: "{}",
      });
      expect(asClient.status).toBe(401);
      expect((await ask("/nothing")).status).toBe(404);
    });

    it("does nothing for another site's page, nor for a token in an address", async () => {
      // A browser sends what it knows by itself: cookies, and forms. Neither is looked at.
      const bearer = { authorization: `Bearer ${tokens.operator}` };
      const origin = { origin: "https://elsewhere.example" };
      const withoutToken = [
        api.request(`/operator/calls?state=PARKED&token=${tokens.operator}`),
        api.request(`/operator/calls?state=PARKED&access_token=${tokens.operator}`),
        api.request("/operator/calls?state=PARKED", {
          headers: { cookie: `token=${tokens.operator}` },
        }),
      ];
      for (const response of await Promise.all(withoutToken)) expect(response.status).toBe(401);
      for (const type of [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
      ]) {
        const response = await api.request("/operator/hold", {
          method: "POST",
          headers: { ...bearer, ...origin, "content-type": type },
          body: JSON.stringify({ agent_id: agent }),
        });
        expect([type, response.status]).toEqual([type, 422]);
      }
      // No answer gives another site leave to read it, or to send what needs leave.
      const asked = await Promise.all([
        api.request("/operator/hold", {
          method: "OPTIONS",
          headers: {
            ...origin,
            "access-control-request-method": "POST",
            "access-control-request-headers": "authorization, content-type",
          },
        }),
        api.request("/operator/calls?state=PARKED", { headers: { ...bearer, ...origin } }),
      ]);
      for (const { headers } of asked) {
        expect([...headers.keys()].filter((one) => one.startsWith("access-control"))).toEqual([]);
      }
      expect(asked[0].ok).toBe(false);
      expect((await ask("/holds")).body.orders).not.toContainEqual(
        expect.objectContaining({ name: `hold agent ${agent}` }),
      );
    });

    it("lists calls by state, agent, provider, reason, request and time, masked, page by page", async () => {
      const parked = [await callIn("PARKED"), await callIn("PARKED"), await callIn("PARKED")];
      await callIn("REJECTED");
      const listed = await ask(`/calls?state=PARKED&agent_id=${agent}&limit=2`);
      expect(listed.status).toBe(200);
      expect(listed.body.calls).toHaveLength(2);
      for (const one of listed.body.calls) expect(() => callViewSchema.parse(one)).not.toThrow();
      const next = await ask(
        `/calls?state=PARKED&agent_id=${agent}&limit=2&cursor=${listed.body.cursor}`,
      );
      const ids = [...listed.body.calls, ...next.body.calls].map(({ id }) => id);
      expect(ids.toSorted()).toEqual(parked.map(({ id }) => id).toSorted());
      expect(next.body.cursor).toBeUndefined();
      expect(JSON.stringify(listed.body)).not.toMatch(/2025550123|Zoë/);
      expect(listed.body.calls[0]).toMatchObject({
        state: "PARKED",
        reason: "r",
        agent_id: agent,
        provider: "webhook",
        request_id: requestId,
        number_tail: "23",
        attempt: 1,
      });
      const count = async (query: string) => (await ask(`/calls?${query}`)).body.calls.length;
      expect(await count(`request_id=${requestId}`)).toBe(4);
      expect(await count(`request_id=${requestId}&state=REJECTED`)).toBe(1);
      expect(await count(`request_id=${requestId}&reason=other`)).toBe(0);
      expect(await count(`request_id=${requestId}&provider=webhook&reason=r`)).toBe(4);
      const soon = new Date(Date.now() + 60_000).toISOString();
      expect(await count(`request_id=${requestId}&from=${soon}`)).toBe(0);
      expect(await count(`request_id=${requestId}&until=${soon}`)).toBe(4);
      const past = new Date(Date.now() - 60_000).toISOString();
      expect(await count(`request_id=${requestId}&until=${past}`)).toBe(0);
    });

    it.each([
      ["/calls", "/state"],
      ["/calls?state=PARKT", "/state"],
      ["/calls?state=PARKED&limit=0", "/limit"],
      ["/calls?state=PARKED&from=yesterday", "/from"],
      ["/calls?state=PARKED&cursor=x", "/cursor"],
      ["/calls?state=PARKED&phone_number=1", "/phone_number"],
      ["/counts?hours=1000", "/hours"],
    ])("refuses %s, and says where", async (path, pointer) => {
      const { status, body } = await ask(path);
      expect([status, body.errors.map((error) => error.pointer)]).toEqual([422, [pointer]]);
    });

    it("finds calls by a number, which stands in no address", async () => {
      const call = await callIn("PARKED");
      const search = (phone_number: string) => ask("/calls/search", { phone_number, limit: 200 });
      const found = await search("+12025550123");
      expect(found.body.calls.map(({ id }) => id)).toContain(call.id);
      expect((await search("+12025550199")).body.calls).toEqual([]);
      expect((await search("2025550123")).status).toBe(422);
      const other = await callIn("EXPIRED");
      const filtered = async (more: object) => {
        const { body } = await ask("/calls/search", { phone_number: "+12025550123", ...more });
        return body.calls.map(({ id }) => id);
      };
      expect(await filtered({ agent_id: agent, state: "EXPIRED" })).toEqual([other.id]);
      expect(await filtered({ request_id: requestId, reason: "r" })).toEqual([call.id]);
      expect(await filtered({ agent_id: agent, provider: "vapi" })).toEqual([]);
    });

    it("shows one call with its story", async () => {
      const call = await callIn("PARKED");
      const shown = await ask(`/calls/${call.id}`);
      expect(shown.body.history.map(({ state, reason }) => [state, reason])).toEqual([
        ["ACCEPTED", "accepted"],
        ["DIALING", "claimed"],
        ["PARKED", "r"],
      ]);
      expect(() => callStorySchema.parse(shown.body)).not.toThrow();
      expect(JSON.stringify(shown.body)).not.toMatch(/2025550123|Zoë/);
      expect((await ask(`/calls/${aCall().id}`)).status).toBe(404);
    });

    it("reveals a call's number and context to who asks, and records it", async () => {
      const call = await callIn("PARKED");
      expect((await ask(`/calls/${call.id}/reveal`, {})).body).toEqual({
        phone_number: "+12025550123",
        context: { name: "Zoë" },
        timezone: null,
      });
      const { acts } = (await ask("/acts?limit=200")).body;
      expect(acts.find(({ target }) => target === call.id)).toMatchObject({
        act: "reveal",
        by: "operator",
      });
      const placed = await callIn("PLACED");
      expect((await ask(`/calls/${placed.id}/reveal`, {})).status).toBe(409);
    });

    it("has a call made in another's stead, once, however often it is asked", async () => {
      const call = await callIn("PARKED");
      const redial = (body: object) => ask(`/calls/${call.id}/redial`, body);
      const unsure = await redial({});
      expect([unsure.status, unsure.body.errors[0]?.pointer]).toEqual([422, "/not_placed"]);
      expect((await redial({ not_placed: false })).status).toBe(422);
      await api.queued(0);
      const answers = await Promise.all(
        Array.from({ length: 4 }, () => redial({ not_placed: true })),
      );
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
      const ids = new Set(answers.map(({ body }) => body.id));
      expect(ids.size).toBe(1);
      const [redialedAs = ""] = ids;
      for (const message of await api.queued(4)) {
        if (message.kind !== "call") throw new Error("no call was queued");
        expect(message.call).toMatchObject({
          id: redialedAs,
          redialOf: call.id,
          requestId,
          client: call.client,
          request: call.request,
        });
        expect(message.call.acceptedAt).toBe((await rowOf(call))?.updatedAt);
      }
      expect(await rowOf(call)).toMatchObject({ state: "REDIALED", redialedAs });
      const { history } = (await ask(`/calls/${call.id}`)).body;
      expect(history.at(-1)).toMatchObject({ state: "REDIALED", by: "operator" });
    });

    it("redials what was refused or has expired, and nothing that waits or was placed", async () => {
      const statuses: Record<string, number> = {};
      for (const state of ["REJECTED", "EXPIRED", "DEFERRED", "DIALING", "PLACED"] as const) {
        const { id } = await callIn(state);
        statuses[state] = (await ask(`/calls/${id}/redial`, {})).status;
      }
      expect(statuses).toEqual({
        REJECTED: 201,
        EXPIRED: 201,
        DEFERRED: 409,
        DIALING: 409,
        PLACED: 409,
      });
      expect(await api.queued(2)).toHaveLength(2);
      expect((await ask(`/calls/${aCall().id}/redial`, {})).status).toBe(404);
    });

    it("cancels what waits, and closes what is parked by what it was found to be", async () => {
      const [waiting, dialing] = [await callIn("DEFERRED"), await callIn("DIALING")];
      expect((await ask(`/calls/${waiting.id}/cancel`, {})).body.state).toBe("CANCELLED");
      const refused = await ask(`/calls/${dialing.id}/cancel`, {});
      expect([refused.status, refused.body.detail]).toEqual([
        409,
        "The call is DIALING; this is for calls that are DEFERRED or PARKED.",
      ]);
      const [placed, not] = [await callIn("PARKED"), await callIn("PARKED")];
      expect((await ask(`/calls/${placed.id}/cancel`, {})).status).toBe(409);
      const resolve = (call: Call, outcome: string) =>
        ask(`/calls/${call.id}/resolve`, { outcome });
      expect((await resolve(placed, "placed")).body.state).toBe("PLACED");
      expect((await resolve(placed, "placed")).status).toBe(200);
      expect((await resolve(not, "not_placed")).body.state).toBe("CANCELLED");
      expect((await resolve(waiting, "placed")).status).toBe(409);
      expect((await resolve(not, "perhaps")).status).toBe(422);
      expect(await rowOf(placed)).toMatchObject({ call: null });
    });

    it("cancels a request's waiting calls, also those that no dialer has seen yet", async () => {
      const [waiting, parked] = [await callIn("DEFERRED"), await callIn("PARKED")];
      const answer = await ask("/cancel", { request_id: requestId });
      expect([answer.status, answer.body.cancelled, answer.body.cursor]).toEqual([
        200,
        1,
        undefined,
      ]);
      expect((await rowOf(waiting))?.state).toBe("CANCELLED");
      expect((await rowOf(parked))?.state).toBe("PARKED");
      const [order] = await ledger.ordersNamed([cancelOrderOf({ request: requestId })], Date.now());
      expect(order).toMatchObject({ by: "operator", expiresAt: expect.any(Number) });
    });

    it("cancels an agent's waiting calls, and no other's", async () => {
      const waiting = [await callIn("DEFERRED"), await callIn("DEFERRED")];
      const mine = agent;
      agent = `${agent}_other`;
      const other = await callIn("DEFERRED");
      expect((await ask("/cancel", { agent_id: mine })).body.cancelled).toBe(2);
      for (const call of waiting) expect((await rowOf(call))?.state).toBe("CANCELLED");
      expect((await rowOf(other))?.state).toBe("DEFERRED");
      const anyCursor = { agent_id: `${mine}_x`, cursor: "999999999999999~z" };
      expect((await ask("/cancel", anyCursor)).body.errors[0]?.pointer).toBe("/cursor");
      expect((await ask("/cancel", { ...anyCursor, agent_id: mine })).status).toBe(422);
      expect((await ask("/cancel", { agent_id: "*" })).status).toBe(422);
      expect((await ask("/cancel", {})).status).toBe(422);
      expect((await ask("/cancel", { agent_id: mine, request_id: "x" })).status).toBe(422);
    });

    it("holds and releases an agent or an account, and releases what the service holds", async () => {
      const hold = holdOrderOf({ agent: "agent_sales" });
      expect((await ask("/hold", { agent_id: "agent_sales" })).body).toEqual({ name: hold });
      expect((await ask("/hold", { account: "webhook" })).status).toBe(200);
      await ledger.strike({
        name: "account:test",
        code: "http_401",
        holdFrom: 1,
        probeAt: Date.now() + 60_000,
        at: Date.now(),
      });
      const { body } = await ask("/holds");
      expect(body.orders.map((order) => order.name)).toEqual(
        expect.arrayContaining([hold, holdOrderOf({ account: "webhook" })]),
      );
      expect(body.holds).toContainEqual(
        expect.objectContaining({ name: "account:test", code: "http_401", count: 1 }),
      );
      for (const what of [
        { agent_id: "agent_sales" },
        { account: "webhook" },
        { hold: "account:test" },
      ]) {
        expect((await ask("/release", what)).status).toBe(200);
      }
      const after = (await ask("/holds")).body;
      expect(after.orders.map((order) => order.name)).not.toContain(hold);
      expect(after.holds.map((one) => one.name)).not.toContain("account:test");
      expect((await ask("/hold", { agent_id: "nobody" })).body.errors[0]?.pointer).toBe(
        "/agent_id",
      );
      expect((await ask("/hold", { account: "vapi" })).body.errors[0]?.pointer).toBe("/account");
      expect((await ask("/hold", { agent_id: "*" })).body.errors[0]?.pointer).toBe("/agent_id");
    });

    it("counts by state and hour, and what stands", async () => {
      const count = async (state: string) => {
        const { counts } = (await ask("/counts")).body;
        return counts.filter((one) => one.state === state).reduce((sum, one) => sum + one.count, 0);
      };
      const before = [await count("PARKED"), await count("EXPIRED")];
      await callIn("PARKED");
      await callIn("PARKED");
      await callIn("EXPIRED");
      await ledger.writeCounts();
      expect([await count("PARKED"), await count("EXPIRED")]).toEqual([
        (before[0] ?? 0) + 2,
        (before[1] ?? 0) + 1,
      ]);
      const { standing } = (await ask("/counts")).body;
      expect(Object.keys(standing)).toEqual(["DEFERRED", "DIALING", "UNKNOWN", "PARKED"]);
      expect(standing["PARKED"]).toBeGreaterThanOrEqual(2);
    });

    it("keeps the do-not-call list, by hashes", async () => {
      const numbers = Array.from(
        { length: 120 },
        (_, n) => `+1303555${String(n).padStart(4, "0")}`,
      );
      const hashes = numbers.map((number) => traceOfNumber(number, hashKey).numberHash);
      expect((await ask("/do-not-call", { add: numbers })).body).toEqual({
        added: 120,
        removed: 0,
      });
      const found = await neverCalled(hashes, ledger, hashKey);
      for (const hash of hashes) expect(found.has(hash)).toBe(true);
      const check = (phone_number: string) => ask("/do-not-call/check", { phone_number });
      expect((await check("+13035550007")).body).toEqual({ listed: true });
      await ask("/do-not-call", { remove: ["+13035550007"] });
      expect((await check("+13035550007")).body).toEqual({ listed: false });
      const wrong = await ask("/do-not-call", { add: ["+13035550007", "555"] });
      expect([wrong.status, wrong.body.errors[0]?.pointer]).toEqual([422, "/add/1"]);
      expect((await ask("/do-not-call", {})).status).toBe(422);
      await ask("/do-not-call", { remove: numbers });
    });

    it("takes a list that was made under another HASH_KEY for whole with its last part", async () => {
      await ask("/do-not-call", { add: ["+13035550001"] });
      const { any, own } = listMarks(hashKey);
      await ledger.dropDoNotCall([own]);
      const dialing = () =>
        neverCalled([], ledger, hashKey).then(
          () => "goes on",
          () => "stands",
        );
      expect(await dialing()).toBe("stands");
      expect((await ask("/do-not-call", { add: ["+13035550001"] })).status).toBe(409);
      expect((await ask("/do-not-call", { remove: ["+13035550001"], renew: true })).status).toBe(
        422,
      );
      expect((await ask("/do-not-call", { add: ["+13035550001"], more: true })).status).toBe(200);
      expect(await dialing()).toBe("stands");
      expect((await ask("/do-not-call", { add: ["+13035550002"], renew: true })).status).toBe(200);
      expect(await dialing()).toBe("goes on");
      await ask("/do-not-call", { remove: ["+13035550001", "+13035550002"] });
      expect((await ledger.doNotCall([any, own])).size).toBe(2);
    });

    it("tells what operators did, newest first, without numbers", async () => {
      const nextMoment = () => new Promise((next) => setTimeout(next, 3));
      await ask("/cancel", { request_id: requestId });
      await nextMoment();
      await ask("/do-not-call", { add: ["+13035550008"] });
      await nextMoment();
      await ask("/do-not-call", { remove: ["+13035550008"] });
      const first = (await ask("/acts?limit=2")).body;
      expect(first.acts.map(({ act, target }) => [act, target])).toEqual([
        ["do_not_call", "list"],
        ["do_not_call", "list"],
      ]);
      const second = (await ask(`/acts?limit=1&cursor=${first.cursor}`)).body;
      expect(second.acts[0]).toMatchObject({
        act: "cancel",
        target: cancelOrderOf({ request: requestId }),
        by: "operator",
      });
      expect(JSON.stringify([first, second])).not.toContain("303555");
    });
  });
}
