import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DialOutcome, NotPlaced } from "#shared/providers/provider.ts";
import { aCall } from "#test/support/calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { rowOf, sendEach, stateOf } from "#test/support/dialer-calls.ts";
import { inSlowTier, perTier } from "#test/support/per-tier.ts";

const unknown: DialOutcome = { kind: "unknown", code: "concurrency_blocked" };
const agents = { vapi: { provider: "vapi", agent: "asst_9", from: "phone_1" } };
/** Fast enough that no call waits for another. */
const providers = { vapi: { callsPerSecond: 1000, burst: 1000 } };
const aVapiCall = () => aCall({ request: { phone_number: "+12025550123", agent_id: "vapi" } });

/** Creates a dialer whose first request has an unknown outcome, which the provider's records then decide. */
function createBench(notPlaced: NotPlaced, plan: object = {}) {
  const bench = createDialerBench({ plan: { agents, providers, ...plan } });
  bench.answer = async () => (bench.dialed.length === 1 ? unknown : { kind: "placed" });
  bench.find = async () => ({ by: "id", notPlaced });
  return bench;
}
const later: NotPlaced = { kind: "not_placed", code: "concurrency_limit" };

describe("a call of unknown outcome that the provider's records prove not placed", () => {
  it("waits, and is dialed once more as a new attempt", inSlowTier, async () => {
    const bench = createBench(later);
    const call = aVapiCall();
    await sendEach(bench, call);
    await bench.run(200);
    const row = await rowOf(bench, call);
    expect(row).toMatchObject({ state: "PLACED", attempt: 2 });
    expect(row.history.map(({ state, reason }) => `${state} ${reason}`)).toEqual([
      "DIALING claimed",
      "UNKNOWN concurrency_blocked",
      "WAITING concurrency_limit",
      "DIALING claimed",
      "PLACED placed",
    ]);
    expect(bench.dialed).toHaveLength(2);
  });

  it("ends REJECTED where the refusal is for good", async () => {
    const bench = createBench({ kind: "rejected", code: "sip_404" });
    const call = aVapiCall();
    await sendEach(bench, call);
    await bench.run(200);
    expect(await rowOf(bench, call)).toMatchObject({ state: "REJECTED", reason: "sip_404" });
    expect(bench.dialed).toHaveLength(1);
    expect(bench.eventsOf("call.rejected")).toHaveLength(1);
  });

  it.each([
    ["backlog", { kind: "route_refused", code: "assistant_not_found" }],
    ["account", { kind: "account_refused", code: "account_limit" }],
  ] as const)("opens the breaker of the %s that is at fault", async (name, notPlaced) => {
    const bench = createBench(notPlaced);
    const call = aVapiCall();
    await sendEach(bench, call);
    await bench.run(90);
    expect(await stateOf(bench, call)).toBe("WAITING");
    expect(bench.dialed).toHaveLength(1);
    expect(bench.eventsOf("breaker.opened")).toMatchObject([
      { breaker: expect.stringMatching(new RegExp(`^${name}:`)), code: notPlaced.code },
    ]);
  });

  it(
    "opens no breaker by a record that is minutes old, as the account may be well by now",
    inSlowTier,
    async () => {
      const bench = createBench({ kind: "account_refused", code: "account_limit" });
      const { find } = bench;
      bench.find = async () => undefined;
      const call = aVapiCall();
      await sendEach(bench, call);
      await bench.run(200);
      bench.find = find;
      await bench.run(200);
      expect(await stateOf(bench, call)).toBe("PLACED");
      expect(bench.eventsOf("breaker.opened")).toEqual([]);
    },
  );

  it("frees its place in the cap of its number for another call", async () => {
    const refused: NotPlaced = { kind: "rejected", code: "number_international" };
    const bench = createBench(refused, { maxCalls: { count: 1, days: 1 } });
    const other = aVapiCall();
    await sendEach(bench, aVapiCall());
    await bench.run(200);
    await sendEach(bench, other);
    await bench.run(10);
    expect(await stateOf(bench, other)).toBe("PLACED");
  });

  it("is not dialed after it has expired", async () => {
    const bench = createBench(later, { expireAfterHours: 1, reviewAfterSeconds: 10_800 });
    const call = aVapiCall();
    const startedAt = bench.now();
    bench.find = async () =>
      bench.now() < startedAt + 3_700_000 ? undefined : { by: "id", notPlaced: later };
    await sendEach(bench, call);
    await bench.simulate(9000);
    expect(await rowOf(bench, call)).toMatchObject({ state: "EXPIRED" });
    expect(bench.dialed).toHaveLength(1);
  });

  it("stays looked for where the ledger failed to store that", inSlowTier, async () => {
    const bench = createBench(later);
    const call = aVapiCall();
    let failures = 0;
    bench.breakLedger({
      async write(changes) {
        const waits = changes.some(({ next }) => next.reason === later.code);
        if (waits && failures++ < 4) throw new Error("throttled");
        return bench.rows.write(changes);
      },
    });
    await sendEach(bench, call);
    await bench.run(400);
    expect(failures).toBeGreaterThanOrEqual(4);
    expect(await rowOf(bench, call)).toMatchObject({ state: "PLACED", attempt: 2 });
    expect(bench.dialed).toHaveLength(2);
  });

  it("stays UNKNOWN after a resend, as the record may be of one of two requests", async () => {
    const bench = createBench(later);
    const call = aVapiCall();
    await sendEach(bench, call);
    await bench.deliver();
    const row = await rowOf(bench, call);
    await bench.rows.write([{ next: { ...row, resent: true, version: "v" }, seen: row.version }]);
    await bench.run(300);
    expect(bench.dialed).toHaveLength(1);
    expect(await stateOf(bench, call)).toMatch(/UNKNOWN|NEEDS_REVIEW/);
  });
});

