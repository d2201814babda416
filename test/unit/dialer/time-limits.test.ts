import { consumeCalls, dispatch, sweep, upkeep } from "#test/support/entries.ts";
import { afterEach, describe, expect, it, vi } from "vitest";
import { storeDeadLetters } from "#functions/api/actions/store-dead-letters.ts";
import type { Call } from "#shared/calls/call-request.ts";
import type { Change } from "#shared/ports/ledger.ts";
import { aCall } from "#test/support/calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  callsNow,
  documentOf,
  due,
  hashOf,
  message,
  putIn,
  rowsIn,
  sendEach,
  silent,
  stateOf,
  statesOf,
} from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

// Time limits of ports: without them, one call to a port that never answers holds its delivery until the
// function is killed, and every other message of it comes again.

const again = { retryAfterSeconds: 5 };

/** Creates a dialer under vitest's clock, which the time limits of its ports also use. */
function createBench(more: Parameters<typeof createDialerBench>[0] = {}) {
  const bench = createDialerBench(more);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"], now: bench.now() });
  bench.deps.clock = {
    now: () => Date.now(),
    sleep: (ms) => new Promise((wake) => (ms > 0 ? setTimeout(wake, ms) : wake())),
  };
  /** Time at which each call was dialed, in seconds after the start. */
  const dialedAfter = new Map<string, number>();
  const startedAt = Date.now();
  bench.answer = async ({ id }) => {
    dialedAfter.set(id, (Date.now() - startedAt) / 1000);
    return { kind: "placed" };
  };
  return { bench, dialedAfter };
}

/** Resolves to the result of work within this many seconds; fails if it hangs. */
async function within<Result>(seconds: number, work: Promise<Result>): Promise<Result> {
  const state = { isDone: false };
  const end = () => (state.isDone = true);
  work.then(end, end);
  for (let second = 0; second < seconds && !state.isDone; second++) {
    await vi.advanceTimersByTimeAsync(1000);
  }
  expect(state.isDone).toBe(true);
  return work;
}

afterEach(() => {
  vi.useRealTimers();
});

describe("a slow ledger", () => {
  const plan = { providers: { webhook: { callsPerSecond: 1 } } };
  /** Creates a bench whose ledger takes a time per row to write, and a request of as many calls. */
  async function createSlowBench(msPerRow: number, count: number) {
    const { bench } = createBench({ plan });
    bench.breakLedger({
      write: async (changes) => {
        await new Promise((wake) => setTimeout(wake, changes.length * msPerRow));
        return bench.rows.write(changes);
      },
    });
    const calls = callsNow(bench, count);
    const requestId = calls[0]?.requestId ?? "";
    const all = calls.map(({ request }, index) => ({ index, request }));
    const acceptedAt = bench.now();
    await bench.send({ kind: "calls", requestId, client: "crm", acceptedAt, calls: all });
    return bench;
  }

  it(
    "is given 5 s for each hundred rows of a write, so that a large list is split",
    inSlowTier,
    async () => {
      const bench = await createSlowBench(25, 500);
      expect(await within(60, bench.deliver())).toEqual(["ack"]);
      expect(await rowsIn(bench, "WAITING")).toHaveLength(500);
    },
  );

  it("has a split end in time, and the next delivery continue it", inSlowTier, async () => {
    const bench = await createSlowBench(25, 6000); // 150 s in all
    expect(await within(119, bench.deliver(120_000))).toEqual([again]);
    const written = (await rowsIn(bench, "WAITING")).length;
    expect(written).toBeGreaterThan(1000);
    expect(written).toBeLessThan(6000);
    bench.advance(Date.now() - bench.now() + 5000); // the bench has a clock of its own
    const answers = await within(100, bench.deliver(120_000)); // hints of the first rows came too
    expect(new Set(answers)).toEqual(new Set(["ack"]));
    const rows = (await rowsIn(bench, "WAITING")).length + bench.dialed.length;
    expect(rows).toBe(6000);
  });
});

const isOf = (call: Call | undefined) => (change: Change) => change.next.id === call?.id;
const dialing = ({ next }: Change) => next.state === "DIALING";

