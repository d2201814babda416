import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createDialerMemory } from "#functions/dialer/runtime/memory.ts";
import { accountNameOf } from "#shared/calls/call-request.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { countedIn, dayKeyOf } from "#shared/policy/day-counts.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  type Bench,
  boom,
  callsNow,
  documentOf,
  idsDialed,
  ownAccount,
  rowOf,
  rowsIn,
  sendEach,
  stateOf,
  unknown,
} from "#test/support/dialer-calls.ts";
import { perTier, inSlowTier } from "#test/support/per-tier.ts";
import { completed, createBench, route as twilio } from "#test/support/results-bench.ts";

const startAt = "2026-06-01T20:00Z";
const account = ownAccount;
const plan = (callsPerDay: number, more: object = {}) => ({
  providers: { webhook: { callsPerDay, ...more } },
  expireAfterHours: 96,
});
const create = (callsPerDay: number, more: object = {}) =>
  createDialerBench({ startAt, plan: plan(callsPerDay), ...more });
const counted = async ({ documents, now }: Bench, name = account) =>
  countedIn(await documents.read([dayKeyOf({ account: name }, now())]), { account: name }, now());
const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);
const dialedByDay = ({ dialed }: Bench) =>
  Object.fromEntries(
    [...Map.groupBy(dialed, ({ at }) => dayOf(at))].map(([day, all]) => [day, all.length]),
  );

describe("callsPerDay of an account", () => {
  it(
    "lets so many calls go on a day, UTC, and has the others wait for the next",
    inSlowTier,
    async () => {
      const bench = create(4);
      await sendEach(bench, ...callsNow(bench, 10));
      await bench.simulate(3600);
      expect(dialedByDay(bench)).toEqual({ "2026-06-01": 4 });
      expect(await rowsIn(bench, "WAITING")).toHaveLength(6);
      await bench.simulate(2 * 86_400);
      expect(dialedByDay(bench)).toEqual({ "2026-06-01": 4, "2026-06-02": 4, "2026-06-03": 2 });
      const alarms = bench.events.filter(({ event }) => event === "account.calls_per_day");
      expect(alarms.map(({ level }) => level)).toEqual(alarms.map(() => "alarm"));
      expect(alarms.length).toBeLessThanOrEqual(2);
    },
  );

  it(
    "leaves the rows of a full account untouched, and says why they wait",
    inSlowTier,
    async () => {
      const bench = create(2);
      await sendEach(bench, ...callsNow(bench, 30));
      await bench.simulate(1200);
      const waiting = await rowsIn(bench, "WAITING");
      expect(waiting).toHaveLength(28);
      const versions = waiting.map(({ version }) => version);
      await bench.simulate(1200);
      expect((await rowsIn(bench, "WAITING")).map(({ version }) => version)).toEqual(versions);
      const { accounts } = (await documentOf(bench, "dispatcher", "dispatcher"))?.value ?? {};
      expect(accounts?.[account]?.why).toBe("calls_per_day");
      await sendEach(bench, ...callsNow(bench, 1));
      await bench.simulate(60);
      expect(bench.dialed).toHaveLength(2);
    },
  );

  it("of a call that meets the limit under its claim, writes the reason", async () => {
    const bench = create(1);
    await sendEach(bench, ...callsNow(bench, 3));
    await bench.deliver();
    expect(bench.dialed).toHaveLength(1);
    const reasons = (await rowsIn(bench, "WAITING")).map(({ reason }) => reason);
    expect(reasons).toEqual(["calls_per_day", "calls_per_day"]);
    expect(await counted(bench)).toBe(1);
  });

  it("lets waiting calls go at once where the plan allows more", async () => {
    const bench = create(2);
    await sendEach(bench, ...callsNow(bench, 5));
    await bench.simulate(600);
    bench.changePlan(plan(4));
    await bench.simulate(600);
    expect(bench.dialed).toHaveLength(4);
  });

  it("does not count calls that surely were not placed", inSlowTier, async () => {
    const bench = create(3);
    const outcomes: DialOutcome[] = [
      { kind: "not_placed", code: "busy", isFull: true },
      { kind: "rejected", code: "http_400" },
      unknown,
    ];
    bench.answer = async () => outcomes.shift() ?? { kind: "placed" };
    await sendEach(bench, ...callsNow(bench, 3));
    await bench.deliver();
    expect(await counted(bench)).toBe(1);
    await bench.simulate(3600);
    expect(await counted(bench)).toBe(2);
  });

  it("dials nobody while the day cannot be counted, and counts no call twice then", async () => {
    const bench = create(3);
    bench.breakDocuments({ add: boom });
    await sendEach(bench, ...callsNow(bench, 2));
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    bench.repairLedger();
    await bench.simulate(600);
    expect(idsDialed(bench)).toHaveLength(2);
    expect(await counted(bench)).toBe(2);
  });

  it(
    "counts just the calls that may have been placed, for any answers and processes",
    inSlowTier,
    async () => {
      const outcome = fc.constantFrom<DialOutcome>(
        { kind: "placed" },
        { kind: "placed" },
        { kind: "rejected", code: "http_400" },
        { kind: "not_placed", code: "refused" },
        unknown,
      );
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 6 }),
          fc.array(outcome, { minLength: 1, maxLength: 14 }),
          fc.integer({ min: 1, max: 4 }),
          async (limit, outcomes, consumers) => {
            const bench = create(limit, { concurrency: 4, consumers });
            const left = [...outcomes];
            const placed = new Map<string, number>();
            bench.answer = async (call) => {
              await bench.sleep(700);
              const answer = left.shift() ?? { kind: "placed" };
              if (answer.kind === "placed" || answer.kind === "unknown") {
                const day = dayOf(bench.dialed.find((one) => one.call.id === call.id)?.at ?? 0);
                placed.set(day, (placed.get(day) ?? 0) + 1);
              }
              return answer;
            };
            await sendEach(bench, ...callsNow(bench, outcomes.length));
            const processes = Array.from({ length: consumers }, () => ({
              memory: createDialerMemory(),
            }));
            await bench.simulate(3 * 3600, { consumers, processes });
            for (const count of placed.values()) expect(count).toBeLessThanOrEqual(limit);
            expect(await counted(bench)).toBe(placed.get(dayOf(bench.now())) ?? 0);
          },
        ),
        { numRuns: perTier({ quick: 2, long: 6 }) },
      );
    },
  );
});

