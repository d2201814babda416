import { describe, expect, it } from "vitest";
import { messageSchema } from "#shared/ports/call-messages.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { toTryId } from "#shared/calls/tries.ts";
import { toCallView } from "#functions/operator/call-view.ts";
import { createTestApi } from "#test/support/api.ts";
import {
  aCallNow,
  type Bench,
  message,
  numberOf,
  rowOf,
  stateOf,
} from "#test/support/dialer-calls.ts";
import { tokens } from "#test/support/environment.ts";
import { deliverFor, toldTo } from "#test/support/events-bench.ts";
import { busy, completed, nothing, pollAfter } from "#test/support/results-bench.ts";
import { createRetryBench, noAnswer, placeFirst, retry, tell } from "#test/support/retry-bench.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

/** Returns an event's type, try, tries left and result. */
const toldOf = ({ body: { type, data } }: Bench["posted"][number]) =>
  [type, data["try"], data["tries_left"], Object(data["result"]).status ?? "none"].join(" ");

/** Lets hours pass, with sweeps, dials and deliveries of events. */
async function passHours(bench: Bench, hours: number): Promise<void> {
  for (let tenth = 0; tenth < hours * 6; tenth++) {
    await bench.simulate(9 * 60, { sweepSeconds: 300 });
    await deliverFor(bench, 1);
  }
}

describe("events of a call that is tried again", () => {
  it(
    "report the try and the tries left, and one request.finished comes after the last try",
    inSlowTier,
    async () => {
      const bench = createRetryBench(retry, toldTo());
      const { call, second, third } = await placeFirst(bench);
      tell(bench, busy, noAnswer, completed);
      await passHours(bench, 3);
      expect(bench.posted.map(toldOf)).toEqual([
        "call.placed 1 2 none",
        "call.ended 1 2 busy",
        "call.placed 2 1 none",
        "call.ended 2 1 no_answer",
      ]);
      await passHours(bench, 2);
      expect(bench.posted.slice(4, -1).map(toldOf).toSorted()).toEqual([
        "call.answered 3 0 live",
        "call.ended 3 0 completed",
        "call.placed 3 0 none",
      ]);
      expect(bench.posted.at(-1)?.body).toMatchObject({
        type: "request.finished",
        data: {
          request_id: call.requestId,
          total: 1,
          counts: { by_state: { PLACED: 1 }, by_result: { completed: 1 } },
        },
      });
      const ofTries = bench.posted.filter(({ body }) => body.type === "call.placed");
      expect(ofTries.map(({ body }) => body.data)).toMatchObject(
        [call, second, third].map(({ id }) => ({ id, request_id: call.requestId, index: 0 })),
      );
      await passHours(bench, 1);
      expect(bench.posted).toHaveLength(8);
    },
  );

  it("report what the headers of the request said, also for a later try", inSlowTier, async () => {
    const bench = createRetryBench(retry, toldTo());
    const campaign = "spring";
    const headers = {
      notBefore: bench.now() + 60_000,
      urgent: true,
      labels: { campaign },
    } as const;
    const call = aCallNow(bench, { agent_id: "agent_sales" }, headers);
    await bench.send(message(call));
    await bench.simulate(120, { firstSweepSeconds: 1000 });
    tell(bench, busy);
    await passHours(bench, 1);
    const placed = bench.posted.filter(({ body }) => body.type === "call.placed");
    const not_before = new Date(headers.notBefore).toISOString();
    const said = { not_before, urgent: true, campaign };
    expect(placed.map(({ body }) => body.data)).toMatchObject([
      { try: 1, ...said },
      { try: 2, ...said },
    ]);
  });

  it(
    "report no finished request while its polls are hours late and a try may follow",
    inSlowTier,
    async () => {
      const bench = createRetryBench(retry, toldTo());
      const { call, second } = await placeFirst(bench);
      tell(bench, busy);
      bench.advance(3 * 3_600_000);
      await bench.sweep();
      await bench.sweep();
      await deliverFor(bench, 2);
      expect(bench.posted.map(toldOf)).toEqual(["call.placed 1 2 none", "call.ended 1 2 busy"]);
      expect(await rowOf(bench, call)).toMatchObject({ next: { id: second.id } });
      await passHours(bench, 1);
      expect(bench.dialed).toHaveLength(2);
    },
  );

  it(
    "report no finished request while only a later version can read its last try",
    inSlowTier,
    async () => {
      const bench = createRetryBench(retry, toldTo());
      const { call, second } = await placeFirst(bench);
      tell(bench, busy);
      await pollAfter(bench, 2);
      const json = bench.stored.get(second.id)?.json ?? "";
      const later = json.replace('"WAITING"', '"TO_COME"');
      bench.stored.set(second.id, { id: second.id, version: "later", json: later });
      await deliverFor(bench, 4);
      expect(bench.posted.map(toldOf)).toEqual(["call.placed 1 2 none", "call.ended 1 2 busy"]);
      bench.stored.set(second.id, { id: second.id, version: "later", json });
      await passHours(bench, 1);
      expect(bench.dialed.map((one) => one.call.id)).toEqual([call.id, second.id]);
    },
  );

  it("report no try left for a call that was declined, or whose try was cancelled", async () => {
    const bench = createRetryBench(retry, toldTo());
    const { call } = await placeFirst(bench);
    tell(bench, { ...nothing, status: "declined" });
    await deliverFor(bench, 4);
    expect(bench.posted.map(toldOf)).toEqual([
      "call.placed 1 2 none",
      "call.ended 1 0 declined",
      "request.finished   none",
    ]);
    expect(await rowOf(bench, call)).toMatchObject({ request: null });
  });
});

