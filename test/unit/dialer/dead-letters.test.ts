import { handleStoredLetters } from "#test/support/entries.ts";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { handleDeadLetter } from "#functions/dialer/consume/handle-stored-letters.ts";
import { createHandlers } from "#functions/dialer/handlers.ts";
import { createDialerMemory } from "#functions/dialer/runtime/memory.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { restoreKey } from "#shared/policy/ledger-epoch.ts";
import { outcomeOf } from "#test/support/claims.ts";
import { suspendedAt } from "#test/support/document-values.ts";
import { aCall, aRequestId } from "#test/support/calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { setReceivers } from "#test/support/client-receivers-bench.ts";
import {
  aCallNow,
  type Bench,
  boom,
  due,
  message,
  putDocument,
  putIn,
  request,
  rowOf,
  rowsIn,
  sendEach,
  stateOf,
} from "#test/support/dialer-calls.ts";
import { inSlowTier, perTier } from "#test/support/per-tier.ts";

/** Has messages handled that have failed a hundred times. */
const settleDeadLetter = (bench: Bench, messages: readonly unknown[]) =>
  Promise.all(
    messages.map((one, index) => {
      const open = async () => (typeof one === "string" ? one : JSON.stringify(one));
      return handleDeadLetter({ attempt: 1, id: `dead-${index}`, open }, bench.deps);
    }),
  );

describe("a dead letter", () => {
  it("of a call that has no row goes to a person, and dials nobody", async () => {
    const bench = createDialerBench();
    const call = aCallNow(bench);
    expect(await settleDeadLetter(bench, [message(call)])).toEqual(["done"]);
    expect(await rowOf(bench, call)).toMatchObject({
      state: "NEEDS_REVIEW",
      reason: "dead_letter",
      request: call.request,
      claims: [],
    });
    expect(bench.dialed).toEqual([]);
    expect(bench.eventsOf("message.dead_lettered")).toMatchObject([{ level: "alarm" }]);
    expect(bench.eventsOf("call.needs_review")).toMatchObject([
      { level: "alarm", request_id: call.requestId, count: 1 },
    ]);
  });

  it("of a call keeps what its client's own receivers repeat of the context", async () => {
    const bench = createDialerBench();
    await setReceivers(bench, "crm", { main: { types: ["call.needs_review"], echo: ["lead"] } });
    const call = aCallNow(bench, { context: { lead: "L", name: "Ada" } });
    await settleDeadLetter(bench, [message(call)]);
    expect((await rowOf(bench, call)).clientReceiverEcho).toEqual({ lead: "L" });
  });

  it("of a call whose time is over ends EXPIRED, with its payload", async () => {
    const bench = createDialerBench({ plan: { expireAfterHours: 1 } });
    const call = aCall({ acceptedAt: bench.now() - 3_600_000 });
    expect(await settleDeadLetter(bench, [message(call)])).toEqual(["done"]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "EXPIRED", request: call.request });
    expect(bench.eventsOf("call.expired")).toMatchObject([{ level: "alarm", count: 1 }]);
  });

  it("of a call that has a row leaves it as it stands, whatever its state", async () => {
    for (const state of ["WAITING", "DIALING", "UNKNOWN", "PLACED", "CANCELLED"] as const) {
      const bench = createDialerBench();
      const call = aCallNow(bench);
      const row = await putIn(bench, state, call);
      expect(await settleDeadLetter(bench, [message(call)])).toEqual(["done"]);
      expect(await rowOf(bench, call)).toEqual(row);
    }
  });

  it("of a call too old to have kept its row writes nothing", async () => {
    const bench = createDialerBench({ plan: { retentionDays: 40 }, startAt: "2026-06-01T10:00Z" });
    const call = aCall({ acceptedAt: bench.now() - 39 * 86_400_000 - 1 });
    expect(await settleDeadLetter(bench, [message(call)])).toEqual(["done"]);
    expect(bench.stored.size).toBe(0);
    expect(bench.eventsOf("call.too_old")).toMatchObject([{ level: "alarm" }]);
  });

  it("of a large request is recorded call by call, in one event", inSlowTier, async () => {
    const bench = createDialerBench();
    const requestId = aRequestId(bench.now());
    const calls = Array.from({ length: 1200 }, (_, index) =>
      aCallNow(bench, {}, { requestId, id: toCallId(requestId, index) }),
    );
    expect(await settleDeadLetter(bench, [request(calls)])).toEqual(["done"]);
    expect(await rowsIn(bench, "NEEDS_REVIEW")).toHaveLength(1200);
    const counts = bench.eventsOf("call.needs_review").map(({ count }) => count ?? 0);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1200);
    expect(counts.length).toBeLessThanOrEqual(3);
  });

  it("of a call whose row a restore may have lost goes to a person as such, never as not dialed", async () => {
    const bench = createDialerBench({ plan: { expireAfterHours: 1 } });
    const late = aCallNow(bench);
    const over = aCall({ acceptedAt: bench.now() - 3_600_000 });
    const at = bench.now() - 3_600_000;
    const done = { state: "done", at, by: "ops", isWatchDone: true } as const;
    await putDocument(bench, restoreKey, suspendedAt(bench.now(), done));
    bench.advance(120_000);
    const after = aCallNow(bench);
    const letters = [late, over, after].map((call) => message(call));
    expect(await settleDeadLetter(bench, letters)).toEqual(["done", "done", "done"]);
    const lost = { state: "NEEDS_REVIEW", reason: "restored" };
    expect(await rowOf(bench, late)).toMatchObject(lost);
    expect(await rowOf(bench, over)).toMatchObject(lost);
    expect(await rowOf(bench, after)).toMatchObject({ reason: "dead_letter" });
  });

  it("of an outcome is settled", async () => {
    const bench = createDialerBench();
    const call = aCall();
    const row = await putIn(bench, "NEEDS_REVIEW", call);
    expect(await settleDeadLetter(bench, [outcomeOf(call, row.claims[0])])).toEqual(["done"]);
    expect(await stateOf(bench, call)).toBe("PLACED");
    expect(bench.eventsOf("call.settled_late")).toHaveLength(1);
  });

  it("of a hint is dropped: a sweep finds the row", async () => {
    const bench = createDialerBench();
    const call = aCallNow(bench);
    const row = await putIn(bench, "WAITING", call, { dueAt: bench.now() });
    expect(await settleDeadLetter(bench, [due(call)])).toEqual(["done"]);
    expect(await rowOf(bench, call)).toEqual(row);
    expect(bench.kept.size).toBe(0);
    await bench.run(60);
    expect(bench.dialed).toHaveLength(1);
  });

  it("in review stays there: its message delivered again dials nobody", async () => {
    const bench = createDialerBench();
    const call = aCallNow(bench);
    await settleDeadLetter(bench, [message(call)]);
    await sendEach(bench, call);
    await bench.run(300);
    expect(bench.dialed).toEqual([]);
    expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
  });
});

