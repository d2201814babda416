import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createCachedReads } from "#functions/api/http/cached-reads.ts";

describe("kept reads", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function createBench(cachedMax: number, read?: (key: string, count: number) => Promise<string>) {
    let count = 0;
    const reads = createCachedReads(
      (key) => {
        count += 1;
        return read?.(key, count) ?? Promise.resolve(key);
      },
      { cachedMs: 60_000, cachedMax, now: Date.now },
    );
    return { reads, count: () => count };
  }

  it("are dropped, the oldest first, above the maximum", async () => {
    const { reads, count } = createBench(2);
    for (const key of ["a", "b", "c"]) await reads.find(key);
    expect(["a", "b", "c"].map((key) => reads.known(key)?.value)).toEqual([undefined, "b", "c"]);
    await reads.find("a");
    expect(count()).toBe(4);
  });

  it("are not believed when the clock goes back", async () => {
    const { reads } = createBench(2);
    await reads.find("a");
    vi.setSystemTime(Date.now() - 1);
    expect(reads.known("a")).toBeUndefined();
  });

  it("begin anew where another request's read never ends, once for all that wait", async () => {
    const { reads, count } = createBench(2, (key, nth) =>
      nth === 1 ? new Promise(() => undefined) : Promise.resolve(key),
    );
    void reads.find("a");
    const waiting = [reads.find("a"), reads.find("a"), reads.find("a")];
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await Promise.all(waiting)).toEqual(["a", "a", "a"]);
    expect(count()).toBe(2);
  });
});
