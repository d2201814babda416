import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseCheckAnswer, retryCheckAt, waitUntil } from "#shared/policy/check-answers.ts";

const parse = (value: unknown, status = 200) =>
  parseCheckAnswer({ status, text: JSON.stringify(value) });
const unreadable = { decision: "failed", code: "answer_unreadable" };

describe("a check's answer", () => {
  it("permits the call, with evidence of up to 256 printable characters", () => {
    expect(parse({ decision: "call" })).toEqual({ decision: "call", evidence: undefined });
    const evidence = "é".repeat(256);
    expect(parse({ decision: "call", evidence })).toEqual({ decision: "call", evidence });
  });

  it("asks for a wait until a time with its zone, refuses by a code, or says never", () => {
    expect(parse({ decision: "wait", until: "2026-06-01T10:00:00+02:00" })).toEqual({
      decision: "wait",
      until: Date.parse("2026-06-01T08:00Z"),
    });
    expect(parse({ decision: "refuse", reason: "no_consent" })).toEqual({
      decision: "refuse",
      reason: "no_consent",
    });
    expect(parse({ decision: "refuse", reason: "rule_2024" })).toMatchObject({
      reason: "rule_2024",
    });
    expect(parse({ decision: "never", more: 1 })).toEqual({ decision: "never" });
  });

  it.each<{ value: unknown }>([
    { value: null },
    { value: "call" },
    { value: [] },
    { value: {} },
    { value: { decision: "Call" } },
    { value: { decision: "yes" } },
    { value: { decision: "call", evidence: "x".repeat(257) } },
    { value: { decision: "call", evidence: "two\nlines" } },
    { value: { decision: "call", evidence: "two\u2028lines" } },
    { value: { decision: "call", evidence: 5 } },
    { value: { decision: "call", evidence: null } },
    { value: { decision: "wait" } },
    { value: { decision: "wait", until: "tomorrow" } },
    { value: { decision: "wait", until: "2026-06-01T10:00:00" } },
    { value: { decision: "refuse" } },
    { value: { decision: "refuse", reason: "+12025550123 asked" } },
    { value: { decision: "refuse", reason: "" } },
    { value: { decision: "refuse", reason: "asked_12025550123" } },
    { value: { decision: "refuse", reason: "202_555_0123" } },
  ])("that is $value has failed", ({ value }) => {
    expect(parse(value)).toEqual(unreadable);
  });

  it("has failed without a 2xx, without an answer, and above 16 KiB", () => {
    expect(parse({ decision: "call" }, 302)).toEqual({ decision: "failed", code: "http_302" });
    expect(parse({ decision: "call" }, 500)).toEqual({ decision: "failed", code: "http_500" });
    const none = { decision: "failed", code: "time_out" };
    expect(parseCheckAnswer({ error: "time_out" })).toEqual(none);
    const long = { decision: "call", more: "x".repeat(16_384) };
    expect(parse(long)).toEqual({ decision: "failed", code: "answer_too_long" });
  });

  it("never permits a call by any other text, and never throws", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), fc.integer(), (text, status) => {
        expect(parseCheckAnswer({ status, text }).decision).toBe("failed");
      }),
      { numRuns: 100 },
    );
  });
});

describe("a call whose check has failed", () => {
  it("waits for as long as the check has failed for it, from one minute to fifteen", () => {
    const failed = "check_failed:crm";
    const history = [{ at: 0, state: "WAITING", reason: failed }] as const;
    const minutesAfter = (minutes: number) =>
      (retryCheckAt({ reason: failed, history: [...history] }, failed, {
        now: minutes * 60_000,
        firstMs: 60_000,
      }) -
        minutes * 60_000) /
      60_000;
    expect(
      retryCheckAt({ reason: "turn", history: [] }, failed, { now: 500, firstMs: 60_000 }),
    ).toBe(60_500);
    expect([0, 1, 2, 4, 8, 16, 100].map(minutesAfter)).toEqual([1, 1, 2, 4, 8, 15, 15]);
  });

  it("waits for fifteen minutes once its history is full", () => {
    const failed = "check_failed:crm";
    const now = Date.parse("2026-06-01T10:00Z");
    const history = [{ at: now - 1, state: "WAITING", reason: "turn" }] as const;
    expect(
      retryCheckAt({ reason: failed, history: [...history] }, failed, { now, firstMs: 60_000 }) -
        now,
    ).toBe(900_000);
  });
});

describe("a wait that a check asks for", () => {
  it("is a minute at least, and ends when the call expires", () => {
    const of = { now: 1_000_000, expiresAt: 9_000_000 };
    expect(waitUntil(2_000_000, of)).toBe(2_000_000);
    expect(waitUntil(0, of)).toBe(1_060_000);
    expect(waitUntil(Number.MAX_SAFE_INTEGER, of)).toBe(9_000_000);
  });
});
