import { expect, it } from "vitest";
import { toCancelCursor } from "#functions/operator/cancel.ts";
import type { Call } from "#shared/calls/call-request.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { toCallId, requestIdOf } from "#shared/calls/ids.ts";
import { toCalls } from "#shared/ports/call-messages.ts";
import { aCall } from "#test/support/calls.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";
import { cancelAsClient, type OperatorApiBench } from "./setup.ts";
import { cancellationKeyOf } from "#shared/policy/cancellation-orders.ts";

/** Describes operators' decisions about calls: redials, resolutions and cancellations. */
export function itActsOnCalls(api: OperatorApiBench): void {
  const { ask, callIn, rowOf, documentOf } = api;

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
    expect(requestIds.map((one) => toCallId(one, 0))).toEqual(answers.map(() => redialedAs));
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
        mode: "live",
        acceptedAt: row?.updatedAt,
        ancestors: [call.id],
        calls: [{ index: 0, request: call.request }],
      });
    }
    const { history } = (await ask(`/calls/${call.id}`)).body;
    expect(history.at(-1)).toMatchObject({ state: "REDIALED", by: "operator" });
  });

  it("redials a call that its client may cancel while it is on the queue", async () => {
    const call = await callIn("REJECTED");
    const { body } = await ask(`/calls/${call.id}/redial`, {});
    expect(await cancelAsClient(api, body.id)).toBe(200);
    await api.queued(1);
  });

  it("redials a redial with all its ancestors", async () => {
    const first = aCall().id;
    const second = await callIn("REJECTED", { ancestors: [first] });
    const { body } = await ask(`/calls/${second.id}/redial`, {});
    const [message] = await api.queued(1);
    if (message?.kind !== "calls") throw new Error("no call was queued");
    const [third] = toCalls(message);
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
    const resolve = (call: Call, outcome: string) => ask(`/calls/${call.id}/resolve`, { outcome });
    expect((await resolve(placed, "placed")).body.state).toBe("PLACED");
    expect((await resolve(placed, "placed")).status).toBe(200);
    expect((await resolve(not, "not_placed")).body.state).toBe("CANCELLED");
    expect((await resolve(waiting, "placed")).status).toBe(409);
    expect((await resolve(not, "perhaps")).status).toBe(422);
    expect(await rowOf(placed)).toMatchObject({ request: null, lane: null });
  });

  it("cancels a request's waiting calls, also those that no dialer has seen yet", async () => {
    const { requestId } = api;
    const [waiting, reviewed] = [await callIn("WAITING"), await callIn("NEEDS_REVIEW")];
    const answer = await ask("/cancel", { request_id: requestId });
    expect([answer.status, answer.body.cancelled, answer.body.cursor]).toEqual([200, 1, undefined]);
    expect((await rowOf(waiting))?.state).toBe("CANCELLED");
    expect((await rowOf(reviewed))?.state).toBe("NEEDS_REVIEW");
    const { kind, key } = cancellationKeyOf({ request: requestId });
    const order = await documentOf(kind, key);
    expect(order?.value.orders).toMatchObject([{ by: "operator", client: null, indexes: null }]);
    const days = ((order?.expiresAt ?? 0) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(59.9); // the plan's retentionDays
    // A repeated cancellation covers calls accepted in between.
    const later = await callIn("WAITING");
    expect((await ask("/cancel", { request_id: requestId })).body.cancelled).toBe(1);
    expect((await rowOf(later))?.state).toBe("CANCELLED");
  });

  it("cancels an agent's waiting calls of every client, and no other's", async () => {
    const { agent: mine, requestId } = api;
    const waiting = [await callIn("WAITING"), await callIn("WAITING", { client: "shop" })];
    const other = await callIn("WAITING", {}, `${mine}_other`);
    expect((await ask("/cancel", { agent_id: mine })).body.cancelled).toBe(2);
    for (const call of waiting) expect((await rowOf(call))?.state).toBe("CANCELLED");
    expect((await rowOf(other))?.state).toBe("WAITING");
    const cursor = toCancelCursor({ backlog: JSON.stringify(["crm", mine]) });
    const noOrder = await ask("/cancel", { agent_id: `${mine}_x`, cursor });
    expect([noOrder.status, noOrder.body.errors[0]?.pointer]).toEqual([422, "/cursor"]);
    expect((await ask("/cancel", { request_id: requestId, cursor })).status).toBe(422);
    expect((await ask("/cancel", { agent_id: mine, cursor: "x" })).status).toBe(422);
    expect((await ask("/cancel", { agent_id: "*" })).status).toBe(422);
    expect((await ask("/cancel", {})).status).toBe(422);
    expect((await ask("/cancel", { agent_id: mine, request_id: requestId })).status).toBe(422);
  });

  it("cancels calls answer by answer, as many as there are, but none accepted after the order", async () => {
    const { agent, requestId } = api;
    const acceptedAt = Date.now();
    const rows: CallRow[] = Array.from({ length: 1050 }, () => {
      const request = { phone_number: "+12025550123", agent_id: agent };
      return rowIn("WAITING", aCall({ requestId, acceptedAt, request }));
    });
    await writeRows(rows, api.ledger, api.documents);
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
  });
}
