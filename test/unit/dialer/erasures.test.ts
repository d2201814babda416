import { listDocuments } from "#test/support/reads.ts";
import type { HistoryEntry } from "#shared/calls/call-row.ts";
import { applyErasure } from "#shared/calls/erase-row.ts";
import { aCall } from "#test/support/calls.ts";
import { rowIn } from "#test/support/rows.ts";
import { describe, expect, it } from "vitest";
import { eraseRows, rememberErasures } from "#shared/policy/erase-number.ts";
import { aCallNow, type Bench, hashOf, put, rowOf, sendEach } from "#test/support/dialer-calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const number = "+12025550123";
const minuteMs = 60_000;
const plan = { callingHours: { default: "always" }, results: {} };

/** Erases the number as the operator's API does. */
async function erase(bench: Bench) {
  const deps = { ...bench.deps, documents: bench.documents, ledger: bench.rows };
  const erasure = { hash: hashOf(number), at: bench.now(), by: "operator" };
  await rememberErasures([{ ...erasure, retentionMs: 60 * 86_400_000 }], deps);
  return eraseRows(erasure, deps);
}

const aCallOf = (bench: Bench) =>
  aCallNow(bench, { phone_number: number, context: { name: "Ada" } });
const nothingLeft = { request: null, numberTail: "", echo: null };

