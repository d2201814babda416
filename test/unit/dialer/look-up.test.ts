import { withHashKeys } from "#shared/settings/settings.ts";
import { describe, expect, it } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import * as z from "#shared/lib/zod.ts";
import type { DialOutcome, FoundCall } from "#shared/providers/provider.ts";
import { aCall } from "#test/support/calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  type Bench,
  documentOf,
  putDocument,
  rowOf,
  rowsIn,
  sendEach,
  stateOf,
  dispatchOf,
} from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const unknown: DialOutcome = { kind: "unknown", code: "http_500" };
const byId = (providerCallId: string): FoundCall => ({ by: "id", providerCallId });
const byNumber = (...providerCallIds: string[]): FoundCall => ({ by: "number", providerCallIds });

const agents = {
  vapi: { provider: "vapi", agent: "asst_9", from: "phone_1" },
  twilio: { provider: "twilio", from: "+12025550100", stream: "wss://example.com/" },
};
/** Fast enough that no call waits for another. */
const fast = { callsPerSecond: 1000, burst: 1000 };
const providers = { vapi: fast, twilio: fast };
const callTo = (agent_id: keyof typeof agents, more: Partial<Call> = {}) =>
  aCall({ request: { phone_number: "+12025550123", agent_id }, ...more });

/** Creates a dialer whose providers answer so that a call may have been placed. */
function createBench(plan: object = {}) {
  const bench = createDialerBench({ plan: { agents, providers, ...plan } });
  bench.answer = async () => unknown;
  /** Look-ups by call, in seconds after the start. */
  const asked: { id: string; after: number }[] = [];
  const startedAt = bench.now();
  const answering = (find: (id: string, after: number) => FoundCall | undefined) => {
    bench.find = async ({ call: { id } }) => {
      const after = (bench.now() - startedAt) / 1000;
      asked.push({ id, after });
      return find(id, after);
    };
  };
  answering(() => undefined);
  return { bench, asked, answering, startedAt };
}

