import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Call } from "../../shared/call.ts";
import type { DialOutcome, FoundCall } from "../../shared/providers/dialing-provider.ts";
import { aCall } from "../support/calls.ts";
import { createDialerBench } from "../support/dialer.ts";

const messageOf = (call: Call) => ({ kind: "call", call }) as const;
const unknown: DialOutcome = { kind: "unknown", code: "http_500" };
const byId = (providerCallId: string): FoundCall => ({ by: "id", providerCallId });
const byNumber = (...providerCallIds: string[]): FoundCall => ({ by: "number", providerCallIds });

const agents = {
  vapi: { provider: "vapi", agent: "asst_9", from: "phone_1" },
  twilio: { provider: "twilio", from: "+12025550100", stream: "wss://example.com/" },
  telnyx: { provider: "telnyx", connection: "149", from: "+12025550100" },
};
/** Fast enough that no call waits for another. */
const fast = { callsPerSecond: 1000, burst: 1000 };
const providers = { vapi: fast, twilio: fast, telnyx: fast };
const callTo = (agent_id: keyof typeof agents, more: Partial<Call> = {}) =>
  aCall({ request: { phone_number: "+12025550123", agent_id }, ...more });

/** A dialer whose providers answer so that a call may have been placed. */
function createBench(plan: object = {}) {
  const bench = createDialerBench({ plan: { agents, providers, ...plan } });
  bench.answer = async () => unknown;
  /** When the provider was asked for which call, in seconds after the start. */
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
    const { bench, asked, answering, startedAt } = createBench();
    const call = callTo("vapi");
    answering(() => byId("019a"));
    await bench.send(messageOf(call));
    await bench.run(59);
    expect(asked).toEqual([]);
    await bench.run(5);
    expect(asked.map(({ id }) => id)).toEqual([call.id]);
    expect(await bench.row(call.id)).toMatchObject({
      state: "PLACED",
      reason: "found",
      providerCallId: "019a",
      call: null,
    });
    expect(bench.eventsOf("call.dialed")).toMatchObject([{ reason: "found", provider: "vapi" }]);
    await bench.run(600);
    expect(asked).toHaveLength(1);
    expect(bench.dialed).toHaveLength(1);
    expect(bench.dialed[0]?.at).toBe(startedAt);
  });

  it("is asked for again by every sweep, and parked once its time is over", async () => {
    const { bench, asked } = createBench();
    const call = callTo("vapi");
    await bench.send(messageOf(call));
    await bench.run(299);
    expect((await bench.row(call.id))?.state).toBe("UNKNOWN");
    await bench.run(70);
    expect(await bench.row(call.id)).toMatchObject({ state: "PARKED", call });
    const last = asked.at(-1)?.after ?? 0;
    expect(last).toBeGreaterThanOrEqual(300); // asked once more before a person is
    expect(asked.length).toBeGreaterThanOrEqual(4);
    expect(asked.length).toBeLessThanOrEqual(10);
    expect(bench.dialed).toHaveLength(1);
  });

  it("is looked for once where it is to be parked sooner", async () => {
    const { bench, asked } = createBench({ parkAfterSeconds: 20 });
    const call = callTo("vapi");
    await bench.send(messageOf(call));
    await bench.run(30);
    expect(await bench.row(call.id)).toMatchObject({ state: "PARKED" });
    expect(asked).toHaveLength(1);
  });

  it("is found by a later look-up, where the provider could not be asked", async () => {
    const { bench, answering } = createBench();
    const calls = Array.from({ length: 40 }, () => callTo("vapi"));
    let failures = 0;
    answering((_id, after) => {
      if (after > 100) return byId("019a");
      failures++;
      throw new Error("with +12025550123 in its message");
    });
    await bench.send(...calls.map(messageOf));
    await bench.run(90);
    // One after the other in each of five lanes: who fails is not asked for the rest of the delivery.
    expect(failures).toBeLessThan(calls.length);
    await bench.run(90);
    for (const { id } of calls) expect((await bench.row(id))?.state).toBe("PLACED");
    expect(bench.dialed).toHaveLength(calls.length);
    expect(bench.eventsOf("look_up.failed").length).toBeGreaterThan(0);
    expect(JSON.stringify(bench.events)).not.toContain("2025550123");
  });

  it("is looked for, though what is answered of another cannot be read", async () => {
    const { bench, answering } = createBench();
    const calls = Array.from({ length: 40 }, () => callTo("vapi"));
    const unreadable = new Set(calls.slice(0, 20).map(({ id }) => id));
    answering((id) => {
      if (unreadable.has(id)) z.string().parse(1);
      return byId(`provider_${id}`);
    });
    await bench.send(...calls.map(messageOf));
    await bench.run(370);
    for (const { id } of calls) {
      expect((await bench.row(id))?.state).toBe(unreadable.has(id) ? "PARKED" : "PLACED");
    }
  });

  it("is not parked once it was found, though the ledger failed to take that", async () => {
    const { bench, answering } = createBench({ parkAfterSeconds: 90 });
    const call = callTo("vapi");
    answering((_id, after) => (after < 85 ? undefined : byId("019a")));
    let failures = 0;
    bench.breakLedger({
      async settle(settlements) {
        const places = settlements.some(({ state }) => state === "PLACED");
        if (places && failures++ < 2) throw new Error("throttled");
        return bench.rows.settle(settlements);
      },
    });
    await bench.send(messageOf(call));
    await bench.run(400);
    expect(failures).toBeGreaterThanOrEqual(2);
    expect(await bench.row(call.id)).toMatchObject({ state: "PLACED", providerCallId: "019a" });
  });

  it("is asked for under the attempt whose outcome is unknown, whoever made it", async () => {
    const { bench } = createBench();
    const [slow, call] = [callTo("vapi"), callTo("vapi")];
    const attempts: number[] = [];
    bench.find = async ({ call: { id }, attempt }) => {
      if (id === call.id) attempts.push(attempt);
      return undefined;
    };
    const dialed: number[] = [];
    bench.answer = async ({ id }, _route, attempt) => {
      if (id === slow.id) await bench.sleep(8000);
      else dialed.push(attempt);
      return id === call.id && dialed.length === 1
        ? { kind: "not_placed", code: "http_429" }
        : unknown;
    };
    bench.deps.lanes = 1;
    // One delivery stands behind a slow call, while another tries this one and is told to wait.
    await bench.send(messageOf(slow), messageOf(call));
    const first = bench.deliver();
    await new Promise((next) => setImmediate(next));
    await bench.send(messageOf(call));
    await Promise.all([first, bench.deliver()]);
    await bench.run(120);
    expect(dialed).toEqual([1, 2]);
    expect(new Set(attempts)).toEqual(new Set([2]));
  });

  it("is parked where it could never be asked", async () => {
    const { bench, answering } = createBench();
    const call = callTo("twilio");
    answering(() => {
      throw new Error("down");
    });
    await bench.send(messageOf(call));
    await bench.run(370);
    expect(await bench.row(call.id)).toMatchObject({ state: "PARKED", call });
    // Its story does not say that the provider had nothing: that was never heard.
    const reasons = (await bench.row(call.id))?.history.map(({ reason }) => reason);
    expect(reasons).toEqual(["claimed", "http_500", "outcome_unknown"]);
  });

  it("is looked for where its dialer has died, and never dialed again", async () => {
    const { bench, asked, answering } = createBench();
    const call = callTo("vapi");
    answering(() => byId("019a"));
    bench.breakLedger({ settle: () => new Promise(() => undefined) });
    const { queue } = bench.deps;
    bench.deps.queue = { ...queue, send: () => Promise.reject(new Error("died")) };
    await bench.send(messageOf(call));
    void bench.deliver();
    await new Promise((next) => setTimeout(next, 20));
    expect((await bench.row(call.id))?.state).toBe("DIALING");
    bench.mendLedger();
    bench.deps.queue = queue;
    await bench.run(180);
    expect(asked.map(({ id }) => id)).toEqual([call.id]);
    expect((await bench.row(call.id))?.state).toBe("PLACED");
    expect(bench.dialed).toHaveLength(1);
  });
});

