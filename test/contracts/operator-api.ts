import { randomBytes } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { cancelCursorOf } from "../../functions/api/operator/cancel.ts";
import type { Call } from "../../shared/calls/call.ts";
import type { CallRow, CallState } from "../../shared/calls/call-row.ts";
import { callIdOf, requestIdOf } from "../../shared/calls/ids.ts";
import type { Documents } from "../../shared/documents/documents.ts";
import type { Kind, ValueOf } from "../../shared/documents/kinds.ts";
import type { CallLedger } from "../../shared/ledger/call-ledger.ts";
import {
  cancellationKeyOf,
  doNotCallKeyOf,
  doNotCallKeysOf,
  isOnDoNotCallList,
  listMarks,
  pauseKeyOf,
} from "../../shared/documents/orders.ts";
import { traceOfNumber } from "../../shared/numbering/phone-number.ts";
import { callsOf, type Message } from "../../shared/queue/messages.ts";
import { randomVersion } from "../../shared/platform/random-id.ts";
import { aCall, aRequestId } from "../support/calls.ts";
import { apiEnvironment, tokens } from "../support/environment.ts";
import { expectDeclared } from "../support/operator-answers.ts";
import { rowIn, writeRows } from "../support/rows.ts";
import { requestIdPattern } from "./http-api.ts";

export interface OperatorApiUnderTest {
  request(path: string, init?: RequestInit): Promise<Response>;
  queued(count: number): Promise<Message[]>;
  /** The ledger that the API uses. */
  ledger(): CallLedger;
  documents(): Documents;
}

const hashKey = apiEnvironment.HASH_KEY;
interface Answer {
  status: number;
  headers: Headers;
  body: Record<string, never> & {
    calls: { id: string; state: string; number_tail: string }[];
    entries: { act: string; target: string; by: string; count: number | null }[];
    history: { state: string; reason: string; by: string | null }[];
    errors: { pointer: string }[];
    counts: { state: string; count: number }[];
    standing: Record<string, number>;
    pauses: { agent_id?: string; account?: string }[];
    breakers: { key: string }[];
    backlogs: { agent_id: string; head: { call_id: string }; held_by: string[] }[];
    id: string;
    state: string;
    cursor: string;
    cancelled: number;
    detail: string;
  };
}

