import { readRow } from "#test/support/reads.ts";
import { describe, expect, it } from "vitest";
import { optOut } from "#functions/dialer/results/opt-out.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import type { ResultStatus } from "#shared/calls/call-result.ts";
import { applyAction } from "#shared/calls/transitions.ts";
import { applyEntries } from "#shared/policy/journal-entries.ts";
import { leastSequenceOf } from "#shared/calls/lost-time.ts";
import { restoreKey } from "#shared/policy/ledger-epoch.ts";
import { suspendedAt } from "#test/support/document-values.ts";
import { toTryId } from "#shared/calls/tries.ts";
import { toStoredRow } from "#shared/ports/stored-row.ts";
import { outcomeOf } from "#test/support/claims.ts";
import {
  aCallNow,
  type Bench,
  boom,
  callsNow,
  neverCall,
  pause,
  put,
  putDocument,
  rowOf,
  sendEach,
} from "#test/support/dialer-calls.ts";
import {
  busy,
  completed,
  createBench,
  nothing,
  place,
  pollAfter,
} from "#test/support/results-bench.ts";
import { createRetryBench, noAnswer, placeFirst, retry, tell } from "#test/support/retry-bench.ts";
import { firstOf } from "#test/support/first-of.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const rowIn = async (bench: Bench, { id }: { id: string }): Promise<CallRow | undefined> =>
  await readRow(bench.rows, id);

/** Places a call that has turned out busy, so that its second try waits. */
async function placeBusy() {
  const bench = createRetryBench();
  const placed = await placeFirst(bench);
  tell(bench, busy);
  await pollAfter(bench, 2);
  return { bench, ...placed };
}

