import { describe, expect, it } from "vitest";
import { createAccountRecords } from "#functions/dialer/dispatch/account-records.ts";
import { createAccountSpeeds } from "#functions/dialer/dispatch/account-speeds.ts";
import { createInFlight } from "#functions/dialer/dispatch/in-flight.ts";
import type { Speed } from "#shared/policy/account-speed.ts";

describe("the speeds that a dispatcher measures", () => {
  it("are those of accounts for which calls wait, and forget the half minute before a breaker opened", () => {
    const speeds = createAccountSpeeds();
    let speed: Speed | undefined;
    const kept: (Speed | undefined)[] = [];
    for (let at = 0; at <= 120_000; at += 2_000) {
      speed = speeds.after("one", speed, { completed: 4, at, isTroubled: false });
      kept.push(speed);
      speeds.recordLimited("one");
    }
    expect(speed && (speed.calls * 1000) / speed.ms).toBeCloseTo(2);
    const troubled = speeds.after("one", speed, { completed: 0, at: 122_000, isTroubled: true });
    // The last look before that half minute found it.
    expect(troubled).toEqual({ ...kept[44], at: null });
    const later = speeds.after("one", troubled, { completed: 9, at: 124_000, isTroubled: false });
    expect(later).toEqual(troubled);
  });

  it("know nothing of an account for which nothing waits", () => {
    const speeds = createAccountSpeeds();
    const seen = { completed: 9, at: 2_000, isTroubled: false };
    expect(speeds.after("one", undefined, seen)).toBeUndefined();
  });

  it("say nothing of an account whose calls wait for a rule", () => {
    const notes = createAccountRecords({});
    const share = {
      allowance: 0,
      most: 1,
      served: { client: "", agents: new Map() },
      isBusy: true,
    };
    const seen = { completed: 9, isTroubled: false, isLagging: false };
    const look = (at: number, isBySpeed: boolean) => {
      notes.recordCompleted("one", { ...seen, at });
      notes.recordShare("one", { ...share, why: "calls_per_day", isBySpeed });
    };
    const speedOf = () => notes.toDocument(createInFlight(), { paced: new Set() })["one"]?.speed;
    for (let at = 0; at <= 8_000; at += 2_000) look(at, false);
    expect(speedOf()?.calls ?? 0).toBe(0);
    for (let at = 10_000; at <= 14_000; at += 2_000) look(at, true);
    expect(speedOf()?.calls).toBe(9);
  });
});
