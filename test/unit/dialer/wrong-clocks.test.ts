import { sweep, upkeep } from "#test/support/entries.ts";
import { describe, expect, it } from "vitest";
import { takeOver } from "#functions/dialer/dispatch/dispatcher-lease.ts";
import { leaseIn, receiverKeyOf } from "#functions/dialer/events/receiver-lease.ts";
import type { DialerDeps } from "#functions/dialer/runtime/context.ts";
import { checkEpoch } from "#functions/dialer/runtime/epoch.ts";
import { takeLease } from "#functions/dialer/sweep/sweep-lease.ts";
import { restoreKey, sweepKey, upkeepKey } from "#shared/policy/ledger-epoch.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { type Bench, documentOf } from "#test/support/dialer-calls.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Returns what a process has whose clock is wrong by some time. */
function processOf({ deps, now }: Bench, wrongByMs: number): DialerDeps {
  const clock = { ...deps.clock, now: () => now() + wrongByMs };
  return { ...deps, clock, memory: structuredClone(deps.memory) };
}

const isRunning = async (bench: Bench) => {
  const upkept = await documentOf(bench, upkeepKey.kind, upkeepKey.key);
  return upkept?.value.leaseUntil === 0;
};

/** Ways to take each lease, and to try it: true if it was had. */
const leases: { of: string; take: (deps: DialerDeps) => Promise<boolean> }[] = [
  { of: "a sweep", take: async (deps) => (await takeLease(deps)) !== undefined },
  { of: "a dispatcher", take: async (deps) => (await takeOver(deps)) !== undefined },
  {
    of: "a delivery to a receiver",
    async take(deps) {
      const lease = leaseIn(
        await deps.documents.read([receiverKeyOf("main")]),
        { name: "main" },
        deps,
      );
      return !(await lease.isTaken()) && lease.take();
    },
  },
];

describe.each(leases)("the lease of $of", ({ take }) => {
  it("that a process an hour ahead has taken is void for one whose clock agrees with the store's", async () => {
    const bench = createDialerBench();
    const [ahead, right, behind] = [hourMs, 0, -hourMs].map((ms) => processOf(bench, ms));
    if (ahead === undefined || right === undefined || behind === undefined) throw new Error();
    expect(await take(ahead)).toBe(true);
    // The process behind sees a lease two hours ahead, and knows that its own clock is wrong.
    expect(await take(behind)).toBe(false);
    expect(bench.eventsOf("clock.wrong")).toMatchObject([{ level: "alarm" }]);
    expect(bench.eventsOf("lease.void")).toEqual([]);
    expect(await take(right)).toBe(true);
    expect(bench.eventsOf("lease.void")).toMatchObject([{ level: "alarm" }]);
    // One that is right is taken.
    expect(await take(right)).toBe(false);
    expect(await take(behind)).toBe(false);
  });

  it("that lies a few seconds ahead stands, as clocks differ", async () => {
    const bench = createDialerBench();
    expect(await take(processOf(bench, 9_000))).toBe(true);
    expect(await take(processOf(bench, 0))).toBe(false);
    expect(await take(processOf(bench, -500))).toBe(false);
    bench.advance(9_000);
    expect(await take(processOf(bench, 0))).toBe(false);
    expect(bench.eventsOf("lease.void")).toEqual([]);
  });

  it("stands if the store's time cannot be read", async () => {
    const bench = createDialerBench();
    expect(await take(processOf(bench, hourMs))).toBe(true);
    const right = processOf(bench, 0);
    const storeTime = () => Promise.reject(new Error("down"));
    expect(await take({ ...right, documents: { ...right.documents, storeTime } })).toBe(false);
    expect(bench.eventsOf("clock.unchecked")).toHaveLength(1);
  });
});

it("keeps sweeps and upkeep running beside a process that is ahead and one that is behind, and dies", async () => {
  const bench = createDialerBench();
  const deadline = () => bench.now() + 3 * hourMs;
  for (const wrongByMs of [hourMs, -hourMs]) {
    const wrong = processOf(bench, wrongByMs);
    // It dies as soon as it has the lease.
    const { write } = wrong.documents;
    let writes = 0;
    const documents: DialerDeps["documents"] = {
      ...wrong.documents,
      async write(changes) {
        if (writes++ > 0) throw new Error("the process is dead");
        return write(changes);
      },
    };
    await sweep({ ...wrong, documents }, deadline());
    writes = 0;
    await upkeep({ ...wrong, documents }, deadline());
  }
  bench.advance(minuteMs);
  const before = bench.eventsOf("sweep.completed").length;
  await sweep(processOf(bench, 0), deadline());
  await upkeep(processOf(bench, 0), deadline());
  expect(bench.eventsOf("sweep.completed")).toHaveLength(before + 1);
  expect(await isRunning(bench)).toBe(true);
});

it("has a restore noticed by a process that is behind no earlier than it was", async () => {
  const bench = createDialerBench();
  const read = await bench.documents.read([restoreKey, sweepKey]);
  const restore = await checkEpoch(27, read, processOf(bench, -hourMs));
  // Calls that were due later count as not dialed before, and an operator names no time after it.
  expect(restore?.value.since).toBe(bench.now());
});