/** Creates the API beside a bench, and posts a batch through it that is dialed at once. */
async function post(bench: Bench, count: number) {
  const { app, queue } = createTestApi({
    ledger: bench.rows,
    documents: bench.documents,
    now: () => bench.now(),
  });
  const ask = async (path: string, body?: object) => {
    const response = await app.request(
      path,
      jsonRequest(
        body === undefined || path.endsWith("cancel") ? tokens.crmDesk : tokens.crm,
        body === undefined ? "GET" : "POST",
        body,
      ),
    );
    const text = await response.text();
    return { headers: response.headers, body: Object(text === "" ? {} : JSON.parse(text)) };
  };
  const calls = Array.from({ length: count }, (_, index) => ({
    phone_number: numberOf(index),
    agent_id: "agent_sales",
  }));
  const { headers } = await ask("/v1/calls/batch", calls);
  for (const one of queue.take()) {
    await bench.send(messageSchema.parse(JSON.parse(await one.open())));
  }
  await bench.simulate(30, { firstSweepSeconds: 1000 });
  expect(bench.dialed).toHaveLength(count);
  const id = headers.get("x-request-id") ?? "";
  const idOf = (index: number) => toCallId(id, index);
  return { id, ask, idOf, tryOf: (index: number) => ({ id: toTryId(idOf(index), 2) }) };
}

describe("an operator's view of a try", () => {
  it("has its number, and links to the tries before and after it", async () => {
    const bench = createRetryBench();
    const { call, second } = await placeFirst(bench);
    tell(bench, busy);
    await pollAfter(bench, 2);
    expect(toCallView(await rowOf(bench, call)).tries).toEqual({
      number: 1,
      most: 3,
      before: null,
      next: second.id,
    });
    expect(toCallView(await rowOf(bench, second))).toMatchObject({
      redial_of: null,
      tries: { number: 2, most: 3, before: call.id, next: null },
    });
  });
});

describe("a client's request with tries", () => {
  it(
    "shows each call with its tries, counts the last ones, and is finished after them",
    inSlowTier,
    async () => {
      const bench = createRetryBench();
      const { id, ask, idOf, tryOf } = await post(bench, 2);
      bench.record = async ({ id: one }) => (one === idOf(0) ? busy : completed);
      await pollAfter(bench, 2);
      const { body } = await ask(`/v1/requests/${id}`);
      expect(body).toMatchObject({
        total: 2,
        finished: false,
        counts: { by_state: { PLACED: 1, WAITING: 1 }, by_result: { completed: 1 } },
        calls: [
          {
            id: idOf(0),
            index: 0,
            state: "WAITING",
            reason: "retry",
            result: null,
            tries: [
              { id: idOf(0), state: "PLACED", result: { status: "busy" } },
              { id: tryOf(0).id, state: "WAITING", due_at: expect.any(String), result: null },
            ],
          },
          {
            id: idOf(1),
            state: "PLACED",
            result: { status: "completed" },
            tries: [{ id: idOf(1) }],
          },
        ],
      });
      const paged = await ask(`/v1/requests/${id}?limit=1`);
      expect(paged.body).toMatchObject({ finished: false, counts: body.counts });
      await bench.simulate(20 * 60);
      await pollAfter(bench, 3);
      expect((await ask(`/v1/requests/${id}`)).body).toMatchObject({
        finished: true,
        counts: { by_state: { PLACED: 2 }, by_result: { completed: 2 } },
      });
    },
  );

  it.each([{ indexes: undefined }, { indexes: [1] }])(
    "ends its waiting tries when it is cancelled: %o",
    inSlowTier,
    async ({ indexes }) => {
      const bench = createRetryBench();
      const { id, ask, tryOf } = await post(bench, 2);
      bench.record = async () => busy;
      await pollAfter(bench, 2);
      expect(await stateOf(bench, tryOf(0))).toBe("WAITING");
      const { body } = await ask(`/v1/requests/${id}/cancel`, { indexes });
      const cancelled = indexes === undefined ? 2 : 1;
      expect(body).toMatchObject({ cancelled, ordered: cancelled });
      expect(await stateOf(bench, tryOf(0))).toBe(indexes === undefined ? "CANCELLED" : "WAITING");
      expect(await stateOf(bench, tryOf(1))).toBe("CANCELLED");
      await bench.simulate(20 * 60);
      expect(bench.dialed).toHaveLength(2 + 2 - cancelled);
    },
  );

  it("has no try made after it was cancelled while its call was live", async () => {
    const bench = createRetryBench();
    const { id, ask, tryOf } = await post(bench, 1);
    await ask(`/v1/requests/${id}/cancel`, {});
    bench.record = async () => busy;
    await pollAfter(bench, 2);
    expect(await rowOf(bench, tryOf(0))).toMatchObject({ state: "CANCELLED", reason: "client" });
    await bench.simulate(20 * 60);
    expect(bench.dialed).toHaveLength(1);
  });
});