const forbidden = { kind: "forbidden", code: "http_403" } as const;
const refused = { kind: "not_placed", code: "http_503" } as const;

describe("the day of an account, of a call that rang although its answer said otherwise,", () => {
  /** Dials a call to which its provider gives this answer, and returns its row. */
  const answered = async (bench: Bench, answer: DialOutcome): Promise<CallRow> => {
    bench.answer = async () => answer;
    const call = aCallNow(bench);
    await sendEach(bench, call);
    await bench.deliver();
    return rowOf(bench, call);
  };
  /** Sends a callback of a call's request. */
  const report = async (bench: Bench, { id, released, claims }: CallRow, isSigned: boolean) => {
    const call = { id, claim: [...(released ?? []), ...claims][0] ?? "" };
    await bench.eventsQueue.send({
      kind: "callback",
      account: isSigned ? "webhook" : "twilio",
      call,
      ...(isSigned ? { signed: { body: "{}", headers: {}, receivedAt: 1 } } : {}),
    });
  };
  /** Holds the writes of rows until there are so many. */
  const holdWrites = (bench: Bench, count: number) => {
    const { write } = bench.deps.ledger;
    const all = Promise.withResolvers<void>();
    let writes = 0;
    bench.breakLedger({
      async write(changes) {
        writes += 1;
        if (writes === count) all.resolve();
        await all.promise;
        return write(changes);
      },
    });
  };
  const createSigned = () => {
    const bench = create(9, { plan: { ...plan(9), results: { waitMinutes: 30 } } });
    bench.told = async () => ({ kind: "reported", result: completed });
    return bench;
  };
  const createHinted = () => {
    const bench = createBench({}, { providers: { twilio: { callsPerDay: 9 } } }, { startAt });
    bench.find = async () => ({ by: "id", providerCallId: "CA_found" });
    return bench;
  };
  const kinds = [
    ["signed callbacks", true, createSigned, account],
    ["look-ups", false, createHinted, accountNameOf(twilio)],
  ] as const;
  const answers = [forbidden, refused];
  const cases = kinds.flatMap(([kind, ...how]) =>
    answers.map((answer) => [`${kind} after ${answer.code}`, ...how, answer] as const),
  );

  it.each(cases)("counts it once for two %s at the same moment", async (...one) => {
    const [, isSigned, createOne, name, answer] = one;
    const bench = createOne();
    const row = await answered(bench, answer);
    expect(await counted(bench, name)).toBe(0);
    holdWrites(bench, 2);
    for (let times = 0; times < 2; times++) await report(bench, row, isSigned);
    await bench.simulateEvents(10, { consumers: 2, batchSize: 1 });
    expect(await stateOf(bench, row)).toBe("PLACED");
    expect(await counted(bench, name)).toBe(1);
  });

  it.each(cases)("counts it once for %s while its row cannot be written", async (...one) => {
    const [, isSigned, createOne, name, answer] = one;
    const bench = createOne();
    const row = await answered(bench, answer);
    bench.breakLedger({ write: boom });
    for (let times = 0; times < 2; times++) {
      await report(bench, row, isSigned);
      await bench.simulateEvents(60);
    }
    expect(await counted(bench, name)).toBe(1);
    bench.repairLedger();
    await report(bench, row, isSigned);
    await bench.simulateEvents(60);
    await bench.deliver();
    expect(await stateOf(bench, row)).toBe("PLACED");
    expect(await counted(bench, name)).toBe(1);
  });

  it("does not count it if the row has moved on", async () => {
    const bench = createHinted();
    const row = await answered(bench, refused);
    bench.breakLedger({ write: async (changes) => changes.map(() => false) });
    for (let times = 0; times < 2; times++) {
      await report(bench, row, false);
      await bench.simulateEvents(5);
      expect(await counted(bench, accountNameOf(twilio))).toBe(0);
    }
  });
});
