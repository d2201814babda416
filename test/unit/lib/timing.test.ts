import { describe, expect, it } from "vitest";
import * as timing from "#shared/lib/timing.ts";
import { minuteMs } from "#shared/lib/units.ts";

const { claimAheadMsMax, permitWaitMsMax, paceAheadMs, claimAgeMsMax, leadMsMax } = timing;
const ledgerMsMax = timing.ledgerSecondsMax * 1000;
const requestMsMax = timing.timeoutSecondsMax * 1000;
const claimLifeMsMax = timing.claimLifeMs(timing.timeoutSecondsMax);
const settlingMs =
  timing.settleWaitsMs.reduce((sum: number, ms) => sum + ms, 0) +
  timing.settleWaitsMs.length * ledgerMsMax;

/** Times of which each may not exceed the next one, and what would go wrong. */
const chains: [breaks: string, ...times: number[]][] = [
  ["a claim would outlive its wait for a permit", claimAheadMsMax, permitWaitMsMax, claimAgeMsMax],
  ["permits would be planned that no call waits for", permitWaitMsMax, paceAheadMs, claimAgeMsMax],
  ["a row under its claim would be dispatched again", claimAgeMsMax, timing.dispatchAgeMsMax],
  ["a look would plan no permits", timing.lookEveryMs + timing.deliveryMs, paceAheadMs],
  ["a look that saves queries would plan none", timing.lookEveryMsMax + leadMsMax, paceAheadMs],
  ["a fresh call would overtake those that waited", timing.freshPermitMsMax, claimAheadMsMax],
  ["a fresh call would go after waiting ones", timing.freshPermitMsMax, timing.freshAgeMsMax],
  ["a lead would leave no time for the permit", timing.firstLeadMs, leadMsMax, permitWaitMsMax],
  [
    "documents would be too old at the permit that they were read for",
    2 * leadMsMax + timing.connectedMs,
    timing.documentsAgeMsMax,
  ],
  ["a call that was claimed would be refused at closing", claimAheadMsMax, timing.closingMarginMs],
  ["a clock that steps would phone too early", timing.clockStepMs, timing.openingMarginMs],
  [
    "requests of the next permits would leave together",
    timing.permitAgeMsMax.slow * 1000,
    timing.fastIntervalUsMax,
  ],
  [
    "a check would have no time to answer",
    timing.checkAheadSeconds * 1000 + timing.checkAnswerMsMin,
    timing.checksMsMax,
  ],
  [
    "a claim would lapse before its request ends",
    claimAgeMsMax + requestMsMax + ledgerMsMax,
    claimLifeMsMax,
  ],
  [
    "a claim would outlive the invocation of its holder",
    claimLifeMsMax,
    claimAgeMsMax + requestMsMax + timing.afterRequestMs,
  ],
  ["a settlement would end with its invocation", settlingMs, timing.afterRequestMs],
  [
    "a claim's late write would follow its outcome",
    timing.ledgerWriteSecondsMax * 1000 + claimAgeMsMax,
    timing.givenUpSeconds * 1000,
  ],
  [
    "a call would expire while a cap may still be freed",
    claimLifeMsMax + settlingMs,
    timing.overCapMs,
  ],
  [
    "two sweeps would run at once",
    timing.sweepMsMax + timing.endMarginMs,
    timing.sweepLeaseMs,
    minuteMs,
  ],
];

describe("the chain of times from a call's turn to its settlement", () => {
  it.each(chains)("holds, or %s", (_breaks, ...times) => {
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  it("sends a row again as soon as its claim is too old", () => {
    expect(timing.dispatchAgeMsMax).toBe(claimAgeMsMax);
  });
});
