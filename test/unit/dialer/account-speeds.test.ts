import { describe, expect, it } from "vitest";
import { createAccountSpeeds } from "#functions/dialer/dispatch/account-speeds.ts";
import type { Speed } from "#shared/policy/account-speed.ts";

describe("the speeds that a dispatcher measures", () => {
  it("are those of accounts for which calls wait, and forget the half minute before a breaker opened", () => {
    const speeds = createAccountSpeeds();
    let speed: Speed | undefined;
    const kept: (Speed | undefined)[] = [];
    for (let at = 0; at <= 120_000; at += 2_000) {
      speed = speeds.after("one", speed, { completed: 4, at, isTroubled: false });
      kept.push(speed);
      speeds.noteWhy("one", "pace");
    }
    expect(speed && (speed.calls * 1000) / speed.ms).toBeCloseTo(2);
    const troubled = speeds.after("one", speed, { completed: 0, at: 122_000, isTroubled: true });
    // The last look before that half minute found it.
    expect(troubled).toEqual({ ...kept[44], at: null });
    speeds.noteWhy("one", "breaker_open");
    const later = speeds.after("one", troubled, { completed: 9, at: 124_000, isTroubled: false });
    expect(later).toEqual(troubled);
  });

  it("know nothing of an account for which nothing waits", () => {
    const speeds = createAccountSpeeds();
    speeds.noteWhy("one", null);
    const seen = { completed: 9, at: 2_000, isTroubled: false };
    expect(speeds.after("one", undefined, seen)).toBeUndefined();
  });
});