describe("a call of unknown outcome, at a provider that can be asked", () => {
  it("is looked for after a minute, and placed where it is found", async () => {
    const { bench, asked, answering } = createBench();
    const call = callTo("vapi");
    answering(() => byId("019a"));
    await sendEach(bench, call);
    await bench.simulate(59);
    expect(asked).toEqual([]);
    await bench.simulate(66); // by the next sweep
    expect(asked.map(({ id }) => id)).toEqual([call.id]);
    expect(await rowOf(bench, call)).toMatchObject({
      state: "PLACED",
      reason: "found",
      providerCallId: "019a",
      request: null,
    });
    expect(bench.eventsOf("call.placed")).toMatchObject([{ reason: "found", account: "vapi" }]);
    await bench.run(600);
    expect(asked).toHaveLength(1);
    expect(bench.dialed).toHaveLength(1);
  });

  it(
    "is asked for again after 1, 2, 4 … minutes, and goes to a person once its time is over",
    inSlowTier,
    async () => {
      const { bench, asked } = createBench({ reviewAfterSeconds: 3600 });
      const call = callTo("vapi");
      await sendEach(bench, call);
      await bench.simulate(3590);
      expect(await stateOf(bench, call)).toBe("UNKNOWN");
      await bench.simulate(130);
      expect(await rowOf(bench, call)).toMatchObject({
        state: "NEEDS_REVIEW",
        reason: "outcome_unknown",
        request: call.request,
      });
      const waits = asked.slice(1).map(({ after }, n) => (after - (asked[n]?.after ?? 0)) / 60);
      // The last one comes just before the review.
      expect(waits.slice(0, 4).map(Math.round)).toEqual([1, 2, 4, 8]);
      expect(asked.at(-1)?.after).toBeGreaterThanOrEqual(3600);
      expect(asked.length).toBeLessThanOrEqual(8);
      expect(bench.dialed).toHaveLength(1);
    },
  );

  it("is looked up once if the review comes before the second look-up", async () => {
    const { bench, asked } = createBench({ reviewAfterSeconds: 20 });
    const call = callTo("vapi");
    await sendEach(bench, call);
    await bench.simulate(130);
    expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
    expect(asked).toHaveLength(1);
  });

  it("is found by a later look-up, where the provider could not be asked", inSlowTier, async () => {
    const { bench, answering } = createBench();
    bench.deps.concurrency = 1;
    const calls = Array.from({ length: 4 }, () => callTo("vapi")); // with more, the breaker would open
    let failures = 0;
    answering((id, after) => {
      if (after > 100) return byId(`provider_${id}`);
      failures++;
      throw new Error("with +12025550123 in its message");
    });
    await sendEach(bench, ...calls);
    await bench.run(90);
    // Look-ups run one after the other: a provider that fails is not asked again in this delivery.
    expect(failures).toBeGreaterThan(0);
    expect(failures).toBeLessThan(calls.length);
    await bench.run(90);
    for (const call of calls) expect(await stateOf(bench, call)).toBe("PLACED");
    expect(bench.dialed).toHaveLength(calls.length);
    expect(bench.eventsOf("look_up.failed").length).toBeGreaterThan(0);
    expect(JSON.stringify(bench.events)).not.toContain("2025550123");
  });

  it("is looked up, though the answer about another call cannot be read", async () => {
    const { bench, answering } = createBench();
    const calls = Array.from({ length: 4 }, () => callTo("vapi")); // with more, the breaker would open
    const unreadable = new Set(calls.slice(0, 2).map(({ id }) => id));
    answering((id) => {
      if (unreadable.has(id)) z.string().parse(1);
      return byId(`provider_${id}`);
    });
    await sendEach(bench, ...calls);
    await bench.run(430);
    for (const call of calls) {
      const state = unreadable.has(call.id) ? "NEEDS_REVIEW" : "PLACED";
      expect(await stateOf(bench, call)).toBe(state);
    }
  });

  it("does not go to review once it was found, though the ledger failed to store that", async () => {
    const { bench, answering } = createBench({ reviewAfterSeconds: 90 });
    const call = callTo("vapi");
    answering((_id, after) => (after < 85 ? undefined : byId("019a")));
    let failures = 0;
    bench.breakLedger({
      async write(changes) {
        const slots = changes.some(({ next }) => next.state === "PLACED");
        if (slots && failures++ < 4) throw new Error("throttled");
        return bench.rows.write(changes);
      },
    });
    await sendEach(bench, call);
    await bench.run(400);
    expect(failures).toBeGreaterThanOrEqual(4);
    expect(await rowOf(bench, call)).toMatchObject({ state: "PLACED", providerCallId: "019a" });
  });

  it("is asked for under the attempt whose outcome is unknown", inSlowTier, async () => {
    const { bench } = createBench();
    const call = callTo("vapi");
    const attempts: number[] = [];
    bench.find = async ({ attempt }) => {
      attempts.push(attempt);
      return undefined;
    };
    bench.answer = async () =>
      bench.dialed.length === 1 ? { kind: "not_placed", code: "http_429" } : unknown;
    await sendEach(bench, call);
    await bench.run(200);
    expect(bench.dialed).toHaveLength(2);
    expect(new Set(attempts)).toEqual(new Set([2]));
  });

  it("goes to review if it could never be looked up, and its history does not say not_found", async () => {
    const { bench, answering } = createBench();
    const call = callTo("twilio");
    answering(() => {
      throw new Error("down");
    });
    await sendEach(bench, call);
    await bench.run(370);
    const row = await rowOf(bench, call);
    expect(row).toMatchObject({ state: "NEEDS_REVIEW", request: call.request });
    expect(row.history.map(({ reason }) => reason)).toEqual([
      "claimed",
      "http_500",
      "outcome_unknown",
    ]);
  });

  it("is looked for where its dialer has died, and never dialed again", async () => {
    const { bench, asked, answering } = createBench();
    const call = callTo("vapi");
    answering(() => byId("019a"));
    bench.answer = () => new Promise(() => undefined);
    await sendEach(bench, call);
    void bench.deliver();
    await expect.poll(() => bench.dialed.length).toBe(1);
    expect(await stateOf(bench, call)).toBe("DIALING");
    await bench.run(240);
    expect(asked.map(({ id }) => id)).toEqual([call.id]);
    expect(await stateOf(bench, call)).toBe("PLACED");
    expect(bench.dialed).toHaveLength(1);
  });

  it("is not looked up if time is short; a sweep sends it again", async () => {
    const { bench, asked, answering } = createBench();
    const call = callTo("vapi");
    answering(() => byId("019a"));
    await sendEach(bench, call);
    await bench.deliver();
    bench.advance(61_000);
    await bench.send(dispatchOf([call], "vapi"));
    expect(new Set(await bench.deliver(34_999))).toEqual(new Set(["ack"]));
    expect(asked).toEqual([]);
    await bench.run(60);
    expect(await stateOf(bench, call)).toBe("PLACED");
  });
});