describe("a call that is looked for by its number", () => {
  const found = async (
    find: (id: string) => FoundCall,
    before: (bench: ReturnType<typeof createDialerBench>) => Promise<void> = async () => undefined,
  ) => {
    const { bench, answering } = createBench();
    const call = callTo("twilio");
    answering(find);
    await before(bench);
    await bench.send(messageOf(call));
    await bench.run(370);
    return { bench, row: await bench.row(call.id) };
  };
  /** Another call to the same number. */
  const other = async (bench: ReturnType<typeof createDialerBench>, outcome: DialOutcome) => {
    bench.answer = async () => outcome;
    await bench.send(messageOf(callTo("twilio")));
    await bench.deliver();
    bench.answer = async () => unknown;
  };

  it("is the only candidate there is", async () => {
    const { row } = await found(() => byNumber("CA1"));
    expect(row).toMatchObject({ state: "PLACED", providerCallId: "CA1" });
  });

  it.each([
    ["none", byNumber()],
    ["two", byNumber("CA1", "CA2")],
  ])("is not known with %s, and parked", async (_, answer) => {
    const { row } = await found(() => answer);
    expect(row).toMatchObject({ state: "PARKED" });
  });

  it("is not the candidate that another row has been placed as", async () => {
    const placed: DialOutcome = { kind: "placed", providerCallId: "CA1" };
    const one = await found(
      () => byNumber("CA1"),
      (bench) => other(bench, placed),
    );
    expect(one.row?.state).toBe("PARKED");
    const two = await found(
      () => byNumber("CA1", "CA2"),
      (bench) => other(bench, placed),
    );
    expect(two.row).toMatchObject({ state: "PLACED", providerCallId: "CA2" });
  });

  it("is not known beside a call that another provider may have placed through the carrier", async () => {
    const { row } = await found(
      () => byNumber("CA_of_Vapi"),
      async (bench) => {
        bench.answer = async () => ({ kind: "placed", providerCallId: "019b" });
        await bench.send(messageOf(callTo("vapi")));
        await bench.deliver();
        bench.answer = async () => unknown;
      },
    );
    expect(row?.state).toBe("PARKED");
  });

  it("is not known before its time is over, when the ledger's index may lack another's row", async () => {
    const { bench, asked, answering } = createBench({ parkAfterSeconds: 20 });
    const call = callTo("twilio");
    answering(() => byNumber("CA1"));
    await bench.send(messageOf(call));
    await bench.run(60);
    expect(asked.length).toBeGreaterThan(0);
    expect((await bench.row(call.id))?.state).toBe("PARKED");
  });

  it("is not known where another unknown call to the number overlaps it", async () => {
    const { bench, row } = await found(
      () => byNumber("CA1"),
      (before) => other(before, unknown),
    );
    expect(row?.state).toBe("PARKED");
    expect(await bench.rows.list({ state: "PLACED", limit: 9 })).toEqual([]);
  });

  it("is not known where a parked one does, whatever that was parked for", async () => {
    const { row } = await found(
      () => byNumber("CA1"),
      (before) => other(before, { kind: "forbidden", code: "http_403" }),
    );
    expect(row?.state).toBe("PARKED");
  });

  it("is known beside one that was surely not placed, and one of another time", async () => {
    const { row } = await found(
      () => byNumber("CA1"),
      async (bench) => {
        await other(bench, { kind: "rejected", code: "http_400" });
        await other(bench, { kind: "forbidden", code: "http_403" });
        bench.advance(660_000);
      },
    );
    expect(row).toMatchObject({ state: "PLACED", providerCallId: "CA1" });
  });

  it("is not known beside one of minutes before, whose provider may have been late", async () => {
    const { row } = await found(
      () => byNumber("CA1"),
      async (bench) => {
        await other(bench, { kind: "forbidden", code: "http_403" });
        bench.advance(120_000);
      },
    );
    expect(row?.state).toBe("PARKED");
  });

  it("is not known by its number once HASH_KEY is another", async () => {
    const { bench, answering } = createBench();
    const call = callTo("twilio");
    answering(() => byNumber("CA1"));
    await bench.send(messageOf(call));
    await bench.deliver();
    const { settings } = bench.deps;
    if (!("value" in settings)) throw new Error("the settings are right");
    bench.deps.settings = { value: { ...settings.value, hashKey: "6e".repeat(32) } };
    await bench.run(370);
    expect((await bench.row(call.id))?.state).toBe("PARKED");
  });

  it("never has an id that has been bound to another call", async () => {
    const { row } = await found(
      () => byNumber("CA1"),
      async (bench) => {
        const bound = { fingerprint: "call_other", seed: "" };
        await bench.rows.bindKey("provider call twilio CA1", bound, bench.now(), 1e12);
      },
    );
    expect(row?.state).toBe("PARKED");
  });

  it("is not known among a hundred calls to one number", async () => {
    const { row } = await found(
      () => byNumber("CA1"),
      async (bench) => {
        bench.answer = async () => ({ kind: "placed" });
        const calls = Array.from({ length: 100 }, (_, n) => callTo("twilio", { acceptedAt: n }));
        await bench.send(...calls.map(messageOf));
        await bench.deliver();
        bench.answer = async () => unknown;
        bench.advance(900_000);
      },
    );
    expect(row?.state).toBe("PARKED");
  });
});

