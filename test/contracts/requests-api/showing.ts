import { expect, it } from "vitest";
import type { CallState } from "#shared/calls/states.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { aRequestId } from "#test/support/calls.ts";
import { tokens } from "#test/support/environment.ts";
import type { RequestsApiBench } from "./setup.ts";

/** Describes what a client is told of its request. */
export function itShowsRequests(api: RequestsApiBench): void {
  const { show, write } = api;

  it("counts a request's calls by state and lists them in the order of the batch, without their numbers", async () => {
    const { requestId } = api;
    const states = ["PLACED", "WAITING", "WAITING", "NEEDS_REVIEW"] as const;
    const acceptedAt = Date.now() - 5000;
    const calls = await write(states, { acceptedAt });
    const { status, headers, body, text } = await show();
    expect([status, headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(body).toEqual({
      id: requestId,
      accepted_at: new Date(acceptedAt).toISOString(),
      total: 4,
      counts: { by_state: { PLACED: 1, WAITING: 2, NEEDS_REVIEW: 1 }, by_result: {} },
      finished: false,
      calls: calls.map(({ id }, index) => ({
        id,
        index,
        state: states[index],
        reason: "r",
        due_at: states[index] === "WAITING" ? expect.stringMatching(/^\d{4}-.*Z$/) : null,
        result: null,
      })),
    });
    expect(text).not.toMatch(/2025550123|Zoë|agent_sales/);
  });

  it("shows what the headers of the request said, if they were sent", async () => {
    const at = Date.now() + 60_000;
    await write(["WAITING"], { notBefore: at, urgent: true, labels: { campaign: "spring" } });
    const not_before = new Date(at).toISOString();
    expect((await show()).body).toMatchObject({ not_before, urgent: true, campaign: "spring" });
  });

  it.each<[boolean, (CallState | undefined)[]]>([
    [true, ["PLACED", "REJECTED", "EXPIRED", "CANCELLED", "REDIALED", "NEEDS_REVIEW"]],
    [false, ["PLACED", "WAITING"]],
    [false, ["PLACED", "DIALING"]],
    [false, ["PLACED", "UNKNOWN"]],
    [false, ["PLACED", undefined]],
    [false, [undefined, "PLACED"]],
  ])("says %s to whether %j is finished", async (finished, states) => {
    await write(states);
    const { body } = await show();
    expect([body.finished, body.total]).toEqual([finished, states.length]);
    const known = states.flatMap((state, index) => (state === undefined ? [] : [index]));
    expect(body.calls.map(({ index }) => index)).toEqual(known);
  });

  it("lists page by page, past calls that are not known yet, with counts on the first page", async () => {
    const { requestId } = api;
    const states = Array.from({ length: 130 }, (_, n) => (n % 3 === 1 ? undefined : "PLACED"));
    await write(states);
    const asks = [1, 2, 3].map(() => show(`${requestId}?limit=50`));
    const [first, ...others] = await Promise.all(asks);
    if (first === undefined) throw new Error("nothing was asked");
    for (const { text } of others) expect(text).toBe(first.text);
    expect(first.body.counts).toEqual({ by_state: { PLACED: 87 }, by_result: {} });
    const indexes = first.body.calls.map(({ index }) => index);
    let pages = 1;
    for (let { cursor } = first.body; cursor !== undefined; pages++) {
      const { body } = await show(`${requestId}?limit=50&cursor=${cursor}`);
      expect([body.counts, body.finished, body.total]).toEqual([undefined, undefined, 130]);
      indexes.push(...body.calls.map(({ index }) => index));
      cursor = body.cursor;
    }
    expect(pages).toBe(3);
    expect(indexes).toEqual([...states.keys()].filter((index) => index % 3 !== 1));
  });

  it("refuses other queries, and says where", async () => {
    const { requestId } = api;
    await write(["PLACED"]);
    for (const [query, parameter] of [
      ["limit=0", "limit"],
      ["limit=201", "limit"],
      ["limit=x", "limit"],
      ["cursor=x", "cursor"],
      ["cursor=", "cursor"],
      ["cursor=call_1", "cursor"],
      [`cursor=${toCallId(aRequestId(), 0)}`, "cursor"],
      [`token=${tokens.crmDesk}`, "token"],
      ["state=PLACED", "state"],
    ] as const) {
      const { status, body } = await show(`${requestId}?${query}`);
      const errors = [{ parameter, detail: expect.stringMatching(/^(is|must) /) }];
      expect([query, status, body.errors]).toEqual([query, 422, errors]);
      expect(body.detail).not.toContain("accepted");
    }
    const { body } = await show(`${requestId}?cursor=${toCallId(requestId, 99_999)}`);
    expect([body.calls, body.cursor]).toEqual([[], undefined]);
  });
}