/** Fate of one request: whether it rings, and how the provider answers and records it. */
const fate = fc.record({
  rings: fc.boolean(),
  answers: fc.constantFrom("truth" as const, "unknown" as const),
  recordedAfterSeconds: fc.integer({ min: 0, max: 400 }),
  refusal: fc.constantFrom<NotPlaced>(
    later,
    { kind: "account_refused", code: "account_limit" },
    { kind: "route_refused", code: "assistant_not_found" },
  ),
});

describe("calls whose records tell what became of each attempt", () => {
  it(
    "ring once at most, whatever is answered and however late it is recorded",
    inSlowTier,
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.array(fate, { minLength: 6, maxLength: 6 }), { minLength: 1, maxLength: 6 }),
          async (fates) => {
            const bench = createDialerBench({
              plan: { agents, providers, reviewAfterSeconds: 1800 },
            });
            const calls = fates.map((attempts) => ({ call: aVapiCall(), attempts }));
            const rung: string[] = [];
            const askedAt = new Map<string, number>();
            const fateOf = (id: string, attempt: number) =>
              calls.find(({ call }) => call.id === id)?.attempts[attempt - 1];
            bench.answer = async ({ id }, _route, attempt) => {
              const its = fateOf(id, attempt);
              const rings = its === undefined || its.rings;
              if (rings) rung.push(id);
              askedAt.set(`${id} ${attempt}`, bench.now());
              await bench.sleep(500);
              if (its?.answers === "unknown") return unknown;
              return rings ? { kind: "placed" } : (its?.refusal ?? later);
            };
            bench.find = async ({ call: { id }, attempt }) => {
              const its = fateOf(id, attempt);
              const at = askedAt.get(`${id} ${attempt}`) ?? bench.now();
              if (its === undefined || bench.now() < at + its.recordedAfterSeconds * 1000) return;
              return its.rings
                ? { by: "id", providerCallId: `${id}-${attempt}` }
                : { by: "id", notPlaced: its.refusal };
            };
            await sendEach(bench, ...calls.map(({ call }) => call));
            await bench.simulate(7200);
            expect(new Set(rung).size).toBe(rung.length);
            for (const { call } of calls) {
              const { state } = await rowOf(bench, call);
              expect(state === "PLACED").toBe(rung.includes(call.id));
            }
          },
        ),
        { numRuns: perTier({ quick: 4, long: 15 }) },
      );
    },
  );
});