describe("a call that is looked for by its number", () => {
  const found = async (
    find: (id: string) => FoundCall,
    before: (bench: Bench) => Promise<void> = async () => undefined,
  ) => {
    const { bench, answering } = createBench();
    const call = callTo("twilio");
    answering(find);
    await before(bench);
    await sendEach(bench, call);
    await bench.run(370);
    return { bench, call, row: await rowOf(bench, call) };
  };
  /** Dials another call to the same number. */
  const other = async (bench: Bench, outcome: DialOutcome) => {
    bench.answer = async () => outcome;
    await sendEach(bench, callTo("twilio"));
    await bench.deliver();
    bench.answer = async () => unknown;
  };

  it("is matched to the only candidate, whose id no other call can take", async () => {
    const { bench, call, row } = await found(() => byNumber("CA1"));
    expect(row).toMatchObject({ state: "PLACED", providerCallId: "CA1" });
    const document = await documentOf(bench, "provider-id", JSON.stringify(["twilio", "CA1"]));
    expect(document?.value).toEqual({ call: call.id });
  });

  it.each([
    ["none", byNumber()],
    ["two", byNumber("CA1", "CA2")],
  ])("is not matched (candidates: %s), and goes to a person", async (_, answer) => {
    const { row } = await found(() => answer);
    expect(row.state).toBe("NEEDS_REVIEW");
  });

  it("is not matched to a candidate that another row was placed as", async () => {
    const placed: DialOutcome = { kind: "placed", providerCallId: "CA1" };
    const one = await found(
      () => byNumber("CA1"),
      (bench) => other(bench, placed),
    );
    expect(one.row.state).toBe("NEEDS_REVIEW");
    const two = await found(
      () => byNumber("CA1", "CA2"),
      (bench) => other(bench, placed),
    );
    expect(two.row).toMatchObject({ state: "PLACED", providerCallId: "CA2" });
  });

  it("is not matched beside a call that another provider may have placed through the carrier", async () => {
    const { row } = await found(
      () => byNumber("CA_of_Vapi"),
      async (bench) => {
        bench.answer = async () => ({ kind: "placed", providerCallId: "019b" });
        await sendEach(bench, callTo("vapi"));
        await bench.deliver();
        bench.answer = async () => unknown;
      },
    );
    expect(row.state).toBe("NEEDS_REVIEW");
  });

  it("is not matched beside a call that only a later version can read", async () => {
    const { row } = await found(
      () => byNumber("CA1"),
      async (bench) => {
        const list = bench.rows.list.bind(bench.rows);
        bench.rows.list = async (query) => ({ ...(await list(query)), unreadable: 1 });
      },
    );
    expect(row.state).toBe("NEEDS_REVIEW");
  });

  it("is not matched before its time is over, as the ledger's index may lack another call's row", async () => {
    const { bench, asked, answering } = createBench({ reviewAfterSeconds: 20 });
    const call = callTo("twilio");
    answering(() => byNumber("CA1"));
    await sendEach(bench, call);
    await bench.deliver();
    bench.advance(25_000);
    await bench.sweep();
    await bench.deliver();
    expect(asked).toHaveLength(1);
    expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
  });

  it.each<[string, DialOutcome]>([
    ["another unknown call to the number", unknown],
    ["one that waits for a person, whatever for,", { kind: "forbidden", code: "http_403" }],
  ])("is not matched if %s overlaps it", async (_, outcome) => {
    const { bench, row } = await found(
      () => byNumber("CA1"),
      (before) => other(before, outcome),
    );
    expect(row.state).toBe("NEEDS_REVIEW");
    expect(await rowsIn(bench, "PLACED")).toEqual([]);
  });

  it(
    "is matched beside a call that was surely not placed, and beside a call of another time",
    inSlowTier,
    async () => {
      const { row } = await found(
        () => byNumber("CA1"),
        async (bench) => {
          await other(bench, { kind: "rejected", code: "http_400" });
          await other(bench, { kind: "forbidden", code: "http_403" });
          bench.advance(660_000);
        },
      );
      expect(row).toMatchObject({ state: "PLACED", providerCallId: "CA1" });
    },
  );

  it(
    "is not matched beside a call of minutes before, whose provider may have been late",
    inSlowTier,
    async () => {
      const { row } = await found(
        () => byNumber("CA1"),
        async (bench) => {
          await other(bench, { kind: "forbidden", code: "http_403" });
          bench.advance(120_000);
        },
      );
      expect(row.state).toBe("NEEDS_REVIEW");
    },
  );

  it("is matched while HASH_KEY is rotated, but not beside a call hashed under the other key", async () => {
    for (const isBeside of [false, true]) {
      const { bench, answering } = createBench();
      const { settings } = bench.deps;
      const former = settings.hashKeys.current;
      const call = callTo("twilio");
      answering(() => byNumber("CA1"));
      await sendEach(bench, call);
      await bench.deliver();
      bench.deps.settings = { ...settings, ...withHashKeys({ current: "6e".repeat(32), former }) };
      if (isBeside) await other(bench, unknown);
      await bench.run(370);
      expect(await rowsIn(bench, "PLACED")).toHaveLength(isBeside ? 0 : 1);
    }
  });

  it("is not matched once HASH_KEY is another", async () => {
    const { bench, answering } = createBench();
    const call = callTo("twilio");
    answering(() => byNumber("CA1"));
    await sendEach(bench, call);
    await bench.deliver();
    bench.deps.settings = { ...bench.deps.settings, ...withHashKeys({ current: "6e".repeat(32) }) };
    await bench.run(370);
    expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
  });

  it("never gets an id that another call has taken, and keeps the id that it took itself", async () => {
    const key = { kind: "provider-id", key: JSON.stringify(["twilio", "CA1"]) } as const;
    const taken = (by: (id: string) => string) => {
      let bench: Bench | undefined;
      return found(
        () => byNumber("CA1"),
        async (made) => {
          bench = made;
          made.find = async ({ call }) => {
            if (bench !== undefined) await putDocument(bench, key, { call: by(call.id) });
            return byNumber("CA1");
          };
        },
      );
    };
    expect((await taken(() => "call_other")).row.state).toBe("NEEDS_REVIEW");
    expect((await taken((id) => id)).row).toMatchObject({ state: "PLACED", providerCallId: "CA1" });
  });

  it("is not matched among a hundred calls to one number", inSlowTier, async () => {
    const { row } = await found(
      () => byNumber("CA1"),
      async (bench) => {
        bench.answer = async () => ({ kind: "placed" });
        const calls = Array.from({ length: 100 }, () => callTo("twilio"));
        await sendEach(bench, ...calls);
        await bench.deliver();
        bench.answer = async () => unknown;
        bench.advance(900_000);
      },
    );
    expect(row.state).toBe("NEEDS_REVIEW");
  });
});
