import { describe, expect, it } from "vitest";
import { systemClock } from "#functions/dialer/wiring.ts";
import { aCall } from "#test/support/calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  type Bench,
  aCallNow,
  boom,
  callsNow,
  due,
  message,
  putIn,
  rowsIn,
  sendEach,
  stateOf,
  statesOf,
} from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const back = { retryAfterSeconds: 5 };

describe("a delivery", () => {
  it.each([
    [5, 100, 5],
    [5, 2, 2],
  ])(
    "of concurrency %i to an account of concurrency %i has at most %i requests under way",
    inSlowTier,
    async (ownMax, accountMax, most) => {
      const providers = { webhook: { concurrency: accountMax } };
      const bench = createDialerBench({ concurrency: ownMax, plan: { providers } });
      let underWay = 0;
      let peak = 0;
      bench.answer = async () => {
        peak = Math.max(peak, ++underWay);
        await bench.sleep(100);
        underWay -= 1;
        return { kind: "placed" };
      };
      await sendEach(bench, ...callsNow(bench, 30));
      await bench.deliver();
      expect([bench.dialed.length, peak]).toEqual([30, most]);
    },
  );

  it(
    "dials nobody where the ledger cannot be read, and grows the time between attempts",
    inSlowTier,
    async () => {
      const bench = createDialerBench();
      bench.breakLedger({ read: boom });
      await sendEach(bench, aCall());
      const delays: unknown[] = [];
      for (let n = 0; n < 10; n++) {
        const [answer] = await bench.deliver();
        delays.push(typeof answer === "object" && answer.retryAfterSeconds);
        bench.advance(960_000);
      }
      expect(delays).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 960, 960]);
      expect(bench.dialed).toEqual([]);
      expect(bench.eventsOf("ledger.unreachable")[0]).toMatchObject({ level: "alarm" });
      bench.repairLedger();
      // Its message is old by now: it waits for its turn.
      await bench.deliver();
      await bench.dispatch();
      await bench.deliver();
      expect(bench.dialed).toHaveLength(1);
    },
  );

  it("reads the ledger once more before it hands everything back", async () => {
    const bench = createDialerBench();
    let reads = 0;
    bench.breakLedger({ read: (ids) => (reads++ === 0 ? boom() : bench.rows.read(ids)) });
    await sendEach(bench, aCall());
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(bench.dialed).toHaveLength(1);
  });

  it("hands everything back where no claim can be made, and dials nobody", async () => {
    const bench = createDialerBench({ concurrency: 1 });
    bench.breakLedger({ write: boom });
    await sendEach(bench, ...callsNow(bench, 10));
    expect(await bench.deliver()).toEqual(Array.from({ length: 10 }, () => back));
    expect(bench.dialed).toEqual([]);
    bench.repairLedger();
    await bench.run(130);
    expect(bench.dialed).toHaveLength(10);
  });

  it("hands the rest back after the first claim that can be neither made nor read", async () => {
    const bench = createDialerBench({ concurrency: 1 });
    let reads = 0;
    let claims = 0;
    bench.breakLedger({
      read: (ids) => (reads++ === 0 ? bench.rows.read(ids) : boom()),
      write: () => {
        claims += 1;
        return boom();
      },
    });
    await sendEach(bench, ...callsNow(bench, 9));
    expect(await bench.deliver()).toEqual(Array.from({ length: 9 }, () => back));
    expect([bench.dialed.length, claims]).toEqual([0, 1]);
  });

  it("shares round trips between claims and settlements made at the same moment", async () => {
    const bench = createDialerBench({ concurrency: 5 });
    const sizes: number[] = [];
    bench.breakLedger({
      write: (changes) => {
        sizes.push(changes.length);
        return bench.rows.write(changes);
      },
    });
    await sendEach(bench, ...callsNow(bench, 20));
    await bench.deliver();
    expect(bench.dialed).toHaveLength(20);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(40);
    expect(sizes.length).toBeLessThanOrEqual(7);
  });

  it(
    "asks the ledger some 15 times for a hundred dispatched calls, five at a time",
    inSlowTier,
    async () => {
      const bench = createDialerBench({ concurrency: 5 });
      const asked: Record<string, number> = {};
      const counting = <Port extends object>(port: Port, prefix: string) =>
        new Proxy(port, {
          get(target, name, receiver) {
            const key = `${prefix}.${String(name)}`;
            asked[key] = (asked[key] ?? 0) + 1;
            return Reflect.get(target, name, receiver) as unknown;
          },
        });
      bench.deps.ledger = counting(bench.rows, "rows");
      bench.deps.documents = counting(bench.documents, "documents");
      // Sleeps are those of the functions: a timer for each would part the calls.
      bench.deps.clock.sleep = systemClock.sleep;
      await sendEach(bench, ...callsNow(bench, 100));
      await bench.deliver();
      expect(bench.dialed).toHaveLength(100);
      expect(asked).toMatchObject({
        "rows.read": 1,
        "documents.add": 1, // the counts of the hour
      });
      expect(asked["rows.write"]).toBeLessThanOrEqual(24);
      // The documents of the calls, the sweeps' heartbeat, and that their backlog answers quickly.
      expect(asked["documents.read"]).toBeLessThanOrEqual(4);
      expect(asked["documents.write"] ?? 0).toBeLessThanOrEqual(2);
    },
  );

  it("adds to the counts of the hour, and continues if it cannot", async () => {
    const bench = createDialerBench();
    bench.answer = async ({ request }) =>
      request.phone_number.endsWith("0") ? { kind: "rejected", code: "x" } : { kind: "placed" };
    await sendEach(bench, ...callsNow(bench, 3));
    await bench.deliver();
    const counted = async () =>
      (await bench.documents.list("usage", { limit: 10 })).map(({ value }) => value);
    const slot = Math.floor((bench.now() % 3_600_000) / 300_000);
    expect(await counted()).toEqual([
      {
        accepted: 3,
        requests: 3,
        PLACED: 2,
        REJECTED: 1,
        [`@${slot} PLACED`]: 2,
        [`@${slot} REJECTED`]: 1,
      },
    ]);
    bench.breakDocuments({
      addAll: boom,
    });
    await sendEach(bench, aCall(), aCall());
    expect(await bench.deliver()).toEqual(["ack", "ack"]);
    expect(bench.eventsOf("counts.update_failed")).toMatchObject([{ level: "warning" }]);
  });

  it("hands back what it cannot read, and does the rest", async () => {
    const bench = createDialerBench();
    bench.sendBody({ kind: "calls", calls: [{ id: "x" }] });
    bench.sendBody({ ...message(aCall()), later: "a field of a newer version" });
    bench.sendBody("nothing");
    await sendEach(bench, aCall());
    expect(await bench.deliver()).toEqual([back, back, back, "ack"]);
    expect(bench.eventsOf("message.unreadable")).toHaveLength(3);
    expect(bench.dialed).toHaveLength(1);
  });

  it("hands back only the message of a call that cannot be written", async () => {
    const bench = createDialerBench();
    const calls = callsNow(bench, 9); // with more calls, more would share their writes
    const bad = calls[3];
    bench.breakLedger({
      write: (changes) =>
        changes.some(({ next }) => next.id === bad?.id) ? boom() : bench.rows.write(changes),
    });
    bench.deps.concurrency = 1;
    await sendEach(bench, ...calls);
    const answers = await bench.deliver();
    expect(answers[3]).toEqual(back);
    // A call that is claimed or settled in the same write may come again too.
    expect(answers.filter((answer) => answer !== "ack").length).toBeLessThanOrEqual(2);
    expect(bench.dialed.length).toBeGreaterThanOrEqual(7);
    expect(bench.dialed.map(({ call }) => call.id)).not.toContain(bad?.id);
  });

  it("has room for other accounts beside one that hangs: it holds no more than half", async () => {
    const { bench, hung, others } = hanging();
    await sendEach(bench, ...hung, ...others);
    await bench.deliver();
    // No other call waited for the hanging ones, and none of these was lost.
    const last = Math.max(
      ...bench.dialed.filter(({ call }) => others.includes(call)).map(({ at }) => at),
    );
    expect(last - 1_000_000).toBeLessThan(5_000);
    expect(await statesOf(bench, others)).toEqual(others.map(() => "PLACED"));
    const states = await statesOf(bench, hung);
    expect(new Set(states)).toEqual(new Set(["UNKNOWN", "WAITING"]));
  });

  it("dials calls in the order of their dispatch, whenever they were due", async () => {
    const bench = createDialerBench({ concurrency: 1 });
    const calls = callsNow(bench, 5);
    for (const [n, call] of calls.entries()) {
      await putIn(bench, "WAITING", call, { dueAt: bench.now() - n });
    }
    await bench.send(due(...calls));
    await bench.deliver();
    expect(bench.dialed.map(({ call }) => call.id)).toEqual(calls.map(({ id }) => id));
  });

  it("with more fresh calls than it may dial at once writes the others WAITING", async () => {
    const bench = createDialerBench({ concurrency: 1 });
    bench.answer = async () => {
      await bench.sleep(20_000);
      return { kind: "placed" };
    };
    const calls = callsNow(bench, 3);
    await bench.send(...calls.map(message));
    expect(await bench.deliver()).toEqual(["ack", "ack", "ack"]);
    expect(bench.dialed).toHaveLength(1);
    const waiting = await rowsIn(bench, "WAITING");
    expect(waiting.map(({ reason, attempt }) => [reason, attempt])).toEqual([
      ["turn", 0],
      ["turn", 0],
    ]);
    await bench.run(90);
    expect(await statesOf(bench, calls)).toEqual(["PLACED", "PLACED", "PLACED"]);
  });

  it("that finds no place leaves a row that waits in its place", async () => {
    const bench = createDialerBench({ concurrency: 1 });
    bench.answer = async () => {
      await bench.sleep(20_000);
      return { kind: "placed" };
    };
    const [first, second, third] = [aCallNow(bench), aCallNow(bench), aCallNow(bench)];
    const dueAt = bench.now() - 60_000;
    await putIn(bench, "WAITING", first, { dueAt: dueAt - 2, reason: "http_429" });
    await putIn(bench, "WAITING", second, { dueAt: dueAt - 1, reason: "http_429" });
    const row = await putIn(bench, "WAITING", third, { dueAt, reason: "http_429" });
    await bench.send(due(first, second, third));
    await bench.deliver();
    expect(await stateOf(bench, first)).toBe("PLACED");
    expect(await bench.row(third.id)).toEqual(row);
    expect(bench.queued()).toEqual([]);
  });
});

/** Creates a bench with calls to a provider that never answers in time, and to one that does. */
function hanging() {
  const bench: Bench = createDialerBench({
    concurrency: 4,
    plan: {
      agents: {
        agent_sales: { provider: "slow", url: "http://127.0.0.1:9/dial" },
        agent_support: { provider: "webhook", url: "http://127.0.0.2:9/support" },
      },
      providers: { slow: { type: "webhook" } },
    },
  });
  bench.answer = async (_call, route) => {
    if (route.account !== "slow") return { kind: "placed" };
    await bench.sleep(30_000);
    return { kind: "unknown", code: "time_out" };
  };
  const hung = callsNow(bench, 20);
  const others = callsNow(bench, 20, { agent_id: "agent_support" });
  return { bench, hung, others };
}