/** Describes the operator's API on any platform, under `apiEnvironment`. Each test has calls of its own. */
export function describeOperatorApi(name: string, create: () => OperatorApiUnderTest): void {
  describe(`the operator's API on ${name}`, () => {
    let api: OperatorApiUnderTest;
    let ledger: CallLedger;
    let documents: Documents;
    /** An agent and a request that no other test uses. */
    let agent: string;
    let requestId: string;
    beforeEach(() => {
      api = create();
      ledger = api.ledger();
      documents = api.documents();
      agent = `agent_${randomBytes(6).toString("hex")}`;
      requestId = aRequestId(Date.now());
    });

    async function ask(path: string, body?: unknown, token = tokens.operator): Promise<Answer> {
      const { status, headers, text } = await send(path, body, token);
      return { status, headers, body: JSON.parse(text === "" ? "{}" : text) };
    }
    async function send(path: string, body?: unknown, token = tokens.operator) {
      const response = await api.request(`/operator${path}`, {
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
      });
      const { status, headers } = response;
      const text = await response.text();
      expectDeclared(body === undefined ? "get" : "post", path, { status, text });
      return { status, headers, text };
    }
    /** Puts a call into the ledger in this state. */
    async function callIn(state: CallState, more: Partial<Call> = {}): Promise<Call> {
      const call = aCall({
        requestId,
        acceptedAt: Date.now(),
        ...more,
        request: { phone_number: "+12025550123", agent_id: agent, context: { name: "Zoë" } },
      });
      await writeRows([rowIn(state, call)], ledger, documents);
      return call;
    }
    const rowOf = async ({ id }: { id: string }) => (await ledger.read([id])).rows.get(id);
    const documentOf = async <K extends Kind>(kind: K, key: string) =>
      (await documents.read([{ kind, key }])).get(kind, key);
    async function putDocument<K extends Kind>(kind: K, key: string, value: ValueOf<K>) {
      const seen = (await documentOf(kind, key))?.version ?? null;
      const expiresAt = Date.now() + 3_600_000;
      const next = { kind, key, version: randomVersion(), value, expiresAt };
      expect(await documents.write([{ next, seen }])).toEqual([true]);
    }

    it("lets in operators' tokens alone, and a client's nowhere", async () => {
      for (const token of [tokens.crm, "oc_wrong", ""]) {
        expect((await ask("/calls", undefined, token)).status).toBe(401);
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
      const nothing = await ask("/nothing");
      expect(nothing.status).toBe(404);
      expect(nothing.headers.get("x-request-id")).toMatch(requestIdPattern);
    });

    it("does nothing for another site's page, nor for a token in an address", async () => {
      // A browser sends cookies and forms by itself. The API ignores both.
      const bearer = { authorization: `Bearer ${tokens.operator}` };
      const origin = { origin: "https://elsewhere.example" };
      const withoutToken = [
        api.request(`/operator/calls?state=NEEDS_REVIEW&token=${tokens.operator}`),
        api.request(`/operator/calls?state=NEEDS_REVIEW&access_token=${tokens.operator}`),
        api.request("/operator/calls?state=NEEDS_REVIEW", {
          headers: { cookie: `token=${tokens.operator}` },
        }),
      ];
      for (const response of await Promise.all(withoutToken)) expect(response.status).toBe(401);
      for (const type of [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
      ]) {
        const response = await api.request("/operator/pause", {
          method: "POST",
          headers: { ...bearer, ...origin, "content-type": type },
          body: JSON.stringify({ agent_id: "agent_support" }),
        });
        expect([type, response.status]).toEqual([type, 422]);
      }
      // No answer permits another site to read it, or to send requests that need permission.
      const asked = await Promise.all([
        api.request("/operator/pause", {
          method: "OPTIONS",
          headers: {
            ...origin,
            "access-control-request-method": "POST",
            "access-control-request-headers": "authorization, content-type",
          },
        }),
        api.request("/operator/calls?state=NEEDS_REVIEW", { headers: { ...bearer, ...origin } }),
      ]);
      for (const { headers } of asked) {
        expect([...headers.keys()].filter((one) => one.startsWith("access-control"))).toEqual([]);
      }
      expect(asked[0].ok).toBe(false);
      expect((await ask("/pauses")).body.pauses).not.toContainEqual(
        expect.objectContaining({ agent_id: "agent_support" }),
      );
    });

    it("lists calls by state, agent, provider, reason, request and time, masked, page by page", async () => {
      const reviewed: Call[] = [];
      for (let n = 0; n < 3; n++) reviewed.push(await callIn("NEEDS_REVIEW"));
      await callIn("REJECTED");
      const listed = await ask(`/calls?state=NEEDS_REVIEW&agent_id=${agent}&limit=2`);
      expect(listed.status).toBe(200);
      expect(listed.body.calls).toHaveLength(2);
      const next = await ask(
        `/calls?state=NEEDS_REVIEW&agent_id=${agent}&limit=2&cursor=${listed.body.cursor}`,
      );
      const ids = [...listed.body.calls, ...next.body.calls].map(({ id }) => id);
      expect(ids).toEqual(reviewed.map(({ id }) => id).toReversed()); // newest first
      expect(next.body.cursor).toBeUndefined();
      expect(JSON.stringify(listed.body)).not.toMatch(/2025550123|Zoë/);
      expect(listed.body.calls[0]).toMatchObject({
        state: "NEEDS_REVIEW",
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
      expect(await count(`request_id=${requestId}&from=${past}`)).toBe(4);
    });

    it("lists all calls, newest first, where nothing is chosen", async () => {
      const old = await callIn("PLACED", { requestId: aRequestId(Date.now() - 1000) });
      const young = await callIn("WAITING", { requestId: aRequestId(Date.now() + 1000) });
      const ids = (await ask("/calls?limit=200")).body.calls.map(({ id }) => id);
      expect(ids.filter((id) => id === old.id || id === young.id)).toEqual([young.id, old.id]);
    });

    it("finds a call whose repeat was accepted a day after its request", async () => {
      const day = 86_400_000;
      const acceptedAt = Date.now();
      await callIn("EXPIRED", { requestId: aRequestId(acceptedAt - day), acceptedAt });
      const from = new Date(acceptedAt - 1000).toISOString();
      const found = await ask(`/calls?state=EXPIRED&agent_id=${agent}&from=${from}`);
      expect(found.body.calls).toHaveLength(1);
    });

    it.each([
      ["/calls?state=PARKED", "/state"],
      ["/calls?state=NEEDS_REVIEW&limit=0", "/limit"],
      ["/calls?state=NEEDS_REVIEW&from=yesterday", "/from"],
      ["/calls?state=NEEDS_REVIEW&cursor=x", "/cursor"],
      ["/calls?state=NEEDS_REVIEW&phone_number=1", "/phone_number"],
      ["/calls?request_id=req_1", "/request_id"],
      ["/counts?hours=1000", "/hours"],
      ["/audit?cursor=1", "/cursor"],
    ])("refuses %s, and says where", async (path, pointer) => {
      const { status, body } = await ask(path);
      expect([status, body.errors.map((error) => error.pointer)]).toEqual([422, [pointer]]);
    });

    it("finds calls by a number, which stands in no address", async () => {
      const call = await callIn("NEEDS_REVIEW");
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
      expect(await filtered({ request_id: requestId, state: "NEEDS_REVIEW" })).toEqual([call.id]);
      expect(await filtered({ agent_id: agent, provider: "vapi" })).toEqual([]);
    });

    it("shows one call with its history", async () => {
      const call = await callIn("NEEDS_REVIEW");
      const shown = await ask(`/calls/${call.id}`);
      expect(shown.body.history.map(({ state, reason }) => [state, reason])).toEqual([
        ["ACCEPTED", "accepted"],
        ["DIALING", "claimed"],
        ["NEEDS_REVIEW", "r"],
      ]);
      expect(JSON.stringify(shown.body)).not.toMatch(/2025550123|Zoë/);
      expect((await ask(`/calls/${aCall().id}`)).status).toBe(404);
      for (const id of ["x", "call_1", "constructor", `${call.id}0`, call.id.toLowerCase()]) {
        expect([id, (await ask(`/calls/${id}`)).status]).toEqual([id, 404]);
      }
    });

    it("reveals a call's number and context to who asks, and records it", async () => {
      const call = await callIn("NEEDS_REVIEW");
      expect((await ask(`/calls/${call.id}/reveal`, {})).body).toEqual({
        phone_number: "+12025550123",
        context: { name: "Zoë" },
        timezone: null,
      });
      const { entries } = (await ask("/audit?limit=200")).body;
      expect(entries.find(({ target }) => target === call.id)).toMatchObject({
        act: "reveal",
        by: "operator",
      });
      const placed = await callIn("PLACED");
      expect((await ask(`/calls/${placed.id}/reveal`, {})).status).toBe(409);
    });

    it("redials a call once, however often it is asked", async () => {
      const call = await callIn("NEEDS_REVIEW");
      const redial = (body: object) => ask(`/calls/${call.id}/redial`, body);
      const unsure = await redial({});
      expect([unsure.status, unsure.body.errors[0]?.pointer]).toEqual([422, "/not_placed"]);
      expect((await redial({ not_placed: false })).status).toBe(422);
      await api.queued(0);
      const answers = await Promise.all(
        Array.from({ length: 4 }, () => redial({ not_placed: true })),
      );
      answers.push(await redial({}));
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
      const ids = new Set(answers.map(({ body }) => body.id));
      expect(ids.size).toBe(1);
      const [redialedAs = ""] = ids;
      // A client that has the X-Request-Id of the answer knows the id of the call.
      const requestIds = answers.map(({ headers }) => headers.get("x-request-id") ?? "");
      expect(requestIds.map((one) => callIdOf(one, 0))).toEqual(answers.map(() => redialedAs));
      const replayed = answers.filter(({ headers }) => headers.has("idempotency-replayed"));
      expect(replayed).toHaveLength(4);
      const row = await rowOf(call);
      expect(row).toMatchObject({ state: "REDIALED", redialedAs });
      const messages = await api.queued(5);
      expect(messages).toHaveLength(5);
      for (const message of messages) {
        expect(message).toEqual({
          kind: "calls",
          requestId: requestIdOf(redialedAs),
          client: call.client,
          acceptedAt: row?.updatedAt,
          ancestors: [call.id],
          calls: [{ index: 0, request: call.request }],
        });
      }
      const { history } = (await ask(`/calls/${call.id}`)).body;
      expect(history.at(-1)).toMatchObject({ state: "REDIALED", by: "operator" });
    });

    it("redials a redial with all its ancestors", async () => {
      const first = aCall().id;
      const second = await callIn("REJECTED", { ancestors: [first] });
      const { body } = await ask(`/calls/${second.id}/redial`, {});
      const [message] = await api.queued(1);
      if (message?.kind !== "calls") throw new Error("no call was queued");
      const [third] = callsOf(message);
      expect(third).toMatchObject({ id: body.id, ancestors: [first, second.id] });
      expect((await ask(`/calls/${second.id}`)).body).toMatchObject({
        redial_of: first,
        redialed_as: body.id,
      });
    });

    it("redials what was refused or has expired, and nothing that waits or was placed", async () => {
      const statuses: Record<string, number> = {};
      for (const state of ["REJECTED", "EXPIRED", "WAITING", "DIALING", "PLACED"] as const) {
        const { id } = await callIn(state);
        statuses[state] = (await ask(`/calls/${id}/redial`, {})).status;
      }
      expect(statuses).toEqual({
        REJECTED: 201,
        EXPIRED: 201,
        WAITING: 409,
        DIALING: 409,
        PLACED: 409,
      });
      expect(await api.queued(2)).toHaveLength(2);
      expect((await ask(`/calls/${aCall().id}/redial`, {})).status).toBe(404);
    });

    it("cancels what waits, and closes what needs review by what it was found to be", async () => {
      const [waiting, dialing] = [await callIn("WAITING"), await callIn("DIALING")];
      const cancelled = await ask(`/calls/${waiting.id}/cancel`, {});
      expect(cancelled.body.state).toBe("CANCELLED");
      // The request is repeated, as after a lost answer.
      expect((await ask(`/calls/${waiting.id}/cancel`, {})).status).toBe(200);
      const refused = await ask(`/calls/${dialing.id}/cancel`, {});
      expect([refused.status, refused.body.detail]).toEqual([
        409,
        "The call is DIALING; this is for calls that are WAITING.",
      ]);
      const [placed, not] = [await callIn("NEEDS_REVIEW"), await callIn("NEEDS_REVIEW")];
      expect((await ask(`/calls/${placed.id}/cancel`, {})).status).toBe(409);
      const resolve = (call: Call, outcome: string) =>
        ask(`/calls/${call.id}/resolve`, { outcome });
      expect((await resolve(placed, "placed")).body.state).toBe("PLACED");
      expect((await resolve(placed, "placed")).status).toBe(200);
      expect((await resolve(not, "not_placed")).body.state).toBe("CANCELLED");
      expect((await resolve(waiting, "placed")).status).toBe(409);
      expect((await resolve(not, "perhaps")).status).toBe(422);
      expect(await rowOf(placed)).toMatchObject({ request: null, backlog: null });
    });

    it("cancels a request's waiting calls, also those that no dialer has seen yet", async () => {
      const [waiting, reviewed] = [await callIn("WAITING"), await callIn("NEEDS_REVIEW")];
      const answer = await ask("/cancel", { request_id: requestId });
      expect([answer.status, answer.body.cancelled, answer.body.cursor]).toEqual([
        200,
        1,
        undefined,
      ]);
      expect((await rowOf(waiting))?.state).toBe("CANCELLED");
      expect((await rowOf(reviewed))?.state).toBe("NEEDS_REVIEW");
      const { kind, key } = cancellationKeyOf({ request: requestId });
      const order = await documentOf(kind, key);
      expect(order?.value).toMatchObject({ by: "operator" });
      const days = ((order?.expiresAt ?? 0) - Date.now()) / 86_400_000;
      expect(days).toBeGreaterThan(59.9); // the plan's retentionDays
      // A repeated cancellation covers calls accepted in between.
      const later = await callIn("WAITING");
      expect((await ask("/cancel", { request_id: requestId })).body.cancelled).toBe(1);
      expect((await rowOf(later))?.state).toBe("CANCELLED");
    });

    it("cancels an agent's waiting calls of every client, and no other's", async () => {
      const waiting = [await callIn("WAITING"), await callIn("WAITING", { client: "shop" })];
      const mine = agent;
      agent = `${agent}_other`;
      const other = await callIn("WAITING");
      expect((await ask("/cancel", { agent_id: mine })).body.cancelled).toBe(2);
      for (const call of waiting) expect((await rowOf(call))?.state).toBe("CANCELLED");
      expect((await rowOf(other))?.state).toBe("WAITING");
      const cursor = cancelCursorOf({ backlog: JSON.stringify(["crm", mine]) });
      const noOrder = await ask("/cancel", { agent_id: `${mine}_x`, cursor });
      expect([noOrder.status, noOrder.body.errors[0]?.pointer]).toEqual([422, "/cursor"]);
      expect((await ask("/cancel", { request_id: requestId, cursor })).status).toBe(422);
      expect((await ask("/cancel", { agent_id: mine, cursor: "x" })).status).toBe(422);
      expect((await ask("/cancel", { agent_id: "*" })).status).toBe(422);
      expect((await ask("/cancel", {})).status).toBe(422);
      expect((await ask("/cancel", { agent_id: mine, request_id: requestId })).status).toBe(422);
    });

    it("cancels calls answer by answer, as many as there are, but none accepted after the order", async () => {
      const acceptedAt = Date.now();
      const rows: CallRow[] = Array.from({ length: 1050 }, () => {
        const request = { phone_number: "+12025550123", agent_id: agent };
        return rowIn("WAITING", aCall({ requestId, acceptedAt, request }));
      });
      await writeRows(rows, ledger, documents);
      const young = await callIn("WAITING", { acceptedAt: Date.now() + 60_000 });
      const counts: number[] = [];
      let cursor: string | undefined;
      do {
        const { body, status } = await ask("/cancel", { agent_id: agent, cursor });
        expect(status).toBe(200);
        counts.push(body.cancelled);
        cursor = body.cursor;
      } while (cursor !== undefined);
      expect(counts.length).toBeGreaterThan(1);
      expect(counts.reduce((sum, one) => sum + one, 0)).toBe(1050);
      expect((await rowOf(young))?.state).toBe("WAITING");
      const { entries } = (await ask("/audit?limit=200")).body;
      const mine = entries.filter(({ target }) => target === `agent ${agent}`);
      expect(mine.map(({ count }) => count)).toEqual([...counts.slice(1).toReversed(), null]);
    }, 60_000);

    it("pauses and resumes an agent or an account", async () => {
      const paused = await ask("/pause", { agent_id: "agent_sales" });
      expect(paused.body).toMatchObject({ agent_id: "agent_sales", by: "operator" });
      expect((await ask("/pause", { agent_id: "agent_sales" })).body).toEqual(paused.body);
      expect((await ask("/pause", { account: "webhook" })).status).toBe(200);
      for (const what of [{ agent: "agent_sales" }, { account: "webhook" }]) {
        const { kind, key } = pauseKeyOf(what);
        expect(await documentOf(kind, key)).toMatchObject({ expiresAt: null });
      }
      const { body } = await ask("/pauses");
      expect(body).toMatchObject({
        agents: ["agent_sales", "agent_support"],
        other_agents: false,
        accounts: ["webhook"],
      });
      expect(body.pauses).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ agent_id: "agent_sales" }),
          expect.objectContaining({ account: "webhook" }),
        ]),
      );
      for (const what of [{ agent_id: "agent_sales" }, { account: "webhook" }]) {
        const resumed = await ask("/resume", what);
        expect([resumed.status, resumed.body]).toEqual([200, what]);
      }
      const after = (await ask("/pauses")).body;
      expect(after.pauses).toEqual([]);
      expect(await documentOf("account", hostAccount)).toBeUndefined(); // there was no document to restart
      const refused = [{ agent_id: "nobody" }, { account: "vapi" }, { agent_id: "*" }];
      const pointers: (string | undefined)[] = [];
      for (const what of refused) {
        pointers.push((await ask("/pause", what)).body.errors[0]?.pointer);
      }
      expect(pointers).toEqual(["/agent_id", "/account", "/agent_id"]);
    });

    it("voids the marks of an account that is resumed", async () => {
      const value = { rowsRemain: true, servedLast: "b", restartedAt: 0, calledUpMax: 5000 };
      const restarted = async () => (await documentOf("account", hostAccount))?.value;
      for (const what of [{ account: "webhook" }, { agent_id: "agent_support" }]) {
        await putDocument("account", hostAccount, value);
        const before = Date.now();
        await ask("/pause", what);
        expect(await restarted()).toEqual(value);
        await ask("/resume", what);
        expect(await restarted()).toEqual({ ...value, restartedAt: expect.any(Number) });
        expect((await restarted())?.restartedAt).toBeGreaterThanOrEqual(before);
      }
      await documents.remove([{ kind: "account", key: hostAccount }]);
    });

    it("tells which breakers are open, and closes one", async () => {
      const key = `agent:${agent}`;
      const now = Date.now();
      const value = {
        state: "open" as const,
        code: "http_404",
        trouble: "agent",
        openedAt: now,
        probeAt: now + 8000,
        intervalMs: 8000,
        closedAt: 0,
      };
      await putDocument("breaker", key, value);
      await putDocument("breaker", `${key}_closed`, { ...value, state: "closed" });
      await putDocument("failures", key, { http_404: 20 });
      const { body } = await ask("/pauses");
      expect(body.breakers).toContainEqual({
        key,
        kind: "agent",
        name: agent,
        failures: { refusals: { http_404: 20 } },
        code: "http_404",
        opened_at: new Date(now).toISOString(),
        probe_at: new Date(now + 8000).toISOString(),
      });
      expect(body.breakers.map((one) => one.key)).not.toContain(`${key}_closed`);
      expect((await ask("/resume", { breaker: key })).body).toEqual({ breaker: key });
      const closed = (await documentOf("breaker", key))?.value;
      expect(closed).toEqual({ ...value, state: "closed", closedAt: expect.any(Number) });
      expect(closed?.closedAt).toBeGreaterThanOrEqual(now);
      expect(await documentOf("failures", key)).toBeUndefined();
      expect((await ask("/pauses")).body.breakers.map((one) => one.key)).not.toContain(key);
      expect((await ask("/resume", { breaker: `${key}_none` })).status).toBe(404);
      expect((await ask("/resume", {})).status).toBe(422);
    });

    it("lists the backlogs, those due first coming first, and what holds them", async () => {
      const first = await callIn("WAITING", { acceptedAt: Date.now() - 60_000 });
      await callIn("WAITING");
      const { kind, key } = pauseKeyOf({ agent });
      await putDocument(kind, key, { of: { agent }, at: Date.now(), by: "operator" });
      const mine: Answer["body"]["backlogs"] = [];
      let cursor: string | undefined;
      do {
        const { body } = await ask(
          `/backlogs?limit=1${cursor === undefined ? "" : `&cursor=${cursor}`}`,
        );
        expect(JSON.stringify(body)).not.toMatch(/2025550123|Zoë/);
        mine.push(...body.backlogs.filter(({ agent_id }) => agent_id === agent));
        cursor = body.cursor;
      } while (cursor !== undefined);
      expect(mine).toMatchObject([
        {
          client: "crm",
          account: null,
          head: { call_id: first.id },
          waiting: 2,
          held_by: ["agent_paused", "route_gone"],
        },
      ]);
      await documents.remove([{ kind, key }]);
    });

    it("counts what operators did by state and hour, and what stands", async () => {
      const count = async (state: string) => {
        const { counts } = (await ask("/counts")).body;
        return counts.filter((one) => one.state === state).reduce((sum, one) => sum + one.count, 0);
      };
      const before = [await count("CANCELLED"), await count("PLACED")];
      const [one, two] = [await callIn("NEEDS_REVIEW"), await callIn("NEEDS_REVIEW")];
      await callIn("WAITING");
      await callIn("WAITING");
      const standing = (await ask("/counts")).body;
      expect(Object.keys(standing.standing)).toEqual([
        "WAITING",
        "DIALING",
        "UNKNOWN",
        "NEEDS_REVIEW",
      ]);
      expect(standing.standing["WAITING"]).toBeGreaterThanOrEqual(2);
      expect(standing.standing["NEEDS_REVIEW"]).toBeGreaterThanOrEqual(2);
      await ask(`/calls/${one.id}/resolve`, { outcome: "placed" });
      await ask(`/calls/${two.id}/resolve`, { outcome: "not_placed" });
      await ask("/cancel", { agent_id: agent });
      expect([await count("CANCELLED"), await count("PLACED")]).toEqual([
        (before[0] ?? 0) + 3,
        (before[1] ?? 0) + 1,
      ]);
    });

    it("keeps the do-not-call list, by hashes", async () => {
      const numbers = Array.from(
        { length: 1200 },
        (_, n) => `+1303555${String(n).padStart(4, "0")}`,
      );
      const added = await ask("/do-not-call", { add: numbers });
      expect([added.status, added.body]).toEqual([200, { added: 1200, removed: 0 }]);
      expect((await ask("/do-not-call", { add: numbers.slice(0, 3) })).status).toBe(200);
      const [first = "", last = ""] = [numbers[0], numbers.at(-1)].map(
        (number = "") => traceOfNumber(number, hashKey).numberHash,
      );
      const read = await documents.read(doNotCallKeysOf([first, last], hashKey));
      for (const hash of [first, last]) expect(isOnDoNotCallList(hash, read, hashKey)).toBe(true);
      const check = (phone_number: string) => ask("/do-not-call/check", { phone_number });
      expect((await check("+13035550007")).body).toEqual({ listed: true });
      await ask("/do-not-call", { remove: ["+13035550007"] });
      expect((await check("+13035550007")).body).toEqual({ listed: false });
      const wrong = await ask("/do-not-call", { add: ["+13035550007", "555"] });
      expect([wrong.status, wrong.body.errors[0]?.pointer]).toEqual([422, "/add/1"]);
      expect((await ask("/do-not-call", {})).status).toBe(422);
      await ask("/do-not-call", { remove: numbers });
      expect((await check("+13035551199")).body).toEqual({ listed: false });
    }, 60_000);

    it("takes a list that was made under another HASH_KEY for whole with its last part", async () => {
      await ask("/do-not-call", { add: ["+13035550001"] });
      const { any, own } = listMarks(hashKey);
      await documents.remove([doNotCallKeyOf(own)]);
      const dialing = async () => {
        const read = await documents.read(doNotCallKeysOf([], hashKey));
        try {
          isOnDoNotCallList("", read, hashKey);
          return "goes on";
        } catch {
          return "stands";
        }
      };
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
      for (const mark of [any, own]) expect(await documentOf("do-not-call", mark)).toBeDefined();
    });

    it("lists the audit log, newest first, without numbers", async () => {
      const nextMoment = () => new Promise((next) => setTimeout(next, 3));
      await ask("/cancel", { request_id: requestId });
      await nextMoment();
      await ask("/do-not-call", { add: ["+13035550008"] });
      await nextMoment();
      await ask("/do-not-call", { remove: ["+13035550008"] });
      const first = (await ask("/audit?limit=2")).body;
      expect(first.entries.map(({ act, target }) => [act, target])).toEqual([
        ["do_not_call", "do-not-call list"],
        ["do_not_call", "do-not-call list"],
      ]);
      const second = (await ask(`/audit?limit=1&cursor=${first.cursor}`)).body;
      expect(second.entries[0]).toMatchObject({
        act: "cancel",
        target: `request ${requestId}`,
        by: "operator",
      });
      expect(JSON.stringify([first, second])).not.toContain("303555");
      const [entry] = await documents.list("audit", { limit: 1, descending: true });
      expect(entry?.key).toMatch(/^\d{15}#\w+$/);
      expect(entry?.expiresAt).toBe((entry?.value.at ?? 0) + 60 * 86_400_000);
    });
  });
}

/** The account of both agents of the tests' plan, named by the webhook's host. */
const hostAccount = "webhook:http://127.0.0.1:9";
