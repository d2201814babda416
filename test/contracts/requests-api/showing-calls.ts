import { expect, it } from "vitest";
import type { CallState } from "#shared/calls/states.ts";
import { requestIdOf, toCallId } from "#shared/calls/ids.ts";
import { toTryId } from "#shared/calls/tries.ts";
import { aCall, aRequestId } from "#test/support/calls.ts";
import { tokens } from "#test/support/environment.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";
import type { RequestsApiBench } from "./setup.ts";

/** Describes how a client finds single calls of a request. */
export function itShowsCalls(api: RequestsApiBench): void {
  const { get, write } = api;

  it("lists the calls of a request by state and result, page by page, each once", async () => {
    const { requestId } = api;
    const states = Array.from({ length: 1250 }, (_, n): CallState | undefined =>
      n % 400 === 3 ? "REJECTED" : n % 3 === 1 ? undefined : n % 2 === 0 ? "PLACED" : "WAITING",
    );
    await write(states);
    const statesAt = (state: CallState) =>
      states.flatMap((one, index) => (one === state ? [index] : []));
    for (const [query, limit, expected] of [
      ["state=REJECTED", 1, statesAt("REJECTED")],
      ["state=REJECTED", 50, statesAt("REJECTED")],
      ["state=PLACED", 170, statesAt("PLACED")],
      ["state=EXPIRED", 50, []],
      ["result=completed", 50, []],
      ["", 200, states.flatMap((one, index) => (one === undefined ? [] : [index]))],
    ] as const) {
      const indexes: number[] = [];
      let cursor = "";
      for (let pages = 0; pages < 20; pages++) {
        const { status, body } = await get(
          `/requests/${requestId}/calls?limit=${limit}&${query}${cursor}`,
        );
        expect([query, status]).toEqual([query, 200]);
        expect(body.calls.length).toBeLessThanOrEqual(limit);
        indexes.push(...body.calls.map(({ index }) => index));
        if (body.cursor === undefined) break;
        cursor = `&cursor=${body.cursor}`;
      }
      expect([query, limit, indexes]).toEqual([query, limit, expected]);
    }
    const { body } = await get(`/requests/${requestId}/calls?state=REJECTED&limit=1`);
    const shown = await get(`/requests/${requestId}?limit=1&cursor=${toCallId(requestId, 2)}`);
    expect(body.calls).toEqual(shown.body.calls);
  });

  it("refuses other queries for calls, and knows those of no other client", async () => {
    const { requestId } = api;
    await write(["PLACED"]);
    for (const [query, parameter] of [
      ["state=DONE", "state"],
      ["state=placed", "state"],
      ["result=PLACED", "result"],
      ["limit=0", "limit"],
      [`cursor=${toCallId(aRequestId(), 0)}`, "cursor"],
      ["agent_id=a", "agent_id"],
    ] as const) {
      const { status, body } = await get(`/requests/${requestId}/calls?${query}`);
      const errors = [{ parameter, detail: expect.any(String) }];
      expect([query, status, body.errors]).toEqual([query, 422, errors]);
    }
    const foreign = await get(`/requests/${requestId}/calls`, tokens.shopDesk);
    const unknown = await get(`/requests/${aRequestId(Date.now())}/calls`, tokens.shopDesk);
    expect([foreign.status, foreign.text]).toEqual([404, unknown.text]);
    expect(foreign.headers.get("retry-after")).toBe(unknown.headers.get("retry-after"));
  });

  it("shows one call as its request does, with its history", async () => {
    const { requestId } = api;
    const at = Date.now();
    const [call] = await write(["REDIALED"], { labels: { campaign: "spring" }, acceptedAt: at });
    const id = call?.id ?? "";
    const { status, headers, body, text } = await get(`/calls/${id.toLowerCase()}`);
    expect([status, headers.get("cache-control")]).toEqual([200, "no-store"]);
    const { calls } = (await get(`/requests/${requestId}`)).body;
    expect(body).toEqual({
      ...calls[0],
      request_id: requestId,
      accepted_at: new Date(at).toISOString(),
      campaign: "spring",
      redialed_as: toCallId(requestId, 99_999),
      history: ["DIALING", "NEEDS_REVIEW", "REDIALED"].map((state) => ({
        at: expect.stringMatching(/Z$/),
        try: 1,
        state,
        reason: expect.any(String),
        due_at: expect.toSatisfy((due) => due === null || typeof due === "string"),
      })),
    });
    expect(text).not.toMatch(/2025550123|Zoë|agent_sales|"by"/);
  });

  it("shows a call with its later tries, also by the id of a later try", async () => {
    const { requestId } = api;
    const call = { ...aCall({ requestId, acceptedAt: Date.now() }), id: toCallId(requestId, 0) };
    const next = toTryId(call.id, 2);
    const tries = { budget: 3, until: Date.now() + 60_000, dialedAt: [] };
    const first = {
      ...rowIn("PLACED", call),
      tries: { ...tries, number: 1 },
      next: { id: next, dueAt: Date.now() },
    };
    const again = rowIn("WAITING", {
      ...call,
      id: next,
      requestId: requestIdOf(next),
      ancestors: [call.id],
      tries: { ...tries, number: 2 },
    });
    await writeRows([first, again], api.ledger(), api.documents());
    const shown = await get(`/calls/${call.id}`);
    expect(shown.body).toMatchObject({
      id: call.id,
      index: 0,
      request_id: requestId,
      state: "WAITING",
      tries: [{ id: call.id }, { id: next }],
    });
    expect(shown.body).not.toHaveProperty("redial_of");
    expect(shown.body.history.map((step) => [step.try, step.state])).toEqual([
      [1, "DIALING"],
      [1, "PLACED"],
      [2, "WAITING"],
    ]);
    expect((await get(`/calls/${next}`)).text).toBe(shown.text);
    expect((await get(`/calls/${next}`, tokens.shopDesk)).status).toBe(404);
  });

  it("names the call that a redial replaces", async () => {
    const before = toCallId(aRequestId(Date.now()), 3);
    const [call] = await write(["WAITING"], { ancestors: [before], first: "request" });
    expect((await get(`/calls/${call?.id}`)).body).toMatchObject({ redial_of: before });
    const listed = (await get("/requests?limit=200")).body.requests;
    expect(listed.find(({ id }) => id === api.requestId)).toMatchObject({ redial_of: before });
  });

  it("answers 404 to unknown calls and to those of others alike, and says when to look for a young one again", async () => {
    const [call] = await write(["WAITING"]);
    const unknown = await get(`/calls/${toCallId(aRequestId(Date.now()), 0)}`);
    const foreign = await get(`/calls/${call?.id}`, tokens.shopDesk);
    expect([foreign.status, foreign.text]).toEqual([404, unknown.text]);
    for (const { headers } of [foreign, unknown]) expect(headers.get("retry-after")).toBe("5");
    const old = await get(`/calls/${toCallId(aRequestId(Date.now() - 3_600_000), 0)}`);
    expect([old.status, old.headers.get("retry-after")]).toEqual([404, null]);
    const purged = aRequestId(Date.now() - 61 * 24 * 3_600_000);
    const [gone] = await write(["PLACED"], { requestId: purged });
    for (const id of [gone?.id, "x", api.requestId, "%00", "constructor"])
      expect([id, (await get(`/calls/${id}`)).status]).toEqual([id, 404]);
    expect((await get(`/calls/${call?.id}?state=PLACED`)).status).toBe(422);
  });
}
