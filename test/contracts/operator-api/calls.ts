import { expect, it } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import { aCall, aRequestId } from "#test/support/calls.ts";
import type { OperatorApiBench } from "./setup.ts";

/** Describes the lists of calls, the search, and one call. */
export function itShowsCalls(api: OperatorApiBench): void {
  const { ask, callIn } = api;

  it("lists calls by state, agent, account, reason, request and time, masked, page by page", async () => {
    const { agent, requestId } = api;
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
      account: "webhook",
      request_id: requestId,
      number_tail: "23",
      attempt: 1,
    });
    expect(listed.body.calls[0]).not.toHaveProperty("urgent");
    const count = async (query: string) => (await ask(`/calls?${query}`)).body.calls.length;
    expect(await count(`request_id=${requestId}`)).toBe(4);
    expect(await count(`request_id=${requestId}&state=REJECTED`)).toBe(1);
    expect(await count(`request_id=${requestId}&reason=other`)).toBe(0);
    expect(await count(`request_id=${requestId}&account=webhook&reason=r`)).toBe(4);
    const soon = new Date(Date.now() + 60_000).toISOString();
    expect(await count(`request_id=${requestId}&from=${soon}`)).toBe(0);
    expect(await count(`request_id=${requestId}&until=${soon}`)).toBe(4);
    const past = new Date(Date.now() - 60_000).toISOString();
    expect(await count(`request_id=${requestId}&until=${past}`)).toBe(0);
    expect(await count(`request_id=${requestId}&from=${past}`)).toBe(4);
  });

  it("shows the campaign of a call's request", async () => {
    const { id } = await callIn("PLACED", { labels: { campaign: "spring" } });
    expect((await ask(`/calls/${id}`)).body).toMatchObject({ campaign: "spring" });
  });

  it("lists all calls, newest first, where nothing is chosen", async () => {
    const old = await callIn("PLACED", { requestId: aRequestId(Date.now() - 1000) });
    const young = await callIn("WAITING", { requestId: aRequestId(Date.now() + 1000) });
    const ids = (await ask("/calls?limit=200")).body.calls.map(({ id }) => id);
    expect(ids.filter((id) => id === old.id || id === young.id)).toEqual([young.id, old.id]);
  });

  it("finds a call whose repeat was accepted a day after its request", async () => {
    const { agent } = api;
    const day = 86_400_000;
    const acceptedAt = Date.now();
    await callIn("EXPIRED", { requestId: aRequestId(acceptedAt - day), acceptedAt });
    const from = new Date(acceptedAt - 1000).toISOString();
    const found = await ask(`/calls?state=EXPIRED&agent_id=${agent}&from=${from}`);
    expect(found.body.calls).toHaveLength(1);
  });

  it.each([
    ["/calls?state=PARKED", "state"],
    ["/calls?state=NEEDS_REVIEW&limit=0", "limit"],
    ["/calls?state=NEEDS_REVIEW&from=yesterday", "from"],
    ["/calls?state=NEEDS_REVIEW&cursor=x", "cursor"],
    ["/calls?state=NEEDS_REVIEW&phone_number=1", "phone_number"],
    ["/calls?request_id=req_1", "request_id"],
    ["/counts?hours=1000", "hours"],
    ["/audit?cursor=1", "cursor"],
    ["/calls?later=1", "later"],
    ["/events?receiver=", "receiver"],
  ])(
    "refuses %s, and says which parameter is wrong in words of its own",
    async (path, parameter) => {
      const { status, body } = await ask(path);
      expect([status, body.errors]).toEqual([422, [{ parameter, detail: expect.any(String) }]]);
      expect(body.detail).not.toContain("accepted");
      expect(body.errors[0]?.detail).toMatch(/^(is|must) /);
      expect(body.errors[0]?.detail).not.toMatch(/NaN|expected|Invalid|Too |received/);
    },
  );

  it("reads the ids of calls and requests in any case", async () => {
    const call = await callIn("WAITING");
    for (const id of [call.id.toLowerCase(), call.id.toUpperCase()]) {
      expect((await ask(`/calls/${id}`)).body).toMatchObject({ id: call.id });
    }
    const request_id = call.requestId.toLowerCase();
    const listed = await ask(`/calls?request_id=${request_id}`);
    expect(listed.body.calls.map(({ id }) => id)).toContain(call.id);
    expect((await ask(`/requests/${request_id}`)).body).toMatchObject({ id: call.requestId });
    expect((await ask("/cancel", { request_id })).body).toMatchObject({ cancelled: 1 });
    const again = await ask(`/calls/${call.id.toLowerCase()}/redial`, { not_placed: true });
    expect(again.status).toBe(409); // it is found, and cancelled
  });

  it("finds calls by a number, which stands in no address", async () => {
    const { agent, requestId } = api;
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
    expect(await filtered({ agent_id: agent, account: "vapi" })).toEqual([]);
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
    for (const id of [
      "x",
      "call_1",
      "constructor",
      `${call.id}0`,
      call.id.replace("call", "câll"),
    ]) {
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
      action: "reveal",
      by: "operator",
    });
    const placed = await callIn("PLACED");
    expect((await ask(`/calls/${placed.id}/reveal`, {})).status).toBe(409);
  });
}