describe("a call of an agent with retry", () => {
  it("is tried again after busy and no answer, once after each, and no more once it is completed", async () => {
    const bench = createRetryBench();
    const { call, second, third } = await placeFirst(bench);
    tell(bench, busy, noAnswer, completed);
    await pollAfter(bench, 2);
    expect(await rowOf(bench, call)).toMatchObject({
      state: "PLACED",
      next: { id: second.id },
      lane: null,
      dueAt: null,
      request: null,
      tries: { number: 1, budget: 3 },
    });
    expect(await rowOf(bench, second)).toMatchObject({
      state: "WAITING",
      reason: "retry",
      ancestors: [call.id],
      acceptedAt: call.acceptedAt,
      tries: { number: 2, budget: 3 },
    });
    await bench.simulate(14 * 60);
    expect(bench.dialed).toHaveLength(1);
    await bench.simulate(3 * 60);
    expect(bench.dialed.map((one) => one.call.id)).toEqual([call.id, second.id]);
    await pollAfter(bench, 3);
    await bench.simulate(179 * 60);
    expect(bench.dialed).toHaveLength(2);
    await bench.simulate(5 * 60);
    expect(bench.dialed.map((one) => one.call.id)).toEqual([call.id, second.id, third.id]);
    // No try follows the last one, so its number is erased at once.
    expect(await rowOf(bench, third)).toMatchObject({
      state: "PLACED",
      result: null,
      request: null,
    });
    await pollAfter(bench, 3);
    const last = await rowOf(bench, third);
    expect(last).toMatchObject({ state: "PLACED", result: { status: "completed" }, request: null });
    expect(last.ancestors).toEqual([call.id, second.id]);
    expect(last.next).toBeUndefined();
    await bench.simulate(80 * 3600, { sweepSeconds: 3600, dispatchEverySeconds: 3600 });
    expect(bench.dialed).toHaveLength(3);
    for (const { json } of bench.stored.values()) expect(json).not.toContain("+1303555");
  });

  it("leaves nothing behind in a month in which no result is told", inSlowTier, async () => {
    const bench = createRetryBench();
    const { call } = await placeFirst(bench);
    bench.record = async () => undefined;
    for (let hour = 0; hour < 31 * 24; hour++) await pollAfter(bench, 60);
    expect(bench.dialed).toHaveLength(1);
    const ended = { state: "PLACED", result: { status: "unknown" } };
    const erased = { request: null, lane: null, dueAt: null };
    expect(await rowOf(bench, call)).toMatchObject({ ...ended, ...erased });
    expect(bench.stored.size).toBe(1);
    expect(bench.queued()).toEqual([]);
  });

  it("is tried no more often than its attempts, over all reasons", inSlowTier, async () => {
    const bench = createRetryBench({ ...retry, attempts: 2 });
    const { second } = await placeFirst(bench);
    tell(bench, busy, noAnswer, busy);
    await pollAfter(bench, 2);
    await bench.simulate(16 * 60);
    await pollAfter(bench, 3);
    expect(await rowOf(bench, second)).toMatchObject({
      result: { status: "no_answer" },
      request: null,
    });
    await bench.simulate(10 * 3600);
    expect(bench.dialed).toHaveLength(2);
  });

  const endsItsChain = async (status: ResultStatus) => {
    const bench = createRetryBench();
    const { call } = await placeFirst(bench);
    expect((await rowOf(bench, call)).request).not.toBeNull();
    tell(bench, { ...nothing, status });
    await pollAfter(bench, 2);
    const row = await rowOf(bench, call);
    expect(row).toMatchObject({ result: { status }, request: null, lane: null });
    expect(row.next).toBeUndefined();
    await bench.simulate(4 * 3600);
    expect(bench.dialed).toHaveLength(1);
  };
  const ends = "is not tried again after %s, and its number is erased";
  it.each(["declined", "completed"] as const)(ends, endsItsChain);
  it.each(["invalid", "blocked", "unknown", "voicemail"] as const)(ends, inSlowTier, endsItsChain);

  it("is not tried again after the end of within, at which its number is erased though it is live", async () => {
    const bench = createRetryBench({ ...retry, within: "1h", after: { busy: "15m" } });
    const { call } = await placeFirst(bench);
    bench.record = async () => ({ ...nothing, status: "live" });
    for (let minute = 0; minute < 59; minute++) await pollAfter(bench, 1);
    expect((await rowOf(bench, call)).request).not.toBeNull();
    await pollAfter(bench, 2);
    expect((await rowOf(bench, call)).request).toBeNull();
    bench.record = async () => busy;
    for (let minute = 0; minute < 60; minute++) await pollAfter(bench, 1);
    expect(await rowOf(bench, call)).toMatchObject({ result: { status: "busy" }, lane: null });
    expect((await rowOf(bench, call)).next).toBeUndefined();
  });

  it.each([
    { within: "72h", dueAt: "2026-11-26T14:00:02.000Z" },
    { within: "12h", dueAt: undefined },
  ])(
    "waits for calling hours with its try within $within, or has none",
    async ({ within, dueAt }) => {
      const callingHours = { default: { "mon-fri": ["09:00-17:00"] } };
      const zone = { callingHours, defaultTimeZone: "America/New_York" };
      const bench = createRetryBench({ ...retry, within }, zone);
      bench.advance(Date.parse("2026-11-25T21:30:00Z") - bench.now()); // 16:30 in New York
      const call = firstOf(callsNow(bench, 1, { timezone: "America/New_York" }));
      await sendEach(bench, call);
      await bench.simulate(10, { firstSweepSeconds: 1000 });
      tell(bench, noAnswer);
      await pollAfter(bench, 2);
      const { next } = await rowOf(bench, call);
      expect(next && new Date(next.dueAt).toISOString()).toBe(dueAt);
      expect((await rowIn(bench, { id: toTryId(call.id, 2) }))?.state).toBe(dueAt && "WAITING");
    },
  );

  it("leaves rows as they were if its agent has no retry", async () => {
    const bench = createBench();
    const call = firstOf(await place(bench, 1));
    const row = await rowOf(bench, call);
    expect(row.request).toBeNull();
    expect(Object.keys(toStoredRow(row))).not.toContain("tries");
    bench.record = async () => busy;
    await pollAfter(bench, 2);
    expect(Object.keys(toStoredRow(await rowOf(bench, call)))).not.toContain("next");
  });
});

describe("a crash between a result and its next try", () => {
  it.each(["of the try's row", "after the try's row"])(
    "breaks no chain: %s",
    inSlowTier,
    async (when) => {
      const bench = createRetryBench();
      const { call, second } = await placeFirst(bench);
      tell(bench, busy);
      const { write } = bench.rows;
      const isAfter = when.startsWith("after");
      const failing = isAfter ? 3 : 2;
      let writes = 0;
      bench.rows.write = (changes) => (++writes >= failing ? boom() : write(changes));
      await pollAfter(bench, 2);
      bench.rows.write = write;
      expect(await rowOf(bench, call)).toMatchObject({ next: { id: second.id } });
      expect((await rowOf(bench, call)).request).not.toBeNull();
      expect((await rowIn(bench, second)) === undefined).toBe(!isAfter);
      await pollAfter(bench, 1);
      expect(await rowOf(bench, second)).toMatchObject({ state: "WAITING" });
      expect(await rowOf(bench, call)).toMatchObject({ request: null, dueAt: null });
      await bench.simulate(20 * 60);
      expect(bench.dialed).toHaveLength(2);
    },
  );
});

