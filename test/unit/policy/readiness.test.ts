import { describe, expect, it } from "vitest";
import { dispatcherKey } from "#shared/policy/dispatcher.ts";
import { restoreKey, sweepKey } from "#shared/policy/ledger-epoch.ts";
import { listUnready } from "#shared/policy/readiness.ts";
import { suspendedAt } from "#test/support/document-values.ts";
import type { Kind } from "#shared/ports/document-kinds.ts";
import { toDocumentsRead } from "#shared/ports/documents-read.ts";

const now = Date.parse("2026-06-01T10:00Z");
const minute = 60_000;

const storedOf = ({ kind, key }: { kind: Kind; key: string }, value: object) => ({
  kind,
  key,
  version: "v",
  json: JSON.stringify(value),
  expiresAt: null,
});
const swept = (agoMs: number) =>
  storedOf(sweepKey, {
    leaseUntil: 0,
    fullRoundAt: now - agoMs,
    roundBeganAt: now,
    watchAfter: null,
  });
const looked = (agoMs: number, more: object = {}) =>
  storedOf(dispatcherKey, {
    holder: "one",
    since: now,
    beatAt: now,
    accounts: {},
    tickedAt: now - agoMs,
    ...more,
  });
const judge = (...documents: ReturnType<typeof storedOf>[]) =>
  listUnready(toDocumentsRead(documents), now);

describe("readiness", () => {
  it("holds while the last full sweep and the last look are at most five minutes old", () => {
    expect(judge(swept(0), looked(0))).toEqual([]);
    expect(judge(swept(5 * minute), looked(5 * minute))).toEqual([]);
    expect(judge(swept(5 * minute + 1), looked(0))).toEqual([
      "no sweep has completed for five minutes",
    ]);
    expect(judge(swept(0), looked(5 * minute + 1))).toEqual([
      "no dispatcher has looked for five minutes",
    ]);
  });

  it("does not hold before the first sweep and the first look", () => {
    expect(judge()).toEqual(["no sweep has run yet", "no dispatcher has looked yet"]);
    expect(judge(swept(0))).toEqual(["no dispatcher has looked yet"]);
    expect(judge(looked(0))).toEqual(["no sweep has run yet"]);
  });

  it("does not hold during a restore, and says how far the restore is", () => {
    const restored = (more: object) =>
      storedOf(restoreKey, { ...suspendedAt(now), isWatchDone: true, ...more });
    expect(judge(swept(0), looked(0), restored({}))).toEqual([
      "the ledger was restored from a backup, and nothing is dialed until that is confirmed",
    ]);
    const pass = {
      walk: { after: "b", isLast: false, open: [] },
      mayEnd: true,
      found: 3,
      rows: 4_000,
      backlogs: 300,
    };
    expect(judge(swept(0), looked(0), restored({ state: "confirmed", pass }))).toEqual([
      "the ledger was restored from a backup, and its calls are being checked: 4000 calls in 300 backlogs so far",
    ]);
    expect(judge(swept(0), looked(0), restored({ state: "done" }))).toEqual([]);
  });

  it("goes by looks that succeeded, not by beats of dispatchers that fail", () => {
    const failing = looked(0, { tickedAt: undefined });
    expect(judge(swept(0), failing)).toEqual(["no dispatcher has looked yet"]);
  });

  it("holds where a dispatcher has ended as nothing is due, while others look each minute", () => {
    expect(judge(swept(0), looked(minute, { holder: null }))).toEqual([]);
    expect(judge(swept(0), looked(6 * minute, { holder: null }))).toHaveLength(1);
  });

  it("ends once a backlog has waited for ten minutes without a reason", () => {
    const waiting = (agoMs: number) => looked(0, { waits: { a: now - agoMs, b: now - minute } });
    expect(judge(swept(0), waiting(10 * minute))).toEqual([]);
    expect(judge(swept(0), waiting(10 * minute + 1))).toEqual([
      "calls have been due and allowed for ten minutes, and the call queue has delivered none",
    ]);
  });

  it("allows for clocks that differ", () => {
    expect(judge(swept(-2_000), looked(-2_000, { waits: { a: now + 2_000 } }))).toEqual([]);
  });
});
