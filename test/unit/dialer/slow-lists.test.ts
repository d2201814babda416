import { describe, expect, it } from "vitest";
import type { CallResult } from "#shared/calls/call-result.ts";
import type { Bench } from "#test/support/dialer-calls.ts";
import {
  busy,
  completed,
  createBench,
  minuteMs,
  place,
  pollMinuteAfter,
  resultOf,
} from "#test/support/results-bench.ts";

/** Places calls along an account that has a list. */
async function createListed(count = 6, settings: object = {}) {
  const bench = createBench({}, { providers: { twilio: { callsPerSecond: 100, ...settings } } });
  const calls = await place(bench, count);
  const askedAt: number[] = [];
  let lists = 0;
  const answerList = (seconds: number, has: (index: number) => boolean) => {
    bench.list = async () => {
      lists += 1;
      askedAt.push(bench.now());
      await bench.sleep(seconds * 1000);
      return new Map(calls.filter((_, index) => has(index)).map(({ id }) => [`CA_${id}`, busy]));
    };
  };
  bench.record = async () => {
    askedAt.push(bench.now());
    return completed;
  };
  return { bench, calls, askedAt, answerList, lists: () => lists };
}

async function statusesOf(bench: Bench, calls: readonly { id: string }[]) {
  const results = await Promise.all(calls.map((call) => resultOf(bench, call)));
  return results.map((one): CallResult["status"] | undefined => one?.status);
}

/** Has the account polled in one delivery, once its results are due. */
async function deliverOnce(bench: Bench, deadlineMs = 120_000) {
  bench.advance(3 * minuteMs);
  await bench.sweep();
  const begunAt = bench.now();
  let records = 0;
  bench.record = async () => {
    records += 1;
    return completed;
  };
  await bench.deliverEvents(deadlineMs);
  return { records, seconds: (bench.now() - begunAt) / 1000 };
}

describe("an account that may be asked once in ten seconds", () => {
  it("has its list read", async () => {
    const { bench, calls, answerList, lists } = await createListed(6, { pollsPerSecond: 0.1 });
    answerList(1, () => true);
    await pollMinuteAfter(bench, 3);
    expect(lists()).toBe(1);
    expect(await statusesOf(bench, calls)).toEqual(calls.map(() => "busy"));
  });

  it("has the calls polled that its list lacks, at its pace", async () => {
    const { bench, calls, askedAt, answerList } = await createListed(6, { pollsPerSecond: 0.1 });
    answerList(1, () => false);
    await pollMinuteAfter(bench, 3);
    for (let minute = 1; minute < 10; minute++) await pollMinuteAfter(bench, 0);
    expect(await statusesOf(bench, calls)).toEqual(calls.map(() => "completed"));
    const gaps = askedAt.slice(1).map((at, index) => at - (askedAt[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(10_000);
  });
});

describe("a list that takes longer than a delivery polls", () => {
  it.each([12, 19])("of %i s keeps no call from being polled that it lacks", async (seconds) => {
    const { bench, calls, answerList } = await createListed();
    answerList(seconds, (index) => index > 4);
    await pollMinuteAfter(bench, 3);
    expect(await statusesOf(bench, calls)).toEqual([
      ...calls.slice(0, 5).map(() => "completed"),
      ...calls.slice(5).map(() => "busy"),
    ]);
  });

  it("holds its delivery until it is read and a few calls are polled, and no longer", async () => {
    const { bench, answerList } = await createListed(20);
    // A list that has begun is read to its end, which is longer than a delivery polls otherwise.
    answerList(19, () => false);
    expect(await deliverOnce(bench)).toEqual({ records: 10, seconds: 24 });
  });

  it("leaves time for the last writes before the invocation ends", async () => {
    const { bench, answerList } = await createListed(20);
    answerList(12, () => false);
    expect(await deliverOnce(bench, 43_000)).toEqual({ records: 2, seconds: 13 });
  });
});