describe("a ledger that never answers", () => {
  it("a delivery's read hands all of it back after two tries", async () => {
    const { bench } = createBench();
    bench.breakLedger({ read: silent });
    await sendEach(bench, ...callsNow(bench, 3));
    expect(await within(11, bench.deliver())).toEqual([again, again, again]);
    expect(bench.dialed).toEqual([]);
  });

  it("one claim hands back the claims that shared its write, and no other", async () => {
    const { bench, dialedAfter } = createBench();
    const answer = bench.answer;
    // A faster provider would have more calls claimed ahead.
    bench.answer = async (...asked) => {
      await bench.deps.clock.sleep(100);
      return answer(...asked);
    };
    const calls = callsNow(bench, 30).toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const bad = calls[20];
    let silenced = new Set<string>();
    bench.breakLedger({
      write(changes) {
        if (!changes.some((change) => isOf(bad)(change) && dialing(change))) {
          return bench.rows.write(changes);
        }
        silenced = new Set(changes.filter(dialing).map(({ next }) => next.id));
        return silent();
      },
    });
    await sendEach(bench, ...calls);
    const answers = await within(20, bench.deliver());
    expect(silenced.size).toBeGreaterThan(0);
    expect(silenced.size).toBeLessThanOrEqual(10);
    expect(answers).toEqual(calls.map(({ id }) => (silenced.has(id) ? again : "ack")));
    // A call that found no place meanwhile waits for its hint.
    const waiting = new Set((await rowsIn(bench, "WAITING")).map(({ id }) => id));
    for (const { id } of calls) {
      if (!silenced.has(id) && !waiting.has(id)) expect(dialedAfter.get(id)).toBeLessThanOrEqual(6);
    }
    expect(dialedAfter.size).toBe(30 - new Set([...silenced, ...waiting]).size);
    expect(dialedAfter.size).toBeGreaterThanOrEqual(10);
    bench.repairLedger();
    bench.advance(60_000);
    await vi.advanceTimersByTimeAsync(60_000);
    await within(10, bench.deliver());
    expect(await statesOf(bench, calls)).toEqual(calls.map(() => "PLACED"));
    expect(bench.dialed).toHaveLength(30);
  });

  it("one settlement sends it as an `outcome`, and its neighbours are dialed once each", async () => {
    const { bench, dialedAfter } = createBench();
    const calls = callsNow(bench, 8);
    const bad = calls[0];
    bench.breakLedger({
      write: (changes) =>
        changes.some((change) => isOf(bad)(change) && !dialing(change))
          ? silent()
          : bench.rows.write(changes),
    });
    await sendEach(bench, ...calls);
    await within(30, bench.deliver());
    const queued = bench.queued().flatMap((one) => (one.kind === "outcome" ? one.settlement : []));
    expect(queued.filter(({ state }) => state === "PLACED").map(({ id }) => id)).toContain(bad?.id);
    bench.repairLedger();
    bench.advance(60_000);
    await within(5, bench.deliver());
    expect(await statesOf(bench, calls)).toEqual(calls.map(() => "PLACED"));
    expect([dialedAfter.size, bench.dialed.length]).toEqual([8, 8]);
  });

  it("the write of decisions hands back their calls, and dials the others at once", async () => {
    const { bench, dialedAfter } = createBench();
    const calls = callsNow(bench, 3);
    const expired = aCall({ acceptedAt: bench.now() - 400 * 3_600_000 });
    bench.breakLedger({
      write: (changes) => (changes.some(isOf(expired)) ? silent() : bench.rows.write(changes)),
    });
    await sendEach(bench, expired, ...calls);
    expect(await within(8, bench.deliver())).toEqual([again, "ack", "ack", "ack"]);
    for (const { id } of calls) expect(dialedAfter.get(id)).toBe(0);
  });

  it("one list of a look-up leaves its row to the next, and settles the others", async () => {
    const twilio = { provider: "twilio", from: "+12025550100", stream: "wss://example.com/" };
    const vapi = { provider: "vapi", agent: "asst_9", from: "phone_1" };
    const providers = { twilio: { callsPerSecond: 100 }, vapi: { callsPerSecond: 100 } };
    const { bench } = createBench({ plan: { agents: { twilio, vapi }, providers } });
    bench.answer = async () => ({ kind: "unknown", code: "http_500" });
    const [one, other] = [{ agent_id: "twilio" }, { agent_id: "vapi" }].map((fields) =>
      aCallNow(bench, fields),
    );
    if (one === undefined || other === undefined) throw new Error("two calls were made");
    await sendEach(bench, one, other);
    await within(5, bench.deliver());
    await vi.advanceTimersByTimeAsync(120_000);
    bench.find = async (_sought, { provider }) =>
      provider === "twilio"
        ? { by: "number", providerCallIds: ["CA1"] }
        : { by: "id", providerCallId: "019a" };
    bench.breakLedger({ list: silent });
    await bench.send(due(one, other));
    expect(await within(10, bench.deliver())).toEqual(["ack"]);
    expect(await statesOf(bench, [one, other])).toEqual(["UNKNOWN", "PLACED"]);
  });
});