describe("a dead letter that cannot be read or written", () => {
  it.each<[string, (bench: Bench) => unknown, string]>([
    ["is no JSON", () => "no JSON, with +12025550123 in it", "unreadable"],
    ["has a field of a later version", () => ({ ...message(aCall()), later: true }), "unreadable"],
    [
      "finds the ledger down",
      (bench) => {
        bench.breakLedger({ write: boom });
        return message(aCallNow(bench));
      },
      "failed",
    ],
    [
      "is the outcome of a row that cannot be read",
      (bench) => {
        const call = aCall();
        const json = JSON.stringify({ state: "RINGING" });
        bench.stored.set(call.id, { id: call.id, version: "later", json });
        return outcomeOf(call, "claim");
      },
      "failed",
    ],
  ])("is not treated as handled: it %s", async (_, make, handled) => {
    const bench = createDialerBench();
    expect(await settleDeadLetter(bench, [make(bench)])).toEqual([handled]);
    expect(bench.dialed).toEqual([]);
    expect(JSON.stringify(bench.events)).not.toContain("2025550123");
  });
});

describe("a stored dead letter", () => {
  const sweepLetters = (bench: Bench, more: Partial<Bench["deps"]> = {}) =>
    handleStoredLetters({ ...bench.deps, ...more }, bench.now() + 120_000);
  const keep = (bench: Bench, letters: Readonly<Record<string, unknown>>) => {
    for (const [name, body] of Object.entries(letters)) {
      bench.kept.set(name, typeof body === "string" ? body : JSON.stringify(body));
    }
  };

  it("is handled by a sweep, once", async () => {
    const bench = createDialerBench();
    const call = aCallNow(bench);
    const hint = { kind: "poll", account: "webhook", sentAt: 0 };
    keep(bench, { "calls-one": message(call), "events-hint": hint });
    const { settings, ...others } = bench.deps;
    const handlers = createHandlers({ ...others, settings: { value: settings } });
    await handlers.sweep(bench.now() + 900_000);
    expect(await rowOf(bench, call)).toMatchObject({
      state: "NEEDS_REVIEW",
      reason: "dead_letter",
    });
    expect(bench.kept.size).toBe(0);
    expect(bench.dialed).toEqual([]);
  });

  it("of a later version waits, tried once by each process, until a version can read it", async () => {
    const bench = createDialerBench();
    const call = aCallNow(bench);
    const unknown = { ...message(call), later: true };
    keep(bench, { "calls-later": unknown });
    for (let minute = 0; minute < 40; minute++) {
      await sweepLetters(bench);
      bench.advance(60_000);
    }
    expect([...bench.kept.keys()]).toEqual(["calls-later"]);
    expect(bench.eventsOf("message.unreadable")).toHaveLength(1);
    await sweepLetters(bench, { memory: createDialerMemory() });
    expect(bench.eventsOf("message.unreadable")).toHaveLength(2);
    expect(bench.stored.size).toBe(0);
    // The later version is deployed: what its messages are is known to its process.
    keep(bench, { "calls-later": message(call) });
    await sweepLetters(bench, { memory: createDialerMemory() });
    expect(bench.kept.size).toBe(0);
    expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
  });

  it("that an operator has put back is tried again where it comes again", async () => {
    const bench = createDialerBench();
    keep(bench, { "calls-later": "no JSON" });
    await sweepLetters(bench);
    bench.kept.clear();
    await sweepLetters(bench);
    keep(bench, { "calls-later": "no JSON" });
    bench.advance(5 * 60_000);
    await sweepLetters(bench);
    expect(bench.eventsOf("message.unreadable")).toHaveLength(2);
  });

  it("waits behind no others that fail each time", async () => {
    const bench = createDialerBench();
    const call = aCallNow(bench);
    const failing = message(aCallNow(bench));
    keep(
      bench,
      Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`calls-${n + 10}`, failing])),
    );
    keep(bench, { "calls-last": message(call) });
    const { ledger } = bench.deps;
    const write: typeof ledger.write = (changes) =>
      changes.every(({ next }) => next.id === call.id) ? ledger.write(changes) : boom();
    await sweepLetters(bench, { ledger: { ...ledger, write } });
    await sweepLetters(bench, { ledger: { ...ledger, write } });
    expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
    expect(bench.kept.size).toBe(60);
  });

  it("waits behind no more than a page of others", async () => {
    const bench = createDialerBench();
    const call = aCallNow(bench);
    for (let n = 0; n < 1_200; n++) {
      bench.kept.set(`calls-${1_000_000 + n}`, "no JSON");
      bench.deps.memory.letters.waitUntil.set(`calls-${1_000_000 + n}`, Infinity);
    }
    keep(bench, { "calls-last": message(call) });
    await sweepLetters(bench);
    expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
  });

  it("waits behind no more than a list of others", async () => {
    const bench = createDialerBench();
    for (let n = 0; n < 10_000; n++) {
      bench.kept.set(`calls-${1_000_000 + n}`, "no JSON");
      bench.deps.memory.letters.waitUntil.set(`calls-${1_000_000 + n}`, Infinity);
    }
    const call = aCallNow(bench);
    keep(bench, {
      "calls-f": message(call),
      "events-f": { kind: "poll", account: "a", sentAt: 0 },
    });
    let place = 0;
    bench.deps.random.fraction = () => (place++ % 32) / 32;
    for (let minute = 0; minute < 70; minute++) {
      await sweepLetters(bench);
      bench.advance(60_000);
    }
    expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
    expect(bench.kept.size).toBe(10_000);
    expect(bench.eventsOf("message.unreadable")).toEqual([]);
  });

  it("stays where the ledger cannot be written, and is handled half an hour later", async () => {
    const bench = createDialerBench();
    const call = aCallNow(bench);
    keep(bench, { "calls-one": message(call) });
    await sweepLetters(bench, { ledger: { ...bench.deps.ledger, write: boom } });
    expect(bench.kept.size).toBe(1);
    await sweepLetters(bench);
    expect(bench.kept.size).toBe(1);
    bench.advance(30 * 60_000);
    await sweepLetters(bench);
    expect(bench.kept.size).toBe(0);
    expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
  });

  it("that ends its process is left alone by others for half an hour, not a process a minute", async () => {
    const bench = createDialerBench();
    const call = aCallNow(bench);
    keep(bench, { "calls-deadly": message(call) });
    let deaths = 0;
    for (let minute = 0; minute < 60; minute++) {
      const died = Promise.withResolvers<void>();
      const write = () => {
        deaths += 1;
        died.resolve();
        return new Promise<never>(() => undefined);
      };
      const ledger = { ...bench.deps.ledger, write };
      const memory = createDialerMemory();
      await Promise.race([sweepLetters(bench, { ledger, memory }), died.promise]);
      bench.advance(60_000);
    }
    expect(deaths).toBe(2);
    await sweepLetters(bench, { memory: createDialerMemory() });
    expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
    expect(bench.kept.size).toBe(0);
  });

  it(
    "is left to the next sweep where those before it were large, as D1 takes a thousand queries",
    inSlowTier,
    async () => {
      const bench = createDialerBench();
      const large = { ...message(aCallNow(bench)), padding: "x".repeat(5_000_000) };
      keep(bench, Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`calls-${n}`, large])));
      await sweepLetters(bench);
      expect(bench.eventsOf("message.unreadable")).toHaveLength(4);
      await sweepLetters(bench);
      expect(bench.eventsOf("message.unreadable")).toHaveLength(8);
    },
  );

  it("that cannot be fetched keeps no others waiting", async () => {
    const bench = createDialerBench();
    const call = aCallNow(bench);
    keep(bench, { "calls-one": "lost", "calls-two": message(call) });
    const { read } = bench.deps.deadLetters;
    const deadLetters = {
      ...bench.deps.deadLetters,
      read: (name: string) => (name === "calls-one" ? boom() : read(name)),
    };
    const random = { ...bench.deps.random, fraction: () => 0 };
    await sweepLetters(bench, { deadLetters, random });
    await sweepLetters(bench, { deadLetters, random });
    expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
    expect([...bench.kept.keys()]).toEqual(["calls-one"]);
  });

  it("stays where the sweep's time is over", async () => {
    const bench = createDialerBench();
    keep(bench, { "calls-one": message(aCallNow(bench)) });
    await handleStoredLetters(bench.deps, bench.now() + 29_000);
    expect(bench.kept.size).toBe(1);
  });

  it("is looked for every five minutes where there was none, and each minute otherwise", async () => {
    const bench = createDialerBench();
    let lists = 0;
    const { list } = bench.deps.deadLetters;
    const counted: typeof list = (query) => {
      lists += 1;
      return list(query);
    };
    bench.deps.deadLetters = { ...bench.deps.deadLetters, list: counted };
    for (let minute = 0; minute < 10; minute++) {
      await sweepLetters(bench);
      bench.advance(60_000);
    }
    expect(lists).toBe(2);
    keep(bench, { "calls-later": "no JSON" });
    for (let minute = 0; minute < 10; minute++) {
      await sweepLetters(bench);
      bench.advance(60_000);
    }
    expect(lists).toBe(12);
  });

  it("raises an alarm where the object store cannot be reached", async () => {
    const bench = createDialerBench();
    await sweepLetters(bench, { deadLetters: { ...bench.deps.deadLetters, list: boom } });
    expect(bench.eventsOf("store.unreachable")).toMatchObject([{ level: "alarm" }]);
  });
});