describe("the next try", () => {
  it("is cancelled by a contradicting result, as long as it waits", async () => {
    const { bench, call, second } = await placeBusy();
    await contradict(bench, call);
    expect(await rowOf(bench, second)).toMatchObject({
      state: "CANCELLED",
      reason: "placed_before",
    });
    await bench.simulate(20 * 60);
    expect(bench.dialed).toHaveLength(1);
    expect(bench.eventsOf("try.not_cancelled")).toEqual([]);
  });

  it("that was cancelled stays so after a restore that forgets the contradiction", async () => {
    const { bench, call, second } = await placeBusy();
    const backup = structuredClone([...bench.stored]);
    await contradict(bench, call);
    for (const [id, row] of backup) bench.stored.set(id, row);
    expect(await rowOf(bench, second)).toMatchObject({ state: "WAITING" });
    for (const name of await bench.deps.journal.list({ limit: 9 }))
      await applyEntries([(await bench.deps.journal.read(name)) ?? ""], bench.deps);
    await bench.simulate(20 * 60);
    expect(bench.dialed).toHaveLength(1);
    expect(await rowOf(bench, second)).toMatchObject({ state: "CANCELLED", reason: "operator" });
  });

  it("raises an alarm by a contradicting result once it is placed", async () => {
    const { bench, call, second } = await placeBusy();
    await bench.simulate(20 * 60);
    await contradict(bench, call);
    expect(bench.eventsOf("try.not_cancelled")).toMatchObject([
      { level: "alarm", call_id: second.id, state: "PLACED" },
    ]);
  });

  it("is reviewed if a restore may have lost that it was dialed, though its number is on the list by now", async () => {
    const bench = createRetryBench();
    const { call, second } = await placeFirst(bench);
    bench.advance(30 * 60_000);
    const restored = { state: "done", epoch: 1_000_000, by: "ops" } as const;
    const at = bench.now() - 60 * 60_000;
    await putDocument(bench, restoreKey, suspendedAt(bench.now(), { ...restored, at }));
    await neverCall(bench, call.request.phone_number);
    tell(bench, busy);
    await pollAfter(bench, 1);
    const row = await rowOf(bench, second);
    expect(row).toMatchObject({ state: "NEEDS_REVIEW", reason: "restored" });
    // A new event has not the id of one that was lost.
    expect(leastSequenceOf(row)).toBe(101);
  });

  it("is not dialed where its ancestor was contradicted and the cancellation was lost", async () => {
    const { bench, call, second } = await placeBusy();
    const row = await rowOf(bench, call);
    const entry = { at: bench.now(), state: row.state, reason: "result_contradicted" };
    const version = bench.deps.random.version();
    await put(bench, { ...row, version, history: [...row.history, entry] });
    await bench.simulate(20 * 60);
    expect(bench.dialed).toHaveLength(1);
    expect(await rowOf(bench, second)).toMatchObject({
      state: "CANCELLED",
      reason: "placed_before",
    });
  });

  it("does not follow a call that an operator has acted on", async () => {
    const bench = createRetryBench();
    bench.answer = async () => ({ kind: "forbidden", code: "http_403" });
    const call = firstOf(await place(bench, 1));
    const row = await rowOf(bench, call);
    expect(row.state).toBe("NEEDS_REVIEW");
    const write = { version: bench.deps.random.version(), at: bench.now() };
    const next = applyAction(row, { action: { to: "PLACED" }, by: "ops" }, write);
    if (next === undefined) throw new Error("it can be resolved");
    expect(next.request).toBeNull();
  });

  it("does not follow a call that an operator has taken for not placed, and whose success comes late", async () => {
    const bench = createRetryBench();
    bench.answer = async () => ({ kind: "forbidden", code: "http_403" });
    const call = firstOf(await place(bench, 1));
    const row = await rowOf(bench, call);
    const write = { version: bench.deps.random.version(), at: bench.now() };
    const action = { to: "CANCELLED" } as const;
    await put(bench, applyAction(row, { action, by: "ops" }, write) ?? row);
    const at = bench.now();
    const found = { at, reason: "found", pollAt: at, providerCallId: "CA_1" };
    await bench.send(outcomeOf(call, row.claims[0], found));
    await bench.deliver();
    expect(await rowOf(bench, call)).toMatchObject({ state: "PLACED", request: null });
    tell(bench, busy);
    await pollAfter(bench, 2);
    expect((await rowOf(bench, call)).next).toBeUndefined();
  });
});

