import { describe, expect, it } from "vitest";
import { isLeaseHeld, isLeaseVoid, writeLease } from "#functions/dialer/runtime/lease.ts";
import { clockErrorMsMax } from "#shared/lib/timing.ts";
import { sweptAt } from "#test/support/document-values.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { sweepKey } from "#shared/policy/ledger-epoch.ts";

const lifeMs = 55_000;

/** Asks about a lease that ends some time from now, in a process whose clock differs from the store's. */
function createLease(endsInMs: number, storeAheadMs: number, readMs = 0) {
  const bench = createDialerBench();
  const lease = { name: "sweep", until: bench.now() + endsInMs, lifeMs } as const;
  let reads = 0;
  const storeTime = async () => {
    reads += 1;
    const at = bench.now() + storeAheadMs;
    bench.advance(readMs);
    return at;
  };
  const deps = { ...bench.deps, documents: { ...bench.deps.documents, storeTime } };
  return {
    isVoid: () => isLeaseVoid(lease, deps),
    isHeld: () => isLeaseHeld(lease, deps),
    reads: () => reads,
    logged: () => ["lease.void", "clock.wrong"].filter((event) => bench.eventsOf(event).length > 0),
    events: bench.eventsOf,
  };
}

describe("a lease", () => {
  it("that ends when one may, or as much later as clocks differ, is asked of no other clock", async () => {
    const latest = createLease(lifeMs + clockErrorMsMax, 0);
    expect([await latest.isVoid(), latest.reads()]).toEqual([false, 0]);
    const later = createLease(lifeMs + clockErrorMsMax + 1, 0);
    expect([await later.isVoid(), later.reads()]).toEqual([true, 1]);
    expect(later.events("lease.void")).toEqual([
      {
        level: "alarm",
        event: "lease.void",
        lease: "sweep",
        due_at: expect.any(String),
        ms: lifeMs + clockErrorMsMax + 1,
      },
    ]);
  });

  it.each([
    [-clockErrorMsMax - 1, false],
    [-clockErrorMsMax, true],
    [clockErrorMsMax, true],
    [clockErrorMsMax + 1, false],
  ])("is void where the store's clock differs by %i ms: %s", async (ms, isVoid) => {
    const lease = createLease(2 * lifeMs, ms);
    expect(await lease.isVoid()).toBe(isVoid);
    expect(lease.logged()).toEqual([isVoid ? "lease.void" : "clock.wrong"]);
    if (!isVoid) expect(lease.events("clock.wrong")).toMatchObject([{ lease: "sweep", ms: -ms }]);
  });

  it("is void where the store's answer took long", async () => {
    expect(await createLease(2 * lifeMs, 2 * clockErrorMsMax, 2 * clockErrorMsMax).isVoid()).toBe(
      true,
    );
  });

  it("stands where the store's clock cannot be asked", async () => {
    const { deps, eventsOf, now } = createDialerBench();
    const storeTime = () => Promise.reject(new Error("down"));
    const asked = { ...deps, documents: { ...deps.documents, storeTime } };
    expect(await isLeaseVoid({ name: "sweep", until: now() + 2 * lifeMs, lifeMs }, asked)).toBe(
      false,
    );
    expect(eventsOf("clock.unchecked")).toMatchObject([{ level: "warning", lease: "sweep" }]);
  });

  it("is held until it ends, unless it is void", async () => {
    expect(await createLease(1, 0).isHeld()).toBe(true);
    expect(await createLease(0, 0).isHeld()).toBe(false);
    expect(await createLease(2 * lifeMs, 0).isHeld()).toBe(false);
    expect(await createLease(2 * lifeMs, 2 * clockErrorMsMax).isHeld()).toBe(true);
  });

  it("is written over the version that was read alone", async () => {
    const { deps } = createDialerBench();
    const lease = { ...sweepKey, value: sweptAt(1), expiresAt: null };
    const first = await writeLease(lease, null, deps);
    expect(first).toEqual({ ...lease, version: expect.any(String) });
    expect(await writeLease(lease, null, deps)).toBeUndefined();
    expect(await writeLease(lease, first?.version ?? "", deps)).toMatchObject(lease);
  });
});
