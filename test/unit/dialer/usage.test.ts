import { listDocuments } from "#test/support/reads.ts";
import { expect, it } from "vitest";
import { parseUsageKey } from "#shared/policy/usage.ts";
import { endsIn } from "#shared/policy/usage-ends.ts";
import type { Bench } from "#test/support/dialer-calls.ts";
import { callsNow, sendEach } from "#test/support/dialer-calls.ts";
import { busy, completed, createBench, place, pollAfter } from "#test/support/results-bench.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

/** Counts the additions to documents of usage. */
function countAdditions(bench: Bench) {
  const additions: string[] = [];
  bench.breakDocuments({
    addAll(all) {
      additions.push(...all.map(({ key }) => key));
      return bench.documents.addAll(all);
    },
  });
  return additions;
}

const countersIn = async (bench: Bench) =>
  (await listDocuments(bench.documents, "usage", { limit: 100 })).map(({ key, value }) => ({
    hour: parseUsageKey(key).hour,
    value,
  }));

it(
  "adds once for a hundred calls of one agent, and once for their results",
  inSlowTier,
  async () => {
    const bench = createBench({}, { providers: { twilio: { callsPerSecond: 500, burst: 500 } } });
    const additions = countAdditions(bench);
    await sendEach(bench, ...callsNow(bench, 100));
    await bench.deliver();
    expect(bench.dialed).toHaveLength(100);
    expect(additions).toHaveLength(1);
    bench.record = async ({ id }) => (id.endsWith("0") ? busy : completed);
    bench.list = async () => new Map(bench.dialed.map(({ call }) => [`CA_${call.id}`, completed]));
    await pollAfter(bench, 3);
    const [{ value } = { value: {} }] = await countersIn(bench);
    expect(value).toMatchObject({ PLACED: 100, completed: 100, seconds: 4200 });
    expect(additions.length).toBe(2);
  },
);

it("adds once for a call that is not polled, and twice for one whose result becomes known", async () => {
  const plain = createBench(null);
  const ofPlain = countAdditions(plain);
  await place(plain, 1);
  expect(ofPlain).toHaveLength(1);
  const polled = createBench();
  const ofPolled = countAdditions(polled);
  const [call] = await place(polled, 1);
  expect(ofPolled).toHaveLength(1);
  polled.record = async () => busy;
  await pollAfter(polled, 3);
  expect(ofPolled).toHaveLength(2);
  const counted = await countersIn(polled);
  const ends = counted.flatMap(({ hour, value }) => endsIn(hour, value));
  expect([call?.client, ends.map(({ outcome, count }) => [outcome, count])]).toEqual([
    "crm",
    [["busy", 1]],
  ]);
});