/** Has a provider's record tell another end of a call than before. */
async function contradict(bench: Bench, call: { id: string }): Promise<void> {
  const { writeResults, openRowOf } = await import("#functions/dialer/results/write-results.ts");
  const rows = openRowOf(await rowOf(bench, call)).map((row) => ({ row, result: completed }));
  await writeResults(rows, bench.now(), bench.deps);
  expect(bench.eventsOf("result.contradicted")).toHaveLength(1);
}

describe("a chain of tries", () => {
  it("ends where the callee opts out, also between two tries", inSlowTier, async () => {
    const { bench, call, second } = await placeBusy();
    await optOut(await rowOf(bench, second), bench.deps);
    await bench.simulate(20 * 60);
    expect(bench.dialed).toHaveLength(1);
    expect(await rowOf(bench, second)).toMatchObject({ state: "REJECTED", reason: "do_not_call" });
    expect((await rowOf(bench, call)).request).toBeNull();
  });

  it("ends at its first call where the callee opts out during it", async () => {
    const bench = createRetryBench();
    const { call, second } = await placeFirst(bench);
    await optOut(await rowOf(bench, call), bench.deps);
    tell(bench, busy);
    await pollAfter(bench, 2);
    expect(await rowOf(bench, call)).toMatchObject({ optedOut: true, request: null });
    expect(await rowIn(bench, second)).toBeUndefined();
  });

  it(
    "is suspended by a try that a person must review, and continues if it turns out placed",
    inSlowTier,
    async () => {
      const bench = createRetryBench();
      const { second, third } = await placeFirst(bench);
      tell(bench, busy, busy);
      bench.answer = async () => ({ kind: "forbidden", code: "http_403" });
      await pollAfter(bench, 2);
      await bench.simulate(20 * 60);
      const row = await rowOf(bench, second);
      expect(row.state).toBe("NEEDS_REVIEW");
      await bench.simulate(3600);
      expect(bench.dialed).toHaveLength(2);
      const at = bench.now();
      const found = { at, reason: "found", pollAt: at, providerCallId: `CA_${second.id}` };
      await bench.send(outcomeOf(second, row.claims[0], found));
      await bench.deliver();
      await pollAfter(bench, 1);
      expect(await rowOf(bench, third)).toMatchObject({ state: "WAITING", tries: { number: 3 } });
    },
  );

  it(
    "ends with a try that an operator redials: the redial is a chain of one",
    inSlowTier,
    async () => {
      const bench = createRetryBench();
      const { call, second, third } = await placeFirst(bench);
      tell(bench, busy, busy, busy);
      bench.answer = async () => ({ kind: "rejected", code: "http_422" });
      await pollAfter(bench, 2);
      await bench.simulate(20 * 60);
      const row = await rowOf(bench, second);
      expect(row.state).toBe("REJECTED");
      const ancestors = [...row.ancestors, second.id];
      const redial = aCallNow(
        bench,
        { phone_number: row.request?.phone_number ?? "" },
        { ancestors },
      );
      const action = { to: "REDIALED", redialedAs: redial.id } as const;
      const write = { version: bench.deps.random.version(), at: bench.now() };
      await put(bench, applyAction(row, { action, by: "ops" }, write) ?? row);
      bench.answer = async ({ id }) => ({ kind: "placed", providerCallId: `CA_${id}` });
      await sendEach(bench, redial);
      await bench.simulate(10, { firstSweepSeconds: 1000 });
      expect(await rowOf(bench, redial)).toMatchObject({
        state: "PLACED",
        ancestors: [call.id, second.id],
      });
      await pollAfter(bench, 3);
      const redialed = await rowOf(bench, redial);
      expect(redialed).toMatchObject({ result: { status: "busy" }, request: null });
      expect([redialed.next, redialed.tries]).toEqual([undefined, undefined]);
      await bench.simulate(4 * 3600, { sweepSeconds: 600 });
      expect(bench.dialed).toHaveLength(3);
      expect(await rowIn(bench, third)).toBeUndefined();
    },
  );

  it("expires with its within, also behind a pause", inSlowTier, async () => {
    const bench = createRetryBench({ ...retry, within: "1h", after: { busy: "15m" } });
    const { second } = await placeFirst(bench);
    tell(bench, busy);
    await pollAfter(bench, 2);
    await pause(bench, { agent: "agent_sales" });
    await bench.simulate(3 * 3600, { sweepSeconds: 600 });
    expect(await rowOf(bench, second)).toMatchObject({ state: "EXPIRED" });
  });
});
