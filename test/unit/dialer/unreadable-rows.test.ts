import { deliverFor } from "#test/support/events-bench.ts";
import {
  createClientReceiverBench,
  placeFor,
  setReceivers,
} from "#test/support/client-receivers-bench.ts";
import { aRequestId } from "#test/support/calls.ts";
import { expect, it } from "vitest";
import { followLateWish } from "#functions/dialer/results/call-backs.ts";
import { createLiveEntries } from "#functions/dialer/record/live-calls.ts";
import { finishForClientReceivers } from "#functions/dialer/sweep/client-receiver-finished.ts";
import { sweepLiveCalls } from "#functions/dialer/sweep/sweep-live-calls.ts";
import { type CallRow, createFirstRow } from "#shared/calls/call-row.ts";
import { toTryId } from "#shared/calls/tries.ts";
import { liveCallsIn, liveKeysOf } from "#shared/rules/live-calls.ts";
import { toRowsRead, UnreadableError } from "#shared/ports/unreadable.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { aCallNow, type Bench, due, putIn, webhook } from "#test/support/dialer-calls.ts";
import { resultsLane } from "#shared/calls/lane.ts";
import {
  completed,
  createBench,
  minuteMs,
  place,
  pollAfter,
  resultOf,
  route,
} from "#test/support/results-bench.ts";
import { claimedAlong } from "#test/support/resolved.ts";

// A row that only a later version can read is there: nobody may go on as if it were absent.

/** Has every read of rows find rows that only a later version can read. */
function hideRows(bench: Bench): void {
  bench.breakLedger({ read: async (ids) => toRowsRead([], ids) });
}

it("a wish that is read late waits for the version that can read its call's row", async () => {
  const agents = { agent_sales: { ...webhook, callBacks: { within: "14d", most: 2 } } };
  const bench = createDialerBench({ plan: { agents, results: {} } });
  const call = aCallNow(bench);
  const placed = await putIn(bench, "PLACED", call);
  const next = { id: toTryId(call.id, 2), dueAt: bench.now() };
  const until = bench.now() + 86_400_000;
  const callBacks = { made: 0, most: 2, until };
  const row: CallRow = {
    ...placed,
    next,
    tries: { number: 1, budget: 2, until, dialedAt: [], callBacks },
  };
  hideRows(bench);
  const analysis = { wished: "tomorrow", isAnalyzed: true };
  await expect(followLateWish(row, analysis, bench.deps)).rejects.toThrow(UnreadableError);
});

it("calls behind five hundred that only a later version can read have their results polled", async () => {
  const bench = createBench();
  const [call] = await place(bench, 1);
  if (call === undefined) throw new Error("it was placed");
  bench.record = async () => completed;
  const hidden = Array.from({ length: 500 }, (_, n) => ({ id: `later_${n}`, dueAt: n }));
  const isHidden = (id: string) => id.startsWith("later_");
  bench.breakLedger({
    due: async (query) => {
      const pages = await bench.rows.due(query);
      return query.lanes.map(({ key, after }, index) => {
        const isFirst = key === resultsLane({ account: "twilio" }) && after === undefined;
        return isFirst ? hidden.slice(0, query.each) : (pages[index] ?? []);
      });
    },
    read: async (ids) => {
      const { rows } = await bench.rows.read(ids.filter((id) => !isHidden(id)));
      return toRowsRead(rows, ids.filter(isHidden));
    },
  });
  await pollAfter(bench, 2);
  expect(await resultOf(bench, call)).toMatchObject({ status: "completed" });
  const alarm = { level: "alarm", account: "twilio", count: 500 };
  expect(bench.eventsOf("row.unreadable")).toContainEqual(expect.objectContaining(alarm));
});

it("events of rows that only a later version can read are counted, and wait", async () => {
  const bench = createClientReceiverBench();
  await setReceivers(bench, "crm", { main: {} });
  await placeFor(bench, "crm", 1);
  hideRows(bench);
  await deliverFor(bench, 2);
  expect(bench.posted).toEqual([]);
  expect(bench.eventsOf("row.unreadable")).toContainEqual(
    expect.objectContaining({ level: "alarm", count: 1, receiver: "own:crm" }),
  );
  bench.repairLedger();
  await deliverFor(bench, 5);
  expect(bench.posted).toHaveLength(1);
});

it("a callback waits for the version that can read its row", async () => {
  const bench = createBench();
  const call = aCallNow(bench);
  const row = await putIn(bench, "PLACED", call);
  hideRows(bench);
  const claim = row.claims.at(-1) ?? "";
  await bench.eventsQueue.send({
    kind: "callback",
    account: "twilio",
    call: { id: row.id, claim },
  });
  expect(await bench.deliverEvents()).toEqual([{ retryAfterSeconds: 5 }]);
});

it("a claim whose answer was lost is left to the version that wrote the row since", async () => {
  const bench = createDialerBench();
  const call = aCallNow(bench);
  await putIn(bench, "WAITING", call, { dueAt: bench.now() });
  let isLater = false;
  bench.breakLedger({
    read: async (ids) => (isLater ? toRowsRead([], ids) : bench.rows.read(ids)),
    write: async () => {
      isLater = true;
      throw new Error("the answer was lost");
    },
  });
  await bench.send(due(call));
  expect(await bench.deliver()).toEqual(["ack"]);
  expect(bench.dialed).toEqual([]);
  expect(bench.queued()).toEqual([]);
});

it("a call whose row cannot be read stays among the live ones", async () => {
  const bench = createBench({}, { providers: { twilio: { liveCalls: 5 } } });
  const call = aCallNow(bench);
  const first = createFirstRow({ call, numberHash: "", numberTail: "" });
  const row = { ...first, claimedAt: bench.now() };
  const claimed = claimedAlong(route, { row, version: "v" }, bench.deps.settings);
  expect(await createLiveEntries(bench.deps).enter(claimed)).toBe(true);
  bench.advance(2 * minuteMs);
  const countLive = async () =>
    liveCallsIn(await bench.documents.read(liveKeysOf("twilio", 5)), {
      account: "twilio",
      limit: 5,
    }).length;
  hideRows(bench);
  await sweepLiveCalls({ epoch: 1 }, { isOver: () => false }, bench.deps);
  expect(await countLive()).toBe(1);
  bench.breakLedger({ read: async () => toRowsRead([], []) });
  await sweepLiveCalls({ epoch: 1 }, { isOver: () => false }, bench.deps);
  expect(await countLive()).toBe(0);
});

it("a finished request waits for the version that can read its first call's row", async () => {
  const bench = createClientReceiverBench();
  await setReceivers(bench, "crm", { main: { types: ["request.finished"] } });
  const request = {
    kind: "request",
    key: aRequestId(),
    version: "v",
    value: {
      client: "crm",
      acceptedAt: bench.now(),
      calls: 1,
      finished: 1,
      finishedAt: bench.now(),
      states: { PLACED: 1 },
      results: {},
    },
    expiresAt: null,
  } as const;
  hideRows(bench);
  expect(await finishForClientReceivers([request], bench.deps)).toEqual(new Set());
  bench.breakLedger({ read: async () => toRowsRead([], []) });
  expect(await finishForClientReceivers([request], bench.deps)).toEqual(new Set([request.key]));
});
