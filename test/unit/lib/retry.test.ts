import { describe, expect, it } from "vitest";
import { ConflictError, onConflict, retry } from "#shared/lib/retry.ts";

/** Creates work that throws these errors in turn, and then succeeds. */
function createWork(...errors: Error[]) {
  const left = [...errors];
  let tries = 0;
  const work = async () => {
    tries += 1;
    const error = left.shift();
    if (error !== undefined) throw error;
    return "done";
  };
  return { work, tries: () => tries };
}

describe("retry", () => {
  it("runs work once that succeeds", async () => {
    const { work, tries } = createWork();
    expect(await retry(work, { delaysMs: [0, 0] })).toBe("done");
    expect(tries()).toBe(1);
  });

  it("waits as its schedule says, and no longer than the work fails", async () => {
    const slept: number[] = [];
    const sleep = async (ms: number) => void slept.push(ms);
    const { work, tries } = createWork(new Error("one"), new Error("two"), new Error("three"));
    expect(await retry(work, { delaysMs: [0, 250, 1000, 4000], sleep })).toBe("done");
    expect(slept).toEqual([250, 1000]);
    expect(tries()).toBe(4);
  });

  it("throws the last error once its schedule is over", async () => {
    const { work, tries } = createWork(new Error("one"), new Error("two"), new Error("three"));
    await expect(retry(work, { delaysMs: [0] })).rejects.toThrow("two");
    expect(tries()).toBe(2);
  });

  it("throws an error at once that may not be tried again", async () => {
    const { work, tries } = createWork(new ConflictError("one"), new Error("two"));
    await expect(retry(work, onConflict(4))).rejects.toThrow("two");
    expect(tries()).toBe(2);
  });

  it("tries as often as a schedule of conflicts says", async () => {
    const conflicts = [1, 2, 3, 4].map((n) => new ConflictError(`conflict ${n}`));
    const { work, tries } = createWork(...conflicts);
    await expect(retry(work, onConflict(3))).rejects.toThrow("conflict 3");
    expect(tries()).toBe(3);
  });
});
