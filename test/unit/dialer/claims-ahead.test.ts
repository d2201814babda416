import { describe, expect, it } from "vitest";
import { createWindows } from "../../../functions/dialer/delivery/window.ts";
import { createDialerBench } from "../../support/dialer.ts";
import { callsNow, rowsIn, sendEach } from "../../support/dialer-calls.ts";

const account = "webhook:http://127.0.0.1:9";

describe("calls that are claimed ahead", () => {
  it.each([
    [1, 5, 20],
    [8, 5, 19],
    [30, 5, 5],
    [50, 5, 3],
    [500, 25, 3],
    [500, 100, 6],
    [0, 100, 20],
  ])(
    "are those of the next 30 ms: answers after %i ms, %i connections: %i",
    (ms, connections, count) => {
      const windows = createWindows();
      for (let n = 0; n < 10; n++) windows.adjust(account, true, ms);
      expect(windows.aheadOf(account, connections)).toBe(count);
    },
  );

  it("follow an account that becomes slow", () => {
    const windows = createWindows();
    for (let n = 0; n < 10; n++) windows.adjust(account, true, 5);
    expect(windows.aheadOf(account, 5)).toBe(20);
    for (let n = 0; n < 10; n++) windows.adjust(account, true, 500);
    expect(windows.aheadOf(account, 5)).toBe(3);
  });

  it("do not grow because of time-outs", () => {
    const windows = createWindows();
    for (let n = 0; n < 10; n++) windows.adjust(account, true, 30);
    windows.adjust(account, false, 30_000);
    for (let n = 0; n < 2; n++) windows.adjust(account, true, 30);
    expect(windows.aheadOf(account, 5)).toBe(5);
  });

  it.each([
    ["few beside a slow provider", 500, 8, 8],
    ["more beside a fast one", 5, 15, 25],
  ])("%s", async (_, answerMs, claimsMin, claimsMax) => {
    const providers = { webhook: { concurrency: 25 } };
    const bench = createDialerBench({ plan: { providers }, concurrency: 5 });
    let claims = 0;
    bench.answer = async () => {
      claims = Math.max(claims, (await rowsIn(bench, "DIALING")).length);
      await bench.sleep(answerMs);
      return { kind: "placed" };
    };
    await sendEach(bench, ...callsNow(bench, 100));
    await bench.simulate(60, { consumers: 1, batchSize: 100 });
    expect(bench.dialed).toHaveLength(100);
    expect(claims).toBeGreaterThanOrEqual(claimsMin);
    expect(claims).toBeLessThanOrEqual(claimsMax);
  });
});