describe("a dead letter that is put back", () => {
  it("has its call dialed once at most, however often and whenever it is put back", async () => {
    const acts = ["put back", "put back, not removed", "sweep letters", "deliver"] as const;
    const scripts = fc.array(fc.constantFrom(...acts), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(scripts, async (script) => {
        const bench = createDialerBench();
        const call = aCallNow(bench);
        const name = "calls-one";
        bench.kept.set(name, JSON.stringify(message(call)));
        for (const act of script) {
          const body = bench.kept.get(name);
          if (act === "deliver") await bench.deliver();
          else if (act === "sweep letters")
            await handleStoredLetters(bench.deps, bench.now() + 120_000);
          else if (body !== undefined) {
            bench.sendBody(JSON.parse(body));
            if (act === "put back") bench.kept.delete(name);
          }
        }
        await bench.run(120);
        await handleStoredLetters(bench.deps, bench.now() + 120_000);
        expect(bench.dialed.length).toBeLessThanOrEqual(1);
        // Nothing is lost: the call is placed, or a person is told of it.
        expect(await stateOf(bench, call)).toBe(
          bench.dialed.length === 1 ? "PLACED" : "NEEDS_REVIEW",
        );
      }),
      { numRuns: perTier({ quick: 3, long: 20 }) },
    );
  });
});
