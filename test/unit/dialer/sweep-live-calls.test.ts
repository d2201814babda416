import { describe, expect, it } from "vitest";
import { sweepLiveCalls } from "#functions/dialer/sweep/sweep-live-calls.ts";
import { createLiveEntries, leaveLive } from "#functions/dialer/record/live-calls.ts";
import { type CallRow, createFirstRow } from "#shared/calls/call-row.ts";
import { callStates } from "#shared/calls/states.ts";
import { liveCallsIn, liveKeysOf } from "#shared/rules/live-calls.ts";
import { aLaterRow, aRowIn } from "#test/support/call-rows.ts";
import { type Bench, put, putDocument } from "#test/support/dialer-calls.ts";
import { aCall } from "#test/support/calls.ts";
import { claimedAlong } from "#test/support/resolved.ts";
import {
  completed,
  createBench,
  live,
  minuteMs,
  route,
  twilio,
} from "#test/support/results-bench.ts";

const account = "twilio";
const limit = 40;
const maxCallMinutes = 10;
/** Time after which a call has surely ended: its maximum duration, and two minutes for the provider's delays. */
const lifeMs = (maxCallMinutes + 2) * minuteMs;

/** Has calls among the live ones of an account, since some time ago, and returns the rest after a sweep. */
async function sweepWith(
  rows: readonly CallRow[],
  agesMs: readonly number[],
  stored: readonly CallRow[] = rows,
) {
  const bench = createBench({}, { providers: { twilio: { liveCalls: limit, maxCallMinutes } } });
  const entries = rows.flatMap(({ id: call }) =>
    agesMs.map((ageMs, index) => ({ call, claim: `claim${index}`, at: bench.now() - ageMs })),
  );
  const [, lastKey] = liveKeysOf(account, limit);
  if (lastKey === undefined) throw new Error("so many calls have two documents");
  await putDocument(bench, lastKey, { entries, meanMs: null });
  await put(bench, ...stored);
  await sweepLiveCalls(bench.deps);
  // A removed call did not end just now, so its duration is not measured.
  expect((await bench.documents.read([lastKey])).get(lastKey.kind, lastKey.key)?.value.meanMs).toBe(
    null,
  );
  return leftIn(bench);
}

async function leftIn(bench: Bench, most = limit) {
  const read = await bench.documents.read(liveKeysOf(account, most));
  return liveCallsIn(read, { account, limit: most });
}

describe("a sweep of live calls", () => {
  it("removes a call that is not live by its row", async () => {
    const rows = callStates.map((state) => aRowIn(state));
    const left = new Set((await sweepWith(rows, [minuteMs])).map(({ call }) => call));
    const states = rows.filter(({ id }) => left.has(id)).map(({ state }) => state);
    expect(states).toEqual(["DIALING", "UNKNOWN", "NEEDS_REVIEW", "PLACED"]);
  });

  it("removes a placed call once its end is known", async () => {
    const rows = [live, completed, null].map((result) => aRowIn("PLACED", { result }));
    const left = (await sweepWith(rows, [minuteMs])).map(({ call }) => call);
    expect(left).toEqual([rows[0]?.id, rows[2]?.id]);
  });

  it("removes a call without a row", async () => {
    expect(await sweepWith([aRowIn("UNKNOWN")], [minuteMs], [])).toEqual([]);
  });

  it("leaves a call that only a later version can read", async () => {
    expect(await sweepWith([aLaterRow()], [minuteMs])).toHaveLength(1);
  });

  it("leaves entries of less than a minute, whose claim may be being written, and of newer claims", async () => {
    const ended = aRowIn("REJECTED");
    const left = await sweepWith([ended], [minuteMs, minuteMs - 1]);
    expect(left.map(({ claim }) => claim)).toEqual(["claim1"]);
  });

  it("removes a call of unknown end after the longest duration of a call", async () => {
    const left = await sweepWith([aRowIn("PLACED")], [lifeMs, lifeMs - 1]);
    expect(left.map(({ claim }) => claim)).toEqual(["claim1"]);
  });

  it("has calls of a former, higher limit count until they end, as others would be dialed instead", async () => {
    const plan = (liveCalls: number) => ({
      ...twilio,
      results: {},
      providers: { twilio: { liveCalls, maxCallMinutes } },
    });
    const bench = createBench({}, plan(limit));
    const enter = (ids: readonly string[]) => {
      const entries = createLiveEntries(bench.deps);
      const claims = ids.map((id) => {
        const row = createFirstRow({ call: aCall({ id }), numberHash: "", numberTail: "" });
        const claimed = { row: { ...row, claimedAt: bench.now() }, version: id };
        return claimedAlong(route, claimed, bench.deps.settings);
      });
      return Promise.all(claims.map((one) => entries.enter(one)));
    };
    const ids = Array.from({ length: limit }, (_, n) => `call_${n}`);
    expect(new Set(await enter(ids))).toEqual(new Set([true]));
    await sweepLiveCalls(bench.deps);
    bench.changePlan(plan(25));
    const end = (some: readonly string[]) =>
      leaveLive(
        some.map((id) => ({ id, route, isMeasured: true })),
        bench.deps,
      );
    await end(ids.slice(0, 5));
    // The dialer knows them at once, dispatchers and forecasts after the next sweep.
    expect(await enter(["call_other"])).toEqual([false]);
    await sweepLiveCalls(bench.deps);
    expect(await leftIn(bench, 25)).toHaveLength(35);
    await end(ids.slice(5, 15));
    expect(await enter(["call_other"])).toEqual([false]);
    await end(ids.slice(15, 16));
    expect(await enter(["call_other"])).toEqual([true]);
    expect(await leftIn(bench, 25)).toHaveLength(25);
  });

  it("asks nothing where no account has a limit", async () => {
    const bench = createBench();
    bench.breakDocuments({ read: () => Promise.reject(new Error("not asked")) });
    await sweepLiveCalls(bench.deps);
  });
});