describe("a call of unknown outcome at Telnyx, which remembers a command for a minute", () => {
  it("is sent once more under the same id, and placed where that succeeds", async () => {
    const { bench } = createBench();
    bench.answer = async () => (bench.dialed.length < 2 ? unknown : { kind: "placed" });
    const call = callTo("telnyx");
    await bench.send(messageOf(call));
    await bench.run(30);
    expect(bench.dialed.map((one) => one.call.id)).toEqual([call.id, call.id]);
    expect(await bench.row(call.id)).toMatchObject({ state: "PLACED", attempt: 2 });
  });

  it.each<DialOutcome>([
    unknown,
    { kind: "rejected", code: "telnyx_10015" },
    { kind: "not_placed", code: "http_429" },
    { kind: "account_refused", code: "http_401" },
  ])("is not sent a third time after %j, and parked", async (second) => {
    const { bench } = createBench();
    bench.answer = async () => (bench.dialed.length < 2 ? unknown : second);
    const call = callTo("telnyx");
    await bench.send(messageOf(call));
    await bench.run(400);
    expect(bench.dialed).toHaveLength(2);
    expect(await bench.row(call.id)).toMatchObject({ state: "PARKED", call });
  });

  it("is never sent again more than 45 s after its claim, however late messages and answers are", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 70_000 }), { minLength: 1, maxLength: 20 }),
        fc.integer({ min: 0, max: 60_000 }),
        fc.integer({ min: 0, max: 20_000 }),
        async (lateness, answerMs, ledgerMs) => {
          const { bench } = createBench({ providers: { telnyx: { ...fast, timeoutSeconds: 60 } } });
          bench.answer = async () => {
            await bench.sleep(answerMs);
            return unknown;
          };
          bench.breakLedger({
            async claim(claims) {
              if (bench.dialed.length > 0) await bench.sleep(ledgerMs);
              return bench.rows.claim(claims);
            },
          });
          let next = 0;
          const lateMs = () => lateness[next++ % lateness.length] ?? 0;
          const call = callTo("telnyx");
          await bench.send(messageOf(call));
          await bench.simulate(900, { lateMs });
          const [first, second, ...more] = bench.dialed;
          expect(more).toEqual([]);
          if (second !== undefined) {
            expect(second.at - (first?.at ?? 0)).toBeLessThanOrEqual(45_000);
          }
          expect((await bench.row(call.id))?.state).toBe("PARKED");
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("what a repeated request is answered", () => {
  it("holds no route, as it may be about the first one", async () => {
    const { bench } = createBench();
    const repeated = new Set<string>();
    bench.answer = async ({ id }) => {
      if (repeated.has(id)) return { kind: "rejected", code: "telnyx_10015" };
      repeated.add(id);
      return unknown;
    };
    await bench.send(...Array.from({ length: 8 }, () => messageOf(callTo("telnyx"))));
    await bench.run(60);
    expect(bench.dialed).toHaveLength(16);
    expect(bench.eventsOf("route.held")).toEqual([]);
  });

  it("is waited for no longer than the provider remembers the first", async () => {
    const { bench } = createBench({ providers: { telnyx: { ...fast, timeoutSeconds: 60 } } });
    const limits: number[] = [];
    bench.answer = async (_call, _route, _attempt, timeoutSeconds) => {
      limits.push(timeoutSeconds);
      await bench.sleep(30_000);
      return unknown;
    };
    await bench.send(messageOf(callTo("telnyx")));
    await bench.simulate(120);
    expect(limits).toHaveLength(2);
    expect(limits[0]).toBe(60);
    expect(limits[1]).toBeLessThanOrEqual(25);
    expect(limits[1]).toBeGreaterThan(15);
  });
});

describe("calls of unknown outcome in any number", () => {
  it("are sent once each, and end placed where they could be known and parked where not", async () => {
    const fate = fc.record({
      agent: fc.constantFrom("vapi" as const, "twilio" as const),
      number: fc.integer({ min: 0, max: 3 }),
      placed: fc.boolean(),
      recordedAfterSeconds: fc.integer({ min: 0, max: 600 }),
      sentAfterSeconds: fc.integer({ min: 0, max: 200 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fate, { minLength: 1, maxLength: 12 }),
        fc.array(fc.integer({ min: 0, max: 20_000 }), { minLength: 1, maxLength: 20 }),
        async (fates, lateness) => {
          const { bench } = createBench();
          const calls = fates.map((one, n) => ({
            ...one,
            call: aCall({
              acceptedAt: 1_000_000 + n,
              request: { phone_number: `+1202555012${one.number}`, agent_id: one.agent },
            }),
          }));
          const fateOf = (id: string) => calls.find(({ call }) => call.id === id);
          /** What each provider has recorded. */
          const records: { id: string; at: number; agent: string; number: string }[] = [];
          bench.answer = async ({ id, request: { phone_number: number, agent_id: agent } }) => {
            if (fateOf(id)?.placed) records.push({ id, at: bench.now(), agent, number });
            await bench.sleep(500);
            return unknown;
          };
          bench.find = async ({ call, from, until }) => {
            const listed = records.filter(({ id, at }) => {
              const seconds = fateOf(id)?.recordedAfterSeconds ?? 0;
              return bench.now() >= at + seconds * 1000;
            });
            if (call.request.agent_id === "vapi") {
              const mine = listed.find(({ id, agent }) => id === call.id && agent === "vapi");
              return mine && byId(`provider_${mine.id}`);
            }
            const candidates = listed.filter(
              ({ at, agent, number }) =>
                agent === "twilio" &&
                number === call.request.phone_number &&
                at >= from &&
                at <= until,
            );
            return byNumber(...candidates.map(({ id }) => `provider_${id}`));
          };
          let next = 0;
          const lateMs = () => lateness[next++ % lateness.length] ?? 0;
          let second = 0;
          for (const one of calls.toSorted((a, b) => a.sentAfterSeconds - b.sentAfterSeconds)) {
            await bench.simulate(one.sentAfterSeconds - second, { lateMs });
            second = one.sentAfterSeconds;
            await bench.send(messageOf(one.call));
          }
          await bench.simulate(900, { lateMs });
          expect(bench.dialed).toHaveLength(calls.length);
          expect(new Set(bench.dialed.map(({ call }) => call.id)).size).toBe(calls.length);
          for (const { call, placed, recordedAfterSeconds, agent } of calls) {
            const row = await bench.row(call.id);
            expect(["PLACED", "PARKED"]).toContain(row?.state);
            // What is said to be placed is, and as this very call.
            if (row?.state === "PLACED") {
              expect(placed).toBe(true);
              expect(row.providerCallId).toBe(`provider_${call.id}`);
            } else expect(row?.call).toEqual(call);
            if (agent === "vapi" && placed && recordedAfterSeconds < 250) {
              expect(row?.state).toBe("PLACED");
            }
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("a refusal of what the route brings", () => {
  it("holds the route at once, and no other of its account", async () => {
    const { bench } = createBench({
      agents: { ...agents, other: { ...agents.twilio, from: "+12025550101" } },
    });
    let repaired = false;
    bench.answer = async ({ request }) =>
      request.agent_id === "twilio" && !repaired
        ? { kind: "route_refused", code: "twilio_21210" }
        : { kind: "placed" };
    const refused = Array.from({ length: 5 }, () => callTo("twilio"));
    const others = Array.from({ length: 5 }, () =>
      aCall({ request: { phone_number: "+12025550124", agent_id: "other" } }),
    );
    const [first, ...rest] = refused;
    if (first === undefined) throw new Error("no call was made");
    await bench.send(messageOf(first));
    await bench.deliver();
    expect(await bench.row(first.id)).toMatchObject({ state: "DEFERRED", reason: "route_held" });
    await bench.send(...rest.map(messageOf), ...others.map(messageOf));
    await bench.deliver();
    expect(bench.dialed).toHaveLength(6);
    expect(bench.eventsOf("route.held")).toMatchObject([{ code: "twilio_21210", level: "alarm" }]);
    await bench.run(200);
    const probes = bench.dialed.length - 6;
    expect(probes).toBeGreaterThanOrEqual(2);
    expect(probes).toBeLessThanOrEqual(4);
    repaired = true;
    await bench.run(1200);
    for (const { id } of [...refused, ...others]) {
      expect((await bench.row(id))?.state).toBe("PLACED");
    }
    expect(bench.eventsOf("hold.released")).toHaveLength(1);
  });
});

describe("a call whose agent has been given another route", () => {
  it("is rejected with its payload where that cannot carry its context", async () => {
    const { bench } = createBench();
    const request = { phone_number: "+12025550123", agent_id: "twilio" };
    const call = aCall({ request: { ...request, context: { name: "x".repeat(600) } } });
    await bench.send(messageOf(call));
    await bench.deliver();
    expect(await bench.row(call.id)).toMatchObject({
      state: "REJECTED",
      reason: "context_not_carried",
      call,
    });
    expect(bench.dialed).toEqual([]);
  });
});