describe("documents that never answer", () => {
  it("a delivery's read hands all of it back after two tries", async () => {
    const { bench } = createBench();
    bench.breakDocuments({ read: silent });
    await sendEach(bench, ...callsNow(bench, 3));
    expect(await within(11, bench.deliver())).toEqual([again, again, again]);
    expect(bench.dialed).toEqual([]);
  });

  /** Has reads or writes of documents never end that concern the cap of the first call's number. */
  const silenceCap = (
    { bench }: ReturnType<typeof createBench>,
    method: "read" | "write",
    [bad]: readonly Call[],
  ) => {
    const key = hashOf(bad?.request.phone_number ?? "");
    const isBad = (document: { kind: string; key: string }) =>
      document.kind === "cap" && document.key === key;
    bench.breakDocuments(
      method === "read"
        ? { read: (keys) => (keys.some(isBad) ? silent() : bench.documents.read(keys)) }
        : {
            write: (changes) =>
              changes.some(({ next }) => isBad(next)) ? silent() : bench.documents.write(changes),
          },
    );
  };

  it.each(["read", "write"] as const)(
    "one %s of a number's cap makes its call wait, and dials all others at once",
    async (method) => {
      const made = createBench({ plan: { maxCalls: { count: 1, days: 1 } } });
      const { bench, dialedAfter } = made;
      const calls = callsNow(bench, 12);
      const [bad, ...others] = calls;
      silenceCap(made, method, calls);
      await sendEach(bench, ...calls);
      expect(await within(60, bench.deliver())).toEqual(calls.map(() => "ack"));
      for (const { id } of others) expect(dialedAfter.get(id)).toBeLessThanOrEqual(1);
      expect(dialedAfter.size).toBe(11);
      expect(bad && (await stateOf(bench, bad))).toBe("WAITING");
    },
  );

  it.each(["read", "write"] as const)(
    "one %s of caps that calls share makes them wait, and the next delivery dials each once",
    async (method) => {
      const made = createBench({ plan: { maxCalls: { count: 1, days: 1 } } });
      const { bench } = made;
      bench.deps.sharesStatements = true; // as on D1, where a statement ends for all of them or for none
      const calls = callsNow(bench, 12);
      silenceCap(made, method, calls);
      await sendEach(bench, ...calls);
      expect(await within(60, bench.deliver())).toEqual(calls.map(() => "ack"));
      expect(await statesOf(bench, calls)).toEqual(calls.map(() => "WAITING"));
      expect(bench.dialed).toEqual([]);
      bench.repairLedger();
      await vi.advanceTimersByTimeAsync(60_000);
      await bench.send(due(...calls));
      await within(60, bench.deliver());
      expect(await statesOf(bench, calls)).toEqual(calls.map(() => "PLACED"));
      expect(bench.dialed).toHaveLength(calls.length);
    },
  );

  it("the permits of one account make its calls wait, and dial those of others at once", async () => {
    const paced = { provider: "paced", url: "http://127.0.0.3:9/dial" };
    const { bench, dialedAfter } = createBench({
      plan: {
        agents: { agent_sales: { ...paced, provider: "webhook" }, agent_support: paced },
        providers: { paced: { type: "webhook", callsPerSecond: 2 } },
      },
    });
    bench.breakDocuments({ takePermits: silent });
    const calls = callsNow(bench, 5);
    const bad = aCallNow(bench, { agent_id: "agent_support" });
    await sendEach(bench, bad, ...calls);
    expect(await within(45, bench.deliver())).toEqual(["ack", ...calls.map(() => "ack")]);
    for (const { id } of calls) expect(dialedAfter.get(id)).toBeLessThanOrEqual(1);
    expect(await stateOf(bench, bad)).toBe("WAITING");
  });

  it("the counts of failures and of the hour cost no outcome", async () => {
    const { bench } = createBench();
    bench.breakDocuments({ add: silent });
    bench.answer = async () => ({ kind: "unknown", code: "http_500" });
    const calls = callsNow(bench, 2);
    await sendEach(bench, ...calls);
    expect(await within(12, bench.deliver())).toEqual(["ack", "ack"]);
    expect(await statesOf(bench, calls)).toEqual(["UNKNOWN", "UNKNOWN"]);
  });
});

