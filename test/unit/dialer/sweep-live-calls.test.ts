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
  await sweepOnce(bench);
  // A removed call did not end just now, so its duration is not measured.
  expect((await bench.documents.read([lastKey])).get(lastKey.kind, lastKey.key)?.value.meanMs).toBe(
    null,
  );
  return leftIn(bench);
}

const sweepOnce = ({ deps }: Bench) => sweepLiveCalls({ epoch: 1 }, { isOver: () => false }, deps);

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
    await sweepOnce(bench);
    bench.changePlan(plan(25));
    const end = (some: readonly string[]) =>
      leaveLive(
        some.map((id) => ({ id, route, isMeasured: true })),
        bench.deps,
      );
    await end(ids.slice(0, 5));
    // The dialer knows them at once, dispatchers and forecasts after the next sweep.
    expect(await enter(["call_other"])).toEqual([false]);
    await sweepOnce(bench);
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
    await sweepOnce(bench);
  });

  it("of 500 accounts with ended calls keeps to an invocation's statements, and all have their turn", async () => {
    const names = Array.from({ length: 500 }, (_, n) => `twilio-${n}`);
    const [agent] = Object.values(twilio.agents);
    const bench = createBench(
      {},
      {
        agents: Object.fromEntries(names.map((name) => [name, { ...agent, provider: name }])),
        providers: Object.fromEntries(
          names.map((name) => [name, { type: "twilio", liveCalls: limit, maxCallMinutes }]),
        ),
      },
    );
    const keys = names.flatMap((name) => liveKeysOf(name, limit).slice(0, 1));
    /** Accounts with an ended call, which has no row. */
    const full = async () => {
      const read = await bench.documents.read(keys);
      return keys.filter(({ kind, key }) => (read.get(kind, key)?.value.entries ?? []).length > 0);
    };
    const swept = new Set<string>();
    for (let minute = 0; minute < names.length / 20; minute++) {
      const left = new Set((await full()).map(({ key }) => key));
      for (const one of keys.filter(({ key }) => !left.has(key))) {
        const entries = [{ call: `call ${minute}`, claim: "claim", at: bench.now() - lifeMs }];
        await putDocument(bench, one, { entries, meanMs: null, parts: 2 });
      }
      await bench.sweep();
      const after = new Set((await full()).map(({ key }) => key));
      for (const { key } of keys) if (!after.has(key)) swept.add(key);
      bench.advance(minuteMs);
    }
    expect(bench.eventsOf("sweep.failed")).toEqual([]);
    expect(bench.eventsOf("live_calls.not_removed")).toEqual([]);
    expect(swept.size).toBe(names.length);
  });
});