describe("an erasure of a number", () => {
  it("ends a call that is still on the queue, whose row has nothing of the person", async () => {
    const bench = createDialerBench({ plan });
    const call = aCallOf(bench);
    await sendEach(bench, call);
    await erase(bench);
    await bench.deliver();
    expect(await rowOf(bench, call)).toMatchObject({
      state: "CANCELLED",
      reason: "erased",
      attempt: 0, // it was not even claimed
      ...nothingLeft,
    });
    expect(bench.dialed).toEqual([]);
  });

  it("counts a waiting call that it ends, as every end is counted", async () => {
    const bench = createDialerBench({ plan });
    const call = aCallOf(bench);
    await put(bench, { ...rowIn("WAITING", call), numberHash: hashOf(number) });
    const erasure = { hash: hashOf(number), at: bench.now(), by: "operator", retentionMs: 1e9 };
    await rememberErasures([erasure], { ...bench.deps, documents: bench.documents });
    await bench.upkeep();
    expect(await rowOf(bench, call)).toMatchObject({ state: "CANCELLED", reason: "erased" });
    const usage = await listDocuments(bench.documents, "usage", { limit: 9 });
    expect(usage).toMatchObject([{ value: { CANCELLED: 1, "@3 CANCELLED": 1 } }]);
    await bench.upkeep();
    expect(await listDocuments(bench.documents, "usage", { limit: 9 })).toEqual(usage);
  });

  it("ends a call that is about to ring, and erases its row", async () => {
    const bench = createDialerBench({ plan });
    bench.ringSeconds = 20;
    bench.prepare = async () => {
      expect(await erase(bench)).toMatchObject({ erased: 0, pending: [call.id] });
      bench.advance(5_001);
    };
    const call = aCallOf(bench);
    await sendEach(bench, call);
    await bench.deliver();
    expect(await rowOf(bench, call)).toMatchObject({ state: "CANCELLED", ...nothingLeft });
    expect(bench.dialed).toEqual([]);
  });

  it.each([
    ["placed", { kind: "placed", providerCallId: "theirs" } as const, "PLACED"],
    ["refused", { kind: "rejected", code: "x" } as const, "REJECTED"],
    ["not placed", { kind: "not_placed", code: "x" } as const, "CANCELLED"],
    ["left to a person", { kind: "forbidden", code: "http_403" } as const, "NEEDS_REVIEW"],
  ])("erases a call that is %s after it has rung", inSlowTier, async (_name, outcome, state) => {
    const bench = createDialerBench({ plan });
    const call = aCallOf(bench);
    bench.answer = async () => {
      await erase(bench);
      return outcome;
    };
    await sendEach(bench, call);
    await bench.simulate(10 * 60, { firstSweepSeconds: 30 });
    expect(bench.dialed).toHaveLength(1);
    expect(await rowOf(bench, call)).toMatchObject({ state, ...nothingLeft });
  });

  it("keeps what a look-up needs until the outcome is known", async () => {
    const bench = createDialerBench({
      plan: {
        ...plan,
        agents: {
          agent_sales: {
            provider: "twilio",
            from: "+12025550100",
            answerUrl: "https://x.example/",
          },
        },
      },
    });
    bench.answer = async () => ({ kind: "unknown", code: "http_500" });
    bench.find = async () => undefined;
    const call = aCallNow(bench, { phone_number: number });
    await sendEach(bench, call);
    await bench.simulate(10, { firstSweepSeconds: 1000 });
    expect((await rowOf(bench, call)).state).toBe("UNKNOWN");
    expect(await erase(bench)).toMatchObject({ erased: 0, pending: [call.id], isWhole: true });
    expect((await rowOf(bench, call)).request).not.toBeNull();
    bench.find = async () => ({ by: "id", providerCallId: "theirs" });
    await bench.simulate(10 * 60, { firstSweepSeconds: 30 });
    expect(await rowOf(bench, call)).toMatchObject({ state: "PLACED", ...nothingLeft });
  });

  it("erases rows that are over, once, and leaves calls that were accepted later", async () => {
    const bench = createDialerBench({ plan });
    const placed = aCallOf(bench);
    await sendEach(bench, placed);
    await bench.deliver();
    expect((await rowOf(bench, placed)).numberTail).toBe("23");
    expect(await erase(bench)).toMatchObject({ erased: 1, pending: [], isWhole: true });
    expect(await rowOf(bench, placed)).toMatchObject({ state: "PLACED", ...nothingLeft });
    bench.advance(1);
    const later = aCallOf(bench);
    await sendEach(bench, later);
    await bench.deliver();
    expect(bench.dialed).toHaveLength(2);
    expect((await rowOf(bench, later)).numberTail).toBe("23");
    expect(await erase(bench)).toMatchObject({ erased: 1 });
    expect(await erase(bench)).toMatchObject({ erased: 0, pending: [] });
  });

  it("is done by sweeps for rows that were missing in the index, and of which nobody knew", async () => {
    const bench = createDialerBench({ plan });
    const call = aCallOf(bench);
    await sendEach(bench, call);
    const list = bench.rows.list.bind(bench.rows);
    bench.rows.list = async () => ({ rows: [], unreadable: 0 });
    await bench.deliver();
    expect(await erase(bench)).toMatchObject({ erased: 0, pending: [], isWhole: true });
    bench.rows.list = list;
    expect((await rowOf(bench, call)).numberTail).toBe("23");
    await bench.sweep();
    expect(await rowOf(bench, call)).toMatchObject(nothingLeft);
    expect(bench.eventsOf("number.erased")).toMatchObject([{ count: 1 }]);
    bench.advance(31 * minuteMs);
    await bench.sweep();
    const [remembered] = await listDocuments(bench.documents, "erasure", { limit: 9 });
    expect(remembered?.value.nextAt).toBe(bench.now() + 86_400_000);
  });

  it("is incomplete while only a later version can read a row", async () => {
    const bench = createDialerBench({ plan });
    bench.rows.list = async () => ({ rows: [], unreadable: 1 });
    expect(await erase(bench)).toMatchObject({ erased: 0, pending: [], isWhole: false });
  });

  it("reaches all of a thousand rows and more", inSlowTier, async () => {
    const bench = createDialerBench({ plan });
    const calls = Array.from({ length: 1_050 }, () => aCallOf(bench));
    await put(bench, ...calls.map((call) => rowIn("REJECTED", call)));
    expect(await erase(bench)).toMatchObject({ erased: calls.length, pending: [], isWhole: true });
  });

  it("leaves no evidence of a check in the history, and the rest of it", () => {
    const row = rowIn("REJECTED", aCall({ acceptedAt: 1 }));
    const step: HistoryEntry = {
      at: 2,
      state: "REJECTED",
      reason: "http_404",
      checks: [{ check: "crm", at: 1, evidence: "consent of Ada" }],
    };
    const next = applyErasure(
      { ...row, history: [step] },
      { at: 3, by: "ops" },
      { version: "v", at: 4 },
    );
    expect(JSON.stringify(next)).not.toContain("Ada");
    const checks = [{ check: "crm", at: 1 }];
    expect(next?.history).toEqual([{ at: 2, state: "REJECTED", reason: "http_404", checks }]);
  });
});