describe("a queue that never answers", () => {
  it("costs none of the rows that come back", async () => {
    const { bench } = createBench();
    const { queue } = bench.deps;
    const calls = callsNow(bench, 2);
    await sendEach(bench, ...calls);
    bench.answer = async () => ({ kind: "not_placed", code: "http_429", retryAfterSeconds: 20 });
    bench.deps.queue = { send: silent, sendMany: silent };
    expect(await within(65, bench.deliver())).toEqual(["ack", "ack"]);
    expect(await statesOf(bench, calls)).toEqual(["WAITING", "WAITING"]);
    bench.deps.queue = queue;
    bench.answer = async () => ({ kind: "placed" });
    await vi.advanceTimersByTimeAsync(60_000);
    await within(20, dispatch(bench.deps, Date.now()));
    expect(bench.queued()).toHaveLength(1);
  });

  it("an `outcome` hands its message back", async () => {
    const { bench } = createBench();
    const { queue } = bench.deps;
    await sendEach(bench, aCall());
    bench.deps.queue = { ...queue, send: silent };
    bench.breakLedger({
      write: (changes) => (changes.every(dialing) ? bench.rows.write(changes) : silent()),
    });
    expect(await within(60, bench.deliver())).toEqual([again]);
  });

  it("one body in the object store hands its message back", async () => {
    const { bench } = createBench();
    const delivered = { attempt: 1, id: "one", open: silent };
    const answers = consumeCalls([delivered], bench.deps, Date.now() + 900_000);
    expect(await within(40, answers)).toEqual([again]);
  });

  it("is not needed to split a request", async () => {
    const { bench } = createBench();
    const { queue } = bench.deps;
    const calls = callsNow(bench, 30);
    const requestId = calls[0]?.requestId ?? "";
    const messages = calls.map((call) => message(call).calls[0]);
    const all = messages.flatMap((one, index) => (one === undefined ? [] : { ...one, index }));
    await bench.send({
      kind: "calls",
      requestId,
      client: "crm",
      acceptedAt: bench.now(),
      calls: all,
    });
    bench.deps.queue = { ...queue, sendMany: silent };
    expect(await within(35, bench.deliver())).toEqual(["ack"]);
    expect(await rowsIn(bench, "WAITING")).toHaveLength(30);
  });
});

describe("a sweep", () => {
  it("ends though one backlog's rows are never answered, and looks after claims", async () => {
    const { bench } = createBench();
    const waiting = await putIn(bench, "WAITING", aCallNow(bench), { dueAt: bench.now() });
    const lapsed = aCallNow(bench);
    await putIn(bench, "DIALING", lapsed, { at: bench.now() - 600_000 });
    bench.breakLedger({
      due: (query) =>
        query.lanes.some(({ key }) => key === waiting.lane) ? silent() : bench.rows.due(query),
    });
    await within(10, sweep(bench.deps, Date.now() + 120_000));
    expect(await stateOf(bench, lapsed)).toBe("UNKNOWN");
    expect(bench.eventsOf("sweep.failed")).not.toEqual([]);
    for (const { level } of bench.eventsOf("sweep.failed")) expect(level).toBe("alarm");
    expect(bench.eventsOf("sweep.completed")).toHaveLength(1); // the watch over claims and unknown outcomes was whole
  });

  it("and an upkeep end where nothing answers at all", async () => {
    const { bench } = createBench();
    bench.breakDocuments({ read: silent, write: silent, list: silent, purge: silent });
    await within(10, sweep(bench.deps, Date.now() + 120_000));
    await within(10, upkeep(bench.deps, Date.now() + 120_000));
    expect(bench.eventsOf("sweep.failed")).toHaveLength(1);
    expect(await documentOf(bench, "sweep", "sweep")).toBeUndefined();
    expect(bench.eventsOf("upkeep.failed")).toHaveLength(1);
  });
});

describe("an object store that never answers", () => {
  it("has a dead letter come again, as it may not have been stored", async () => {
    const { bench } = createBench();
    bench.deps.deadLetters.store = silent;
    const letter = { id: "m", open: silent, envelope: "no JSON" };
    const answers = await within(60, storeDeadLetters("calls-dead", [letter], bench.deps));
    expect(answers).toEqual([{ retryAfterSeconds: 900 }]);
    expect(await rowsIn(bench, "NEEDS_REVIEW")).toEqual([]);
  });
});
