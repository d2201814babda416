import { describe, expect, it } from "vitest";
import * as constants from "#shared/lib/timing.ts";
import { hourMs, minuteMs } from "#shared/lib/units.ts";

type Chain = [breaks: string, ...times: number[]];

/** Times of which each may not exceed the next one, and what would go wrong. */
function chainsOf(timing: typeof constants): Chain[] {
  const { claimAheadMsMax, permitWaitMsMax, paceAheadMs, claimAgeMsMax, leadMsMax } = timing;
  const ledgerMsMax = timing.ledgerSecondsMax * 1000;
  const requestMsMax = timing.timeoutSecondsMax * 1000;
  const claimLifeMsMax = timing.claimLifeMs(timing.timeoutSecondsMax);
  const settlingMs =
    timing.settleWaitsMs.reduce((sum: number, ms) => sum + ms, 0) +
    timing.settleWaitsMs.length * ledgerMsMax;
  return [
    [
      "a claim would outlive its wait for a permit",
      claimAheadMsMax,
      permitWaitMsMax,
      claimAgeMsMax,
    ],
    [
      "a claim would be too old for a permit that is used late",
      timing.latePermitMsMax,
      timing.lonePermitMsMax,
      claimAgeMsMax - permitWaitMsMax,
    ],
    [
      "permits would be planned that no call waits for",
      permitWaitMsMax,
      paceAheadMs,
      claimAgeMsMax,
    ],
    ["a row under its claim would be dispatched again", claimAgeMsMax, timing.dispatchAgeMsMax],
    ["a look would plan no permits", timing.tickEveryMs + timing.deliveryMs, paceAheadMs],
    ["a look that saves queries would plan none", timing.tickEveryMsMax + leadMsMax, paceAheadMs],
    ["a fresh call would overtake those that waited", timing.freshPermitMsMax, claimAheadMsMax],
    ["a fresh call would go after waiting ones", timing.freshPermitMsMax, timing.freshAgeMsMax],
    ["a lead would leave no time for the permit", timing.firstLeadMs, leadMsMax, permitWaitMsMax],
    [
      "documents would be too old at the permit that they were read for",
      2 * leadMsMax + timing.connectedMs,
      timing.documentsAgeMsMax,
    ],
    [
      "a call that was claimed would be refused at closing",
      claimAheadMsMax,
      timing.closingMarginMs,
    ],
    ["a clock that steps would phone too early", timing.clockStepMs, timing.openingMarginMs],
    [
      "a clock that is as wrong as the margins allow would not be trusted",
      timing.openingMarginMs,
      timing.clockErrorMsMax,
    ],
    [
      "a restore would miss calls as two trusted clocks differ",
      2 * timing.clockErrorMsMax,
      timing.clocksMarginMs,
    ],
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
    ["orders would reach no call under its claim", timing.documentsAgeMsMax, claimAgeMsMax],
    [
      "a message would go before rows that were dispatched twice",
      timing.freshAgeMsMax,
      timing.dispatchAgeMsMax,
    ],
    ["a slot would be waited for as long as a claim is good", timing.slotWaitMsMax, claimAgeMsMax],
    ["a backlog would count as quick that a claim outlives", timing.slowMs, claimAgeMsMax],
    [
      "a late request of a slow pace would count as one of a fast",
      timing.fastIntervalUsMax,
      timing.permitAgeMsMax.fast * 1000,
    ],
    [
      "the outcome of a claim would come after it has lapsed",
      timing.givenUpSeconds * 1000,
      claimLifeMsMax,
    ],
    [
      "two sweeps would run at once",
      timing.sweepMsMax + timing.endMarginMs,
      timing.sweepLeaseMs,
      minuteMs,
    ],
    [
      "a number would be kept for more than an hour after its call",
      timing.analysisMsMax + timing.analysisLateMsMax,
      hourMs,
    ],
  ];
}

const chains = chainsOf(constants);
const isBroken = ([, ...times]: Chain) =>
  times.some((time, index) => time < (times[index - 1] ?? 0));

/**
 * Times that no chain bounds from above, with what does. Any other of them, ten times as long, breaks a chain.
 */
const unbounded: Readonly<Record<string, string>> = {
  afterRequestMs: "claims end earlier before the end of an invocation, and no call is lost",
  checksMsMax: "a check may take longer, before any claim",
  closingMarginMs: "a call goes earlier before closing, or waits",
  connectedMs: "a connection is held longer before its request",
  dispatchAgeMsMax: "it is that of a claim, as the test above says",
  keyReadMs: "a rotation of keys takes longer",
  overCapMs: "a call that expires waits longer before it does",
  clocksMarginMs: "more calls are looked up after a restore",
  roundTripsToPermit: "counts round trips",
  roundTripsToRequest: "counts round trips",
};

describe("the chain of times from a call's turn to its settlement", () => {
  it.each(chains)("holds, or %s", (_breaks, ...times) => {
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  it("sends a row again as soon as its claim is too old", () => {
    expect(constants.dispatchAgeMsMax).toBe(constants.claimAgeMsMax);
  });

  it("breaks if one of its times is ten times as long", () => {
    const unnoticed = Object.entries(constants).flatMap(([name, time]) => {
      if (typeof time !== "number") return [];
      const longer = { ...constants, [name]: time * 10 };
      return chainsOf(longer).some(isBroken) ? [] : name;
    });
    expect(new Set(unnoticed)).toEqual(new Set(Object.keys(unbounded)));
  });
});
