import { expect, it } from "vitest";
import { toCallId } from "#shared/calls/ids.ts";
import { aRequestId } from "#test/support/calls.ts";
import { tokens } from "#test/support/environment.ts";
import type { RequestsApiBench } from "./setup.ts";

const hourMs = 3_600_000;

/** Describes who is let in, and whose requests are theirs. */
export function itKeepsRequestsToTheirClient(api: RequestsApiBench): void {
  const { show, cancel, write, statesOf } = api;

  it("accepts a client's tokens that have the right, and answers the others that they lack it", async () => {
    await write(["WAITING"]);
    for (const token of ["oc_wrong", tokens.ended, tokens.operator]) {
      expect((await show(undefined, token)).status).toBe(401);
      expect((await cancel(undefined, { token })).status).toBe(401);
    }
    const refused = [
      await show(undefined, tokens.crm),
      await cancel(undefined, { token: tokens.crm }),
      await cancel(undefined, { token: tokens.crmReader }),
    ];
    for (const { status, headers } of refused) {
      expect(status).toBe(403);
      expect(headers.get("content-type")).toBe("application/problem+json");
      expect(headers.get("www-authenticate")).toMatch(/insufficient_scope/);
    }
    expect((await show(undefined, tokens.crmReader)).status).toBe(200);
  });

  it("shows whose token is sent and whether its calls are tests, whatever its rights", async () => {
    const me = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` };
      const response = await api.request("/v1/me", { headers });
      return { status: response.status, body: JSON.parse(await response.text()) };
    };
    const crm = { client: "crm", mode: "real", calls_as: "crm", agents: ["*"] };
    expect(await me(tokens.crmRotated)).toEqual({
      status: 200,
      body: { ...crm, token_id: "crmRotated", rights: ["call"] },
    });
    expect((await me(tokens.crmDesk)).body).toMatchObject({ ...crm, rights: ["read", "cancel"] });
    expect((await me(tokens.crmOptOut)).body).toMatchObject({ ...crm, rights: ["opt_out"] });
    expect((await me(tokens.salesOnly)).body).toMatchObject({ agents: ["agent_sales"] });
    expect((await me(tokens.crmTest)).body).toMatchObject({
      client: "crm",
      mode: "test",
      calls_as: "test:crm",
    });
    for (const token of ["oc_wrong", tokens.ended, tokens.operator]) {
      expect((await me(token)).status).toBe(401);
    }
  });

  it("shows no request of another client, and does not reveal that it exists", async () => {
    const calls = await write(["WAITING", "PLACED"]);
    const unknown = await show(aRequestId(Date.now()), tokens.shopDesk);
    const another = await show(undefined, tokens.shopDesk);
    const { title, detail } = unknown.body;
    expect([another.status, another.body]).toEqual([404, { title, status: 404, detail }]);
    expect(another.headers.get("retry-after")).toBe(unknown.headers.get("retry-after"));
    const cursor = toCallId(api.requestId, 1);
    const none = aRequestId(Date.now());
    const nothing = { cancelled: 0, ordered: null };
    const noMore = { cancelled: 0 };
    for (const [body, status, answer] of [
      [{ cursor }, 422, expect.anything()], // there is no such order yet
      [undefined, 200, nothing],
      [{ indexes: [0] }, 200, nothing],
      [{ cursor }, 200, noMore],
      [{ indexes: [0], cursor }, 200, noMore],
    ] as const) {
      const ofNone = await cancel(body, { id: none, token: tokens.shopDesk });
      const ofAnother = await cancel(body, { token: tokens.shopDesk });
      expect([ofNone.status, ofNone.body]).toEqual([status, answer]);
      expect([ofAnother.status, ofAnother.text]).toEqual([status, ofNone.text]);
    }
    expect(await statesOf(calls)).toEqual(["WAITING", "PLACED"]);
  });

  it("says of a young request without rows when to ask again, and of an old one that there is none", async () => {
    const now = Date.now();
    for (const [ageMs, retryAfter] of [
      [0, "5"],
      [hourMs / 6, "5"],
      [hourMs / 3, null],
      [-hourMs, null],
      [90 * 24 * hourMs, null],
    ] as const) {
      const { status, headers } = await show(aRequestId(now - ageMs));
      expect([ageMs, status, headers.get("retry-after")]).toEqual([ageMs, 404, retryAfter]);
    }
    // A queue keeps calls without rows for 14 days, and an order is for them too.
    expect((await cancel(undefined, { id: aRequestId(now - 13 * 24 * hourMs) })).status).toBe(200);
    const requestId = aRequestId(now - 15 * 24 * hourMs);
    const old = await cancel(undefined, { id: requestId });
    await write(["WAITING"], { requestId });
    const anothers = await cancel(undefined, { id: requestId, token: tokens.shopDesk });
    expect([old.status, anothers.status, anothers.text]).toEqual([404, 404, old.text]);
  });

  it("forgets a request whose rows may be purged, all at once", async () => {
    const requestId = aRequestId(Date.now() - 61 * 24 * hourMs);
    await write(["PLACED"], { requestId });
    expect((await show(requestId)).status).toBe(404);
  });

  it.each([
    "x",
    "constructor",
    "%00",
    "%2e%2e",
    "call_01KAJ6Y5G0QZ3N4T7V8W9XABCD_00000",
    "01kaj6y5g0qz3n4t7v8w9xabcd",
    "01KAJ6Y5G0QZ3N4T7V8W9XABCDE",
    "ZZZZZZZZZZZZZZZZZZZZZZZZZZ",
    "00000000000000000000000000",
    `01KAJ6Y5G0QZ3N4T7V8W9XABC'`,
  ])("answers 404 to the id %s", async (id) => {
    expect([(await show(id)).status, (await cancel(undefined, { id })).status]).toEqual([404, 404]);
  });

  it("reads an id in any case, as its digits have none", async () => {
    const calls = await write(["WAITING", "WAITING"]);
    const id = api.requestId.toLowerCase();
    const { status, body } = await show(id);
    expect([status, body.id, body.total]).toEqual([200, api.requestId, 2]);
    const cursor = toCallId(api.requestId, 0).toLowerCase();
    expect((await show(`${id}?cursor=${cursor}`)).body.calls).toMatchObject([{ index: 1 }]);
    const cancelled = await cancel({ indexes: [1] }, { id });
    expect([cancelled.status, cancelled.body]).toEqual([200, { cancelled: 1, ordered: 1 }]);
    expect(await statesOf(calls)).toEqual(["WAITING", "CANCELLED"]);
    const wide = `ſ${id.slice(1)}`; // its capital is an S
    expect((await show(encodeURIComponent(wide))).status).toBe(404);
  });

  it("answers 405 to other methods, and names those that it knows", async () => {
    const { requestId } = api;
    for (const [path, methods, allow] of [
      [`/v1/requests/${requestId}`, ["POST", "PUT", "DELETE", "OPTIONS"], "GET, HEAD"],
      ["/v1/requests", ["POST", "PUT", "DELETE", "OPTIONS"], "GET, HEAD"],
      [`/v1/requests/${requestId}/calls`, ["POST", "PUT", "DELETE", "OPTIONS"], "GET, HEAD"],
      [`/v1/calls/${toCallId(requestId, 0)}`, ["POST", "PUT", "DELETE", "OPTIONS"], "GET, HEAD"],
      ["/v1/calls/batch", ["GET", "HEAD", "PUT", "DELETE"], "POST"],
      [`/v1/requests/${requestId}/cancel`, ["GET", "HEAD", "PUT", "DELETE"], "POST"],
    ] as const) {
      for (const method of methods) {
        const { status, headers } = await api.request(path, { method });
        expect([method, status, headers.get("allow")]).toEqual([method, 405, allow]);
      }
    }
    const authorization = `Bearer ${tokens.crmDesk}`;
    for (const path of ["/", `/${requestId}/`, `/${requestId}/history`]) {
      const response = await api.request(`/v1/requests${path}`, { headers: { authorization } });
      expect([path, response.status]).toEqual([path, 404]);
    }
  });
}
