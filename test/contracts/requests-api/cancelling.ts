import { listDocuments } from "#test/support/reads.ts";
import { expect, it } from "vitest";
import { hasIndex } from "#shared/calls/index-set.ts";
import { toCallId, withCalls } from "#shared/calls/ids.ts";
import { acceptedId } from "#test/support/calls.ts";
import { tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import type { RequestsApiBench } from "./setup.ts";
import { cancellationKeyOf } from "#shared/policy/cancellation-orders.ts";
import { resultsKeyOf } from "#shared/policy/split-rounds.ts";
import { toSplitMark } from "#shared/calls/split-mark.ts";

/** Reads the orders that cancel a request, or some of its calls. */
async function readOrders(api: RequestsApiBench, request: string) {
  const { kind, key } = cancellationKeyOf({ request });
  return (await api.documents().read([{ kind, key }])).get(kind, key)?.value.orders;
}

/** Describes the cancellation of a request, or of some of its calls. */
export function itCancelsRequests(api: RequestsApiBench): void {
  const { show, cancel, write, statesOf } = api;
  /** The answer for an id of which nothing is known. */
  const nothing = { cancelled: 0, ordered: null };
  const ordersOf = (request: string) => readOrders(api, request);
  const recorded = async () => {
    const entries = await listDocuments(api.documents(), "client-audit", {
      limit: 200,
      descending: true,
    });
    const target = `request ${api.requestId}`;
    return entries.flatMap(({ value }) => (value.target === target ? [value] : []));
  };

  it("stores no order for a request whose calls are all over, unless one may be redialed", async () => {
    await write(["PLACED", "CANCELLED", "PLACED"]);
    expect((await cancel()).body).toEqual({ cancelled: 0, ordered: 0 });
    expect((await cancel({ indexes: [1] })).body).toEqual({ cancelled: 0, ordered: 0 });
    expect([await ordersOf(api.requestId), await recorded()]).toEqual([undefined, []]);
    const id = acceptedId(withCalls(api.requestId, 2));
    await write(["EXPIRED", "PLACED"], { requestId: id });
    expect((await cancel(undefined, { id })).body).toEqual({ cancelled: 0, ordered: 0 });
    expect(await ordersOf(id)).toHaveLength(1);
  });

  it("cancels what waits of a request, and records by whose token", async () => {
    const calls = await write(["WAITING", "PLACED", "WAITING", "UNKNOWN", "NEEDS_REVIEW"]);
    const { status, body } = await cancel();
    expect([status, body]).toEqual([200, { cancelled: 2, ordered: 2 }]);
    const after = ["CANCELLED", "PLACED", "CANCELLED", "UNKNOWN", "NEEDS_REVIEW"];
    expect(await statesOf(calls)).toEqual(after);
    const shown = await show();
    expect(shown.body.calls[0]).toMatchObject({ state: "CANCELLED", reason: "client" });
    const row = (await api.ledger().read([toCallId(api.requestId, 0)])).rows[0];
    expect(row?.history.at(-1)).toMatchObject({ state: "CANCELLED", by: "crmDesk" });
    expect(await recorded()).toMatchObject([{ action: "client_cancel", by: "crmDesk" }]);
    expect((await cancel({})).body).toEqual({ cancelled: 0, ordered: 0 });
  });

  it("counts the result with which it ends the chain of a call that a split has given to its agent", async () => {
    const split = { name: "offer", since: Date.now() };
    const tries = {
      number: 2,
      budget: 3,
      dialedAt: [],
      until: Date.now() + 3_600_000,
      lastResult: "no_answer",
    };
    const [call] = await write(["WAITING"], { split: toSplitMark(split), tries });
    expect((await cancel()).body).toMatchObject({ cancelled: 1 });
    const { kind, key } = resultsKeyOf(split, call?.request.agent_id ?? "");
    const read = await api.documents().read([{ kind, key }]);
    expect(read.get(kind, key)?.value).toEqual({ ended: 1 });
  });

  it("reports how many calls the order ends in total, with those still on the queue", async () => {
    const requestId = acceptedId(withCalls(api.requestId, 5));
    const all = { cancelled: 0, ordered: 5 };
    expect((await cancel(undefined, { id: requestId })).body).toEqual(all);
    const asOther = await cancel(undefined, { id: requestId, token: tokens.shopDesk });
    expect(asOther.body).toEqual(all); // nobody learns that the request is another's
    const some = await cancel({ indexes: [0, 4, 4, 5] }, { id: requestId });
    expect(some.body).toEqual({ cancelled: 0, ordered: 2 });
    await write(["WAITING", undefined, "PLACED", "DIALING", undefined], { requestId });
    const { body } = await cancel({ indexes: [0, 2, 3, 4] }, { id: requestId });
    expect(body).toEqual({ cancelled: 1, ordered: 2 });
    expect((await cancel(undefined, { id: requestId })).body).toEqual({ cancelled: 0, ordered: 2 });
    const noRequest = acceptedId(withCalls(api.requestId, 20_000));
    expect((await cancel(undefined, { id: noRequest })).body).toEqual({ ...all, ordered: null });
  });

  it("cancels what another clock has accepted later than the order", async () => {
    const calls = await write(["WAITING", "WAITING"], { acceptedAt: Date.now() + 9000 });
    expect((await cancel({ indexes: [1] })).body).toMatchObject({ cancelled: 1 });
    expect((await cancel()).body).toMatchObject({ cancelled: 1 });
    expect(await statesOf(calls)).toEqual(["CANCELLED", "CANCELLED"]);
  });

  it("cancels the calls that are named, and no other", async () => {
    const calls = await write(Array.from({ length: 60 }, () => "WAITING" as const));
    const indexes = [...calls.keys()].filter((index) => index !== 7);
    const { status, body } = await cancel({ indexes: [...indexes, 3, 99_999] });
    expect([status, body.cancelled, body.cursor]).toEqual([200, 59, undefined]);
    const left = (await statesOf(calls)).flatMap((state, index) =>
      state === "WAITING" ? [index] : [],
    );
    expect(left).toEqual([7]);
    expect(await recorded()).toMatchObject([{ action: "client_cancel", count: 61 }]);
  });

  it("leaves an order for the calls that no dialer has seen yet, for the caller's alone", async () => {
    const { requestId } = api;
    expect((await cancel({ indexes: [4, 2] })).body).toEqual(nothing);
    expect((await cancel({ indexes: [9] }, { token: tokens.shopDesk })).status).toBe(200);
    expect((await cancel({ indexes: [11] })).status).toBe(200);
    const named = (await ordersOf(requestId))?.map(({ client, indexes }) => [
      client,
      Array.from({ length: 20 }, (_, index) => index).filter((n) => hasIndex(indexes ?? "", n)),
    ]);
    expect(named).toEqual([
      ["crm", [2, 4, 11]],
      ["shop", [9]],
    ]);
    await cancel();
    expect(await ordersOf(requestId)).toMatchObject([
      { client: "crm", indexes: expect.any(String) },
      { client: "shop" },
      { client: "crm", by: "crmDesk", indexes: null },
    ]);
    // The request turns out to be the first client's.
    const calls = await write(["WAITING"]);
    const asOther = await cancel(undefined, { token: tokens.shopDesk });
    expect([asOther.status, asOther.body]).toEqual([200, nothing]);
    expect(await statesOf(calls)).toEqual(["WAITING"]);
  });

  it("cancels answer by answer, as many as are named, and counts all of a large request", async () => {
    const calls = await write(Array.from({ length: 1060 }, () => "WAITING" as const));
    const indexes = [...calls.keys()].filter((index) => index !== 500);
    expect((await cancel({ indexes }, { token: tokens.shopDesk })).body).toEqual(nothing);
    const counts: number[] = [];
    const ordered: unknown[] = [];
    let cursor: string | undefined;
    do {
      const { status, body } = await cancel({ indexes, cursor });
      expect(status).toBe(200);
      counts.push(body.cancelled);
      ordered.push(body.ordered);
      cursor = body.cursor;
    } while (cursor !== undefined);
    expect([counts, ordered]).toEqual([
      [1000, 59],
      [1059, undefined],
    ]);
    const byToken = (await recorded()).map(({ by, count, times }) => [by, count, times]);
    expect(new Map(byToken.map(([by, ...counted]) => [by, counted]))).toEqual(
      new Map([
        ["crmDesk", [1059 + 59, 2]],
        ["shopDesk", [1059, undefined]],
      ]),
    );
    const shown = { counts: { by_state: { WAITING: 1, CANCELLED: 1059 } }, finished: false };
    expect((await show()).body).toMatchObject(shown);
    expect((await cancel()).body.cancelled).toBe(1);
    expect((await show()).body.finished).toBe(true);
  });

  it("refuses other bodies, and says where", async () => {
    const { requestId } = api;
    const calls = await write(["WAITING", "WAITING"]);
    const tooMany = Array.from({ length: 10_001 }, () => 0);
    for (const [body, pointer] of [
      [{ indexes: [] }, "/indexes"],
      [{ indexes: tooMany }, "/indexes"],
      [{ indexes: [-1] }, "/indexes/0"],
      [{ indexes: [0, 100_000] }, "/indexes/1"],
      [{ indexes: [0.5] }, "/indexes/0"],
      [{ indexes: ["0"] }, "/indexes/0"],
      [{ indexes: 0 }, "/indexes"],
      [{ indexes: null }, "/indexes"],
      [{ index: 0 }, "/index"],
      [{ cursor: "x" }, "/cursor"],
      [{ cursor: toCallId(requestId, 1) }, "/cursor"],
      [[0], ""],
      [null, ""],
      ["all", ""],
    ] as const) {
      const answer = await cancel(body);
      const pointers = answer.body.errors?.map((error) => error.pointer);
      expect([body, answer.status, pointers]).toEqual([body, 422, [pointer]]);
    }
    const authorization = `Bearer ${tokens.crmDesk}`;
    for (const [headers, body, place] of [
      [{ "content-type": "text/plain" }, "{}", "Content-Type"],
      [{ "content-type": "application/json" }, "{", ""],
      [
        { "content-type": "application/json", "content-encoding": "gzip" },
        "{}",
        "Content-Encoding",
      ],
      [{ "content-type": "application/json" }, `{}${" ".repeat(512 * 1024)}`, ""],
    ] as const) {
      const response = await api.request(`/v1/requests/${requestId}/cancel`, {
        method: "POST",
        headers: { authorization, ...headers },
        body,
      });
      const { errors }: { errors: { pointer?: string; header?: string }[] } = JSON.parse(
        await response.text(),
      );
      expect([response.status, errors.map(({ pointer, header }) => pointer ?? header)]).toEqual([
        422,
        [place],
      ]);
    }
    expect(await statesOf(calls)).toEqual(["WAITING", "WAITING"]);
    expect(await ordersOf(requestId)).toBeUndefined();
  });

  it("takes no body for all calls, whatever its headers say", async () => {
    const { requestId } = api;
    const headers = { authorization: `Bearer ${tokens.crmDesk}`, "content-type": "text/plain" };
    const path = `/v1/requests/${requestId}/cancel`;
    const response = await api.request(path, { method: "POST", headers, body: "" });
    expect([response.status, await response.json()]).toEqual([200, nothing]);
  });
}

/** Describes a request that clients and operators cancel. */
export function itCancelsBesideOperators(api: RequestsApiBench): void {
  it("stands beside an operator's cancellation, in either order", async () => {
    const { cancel, requestId } = api;
    const asOperator = () =>
      api.request(
        "/operator/cancel",
        jsonRequest(tokens.operator, "POST", { request_id: requestId }),
      );
    await cancel({ indexes: [1] });
    expect((await asOperator()).status).toBe(200);
    await cancel();
    expect(await readOrders(api, requestId)).toMatchObject([
      { client: "crm", indexes: expect.any(String) },
      { client: null, by: "operator" },
      { client: "crm", indexes: null },
    ]);
  });
}
