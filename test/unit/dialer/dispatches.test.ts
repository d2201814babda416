import { dispatch } from "#test/support/entries.ts";
import { describe, expect, it } from "vitest";
import { backlogOf } from "#shared/calls/call-row.ts";
import { createDialerMemory } from "#functions/dialer/runtime/memory.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  allIn,
  type Bench,
  boom,
  callsNow,
  dispatchOf,
  documentOf,
  idsDialed,
  idsDispatched,
  loseDispatches,
  message,
  pause,
  putDocument,
  putIn,
  putWaiting,
  silent,
  statesOf,
  stateOf,
} from "#test/support/dialer-calls.ts";
import { firstOf } from "#test/support/first-of.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const startAt = "2026-06-01T10:00Z";
const createBench = (more: Parameters<typeof createDialerBench>[0] = {}) =>
  createDialerBench({ startAt, ...more });
/** A dispatcher that looks on, as on Cloudflare. */
const loops = (bench: Bench) => {
  bench.deps.dispatcher = { ...bench.deps.dispatcher, endsIdle: false };
};
const dispatcherOf = async (bench: Bench) =>
  (await documentOf(bench, "dispatcher", "dispatcher"))?.value;
const begin = (bench: Bench) => dispatch(bench.deps, bench.now() + 900_000);
const idle = async () => {
  for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve));
};

describe("dispatches", () => {
  it.each([undefined, 1])(
    "of which every other one is lost have every call dialed once, at %s calls a second",
    inSlowTier,
    async (callsPerSecond) => {
      const providers = callsPerSecond === undefined ? {} : { webhook: { callsPerSecond } };
      const bench = createBench({ plan: { providers } });
      const { queue } = bench.deps;
      let sent = 0;
      bench.deps.queue = {
        ...queue,
        async sendMany(messages) {
          await queue.sendMany(messages.filter(() => sent++ % 2 === 0));
          return messages.length;
        },
      };
      const calls = await putWaiting(bench, 200, 0);
      await bench.simulate(900);
      expect(await statesOf(bench, calls)).toEqual(allIn(calls, "PLACED"));
      expect(bench.dialed).toHaveLength(200);
    },
  );

  it("that come twice or late have nobody dialed twice", async () => {
    const bench = createBench();
    const { queue } = bench.deps;
    bench.deps.queue = {
      ...queue,
      async sendMany(messages) {
        const late = messages.map((one) => ({ ...one, delaySeconds: 7 }));
        await queue.sendMany([...messages, ...messages, ...late]);
        return messages.length;
      },
    };
    const calls = await putWaiting(bench, 100, 0);
    await bench.simulate(60);
    expect(await statesOf(bench, calls)).toEqual(allIn(calls, "PLACED"));
    expect(bench.dialed).toHaveLength(100);
  });

  it("that the queue refuses are sent again within seconds, and the log says so", async () => {
    const bench = createBench();
    loops(bench);
    const { queue } = bench.deps;
    let sendMany: typeof queue.sendMany = (messages) => queue.sendMany(messages.slice(0, 1));
    bench.deps.queue = { ...queue, sendMany: (messages) => sendMany(messages) };
    const calls = [];
    for (const client of ["a", "b", "c", "d", "e"]) {
      calls.push(...(await putWaiting(bench, 5, 0, { client })));
    }
    await bench.simulate(1);
    expect(bench.eventsOf("dispatch.send_failed")).toMatchObject([{ level: "warning", count: 5 }]);
    sendMany = boom;
    await bench.simulate(12);
    expect(bench.eventsOf("queue.unreachable")[0]).toMatchObject({ level: "warning" });
    sendMany = queue.sendMany;
    await bench.simulate(13);
    expect(await statesOf(bench, calls)).toEqual(allIn(calls, "PLACED"));
    expect(bench.dialed).toHaveLength(25);
  });

  it("change no row, so that a lost one costs time alone", async () => {
    const bench = createBench();
    await putWaiting(bench, 20, 0);
    const before = new Map(bench.stored);
    await bench.dispatch();
    expect(idsDispatched(bench).length).toBeGreaterThan(0);
    expect(bench.stored).toEqual(before);
  });

  it("of a paused agent's row leave it as it is", async () => {
    const bench = createBench();
    const call = firstOf(await putWaiting(bench, 1, 0));
    const before = await bench.row(call.id);
    await pause(bench, { agent: "agent_sales" });
    await bench.send(dispatchOf([call]));
    await bench.deliver();
    expect(bench.dialed).toEqual([]);
    expect(await bench.row(call.id)).toEqual(before);
  });

  it("name the account, and one by another plan is left to the next look", async () => {
    const bench = createBench();
    const call = firstOf(await putWaiting(bench, 1, 0));
    await bench.send(dispatchOf([call], "webhook:http://127.0.0.2:9"));
    await bench.deliver();
    expect(await stateOf(bench, call)).toBe("WAITING");
    await bench.simulate(3);
    expect(idsDialed(bench)).toEqual([call.id]);
  });
});

describe("the allowance of an account without a pace", () => {
  it(
    "is 25 at first, doubles as its calls are completed, and ends at twice the connections",
    inSlowTier,
    async () => {
      const bench = createBench({ concurrency: 25, consumers: 4 });
      loops(bench);
      const allowances: number[] = [];
      const { queue } = bench.deps;
      bench.deps.queue = {
        ...queue,
        async sendMany(messages) {
          allowances.push(
            messages.reduce(
              (sum, { message: one }) => sum + (one.kind === "dispatch" ? one.rows.length : 0),
              0,
            ),
          );
          return queue.sendMany(messages);
        },
      };
      for (let n = 0; n < 40; n++) await putWaiting(bench, 50, 0, { client: `client ${n}` });
      bench.answer = async () => {
        await bench.sleep(1_500); // a look in between, and no quick ones
        return { kind: "placed" };
      };
      await bench.simulate(40, { consumers: 8 });
      expect(allowances[0]).toBe(25);
      expect(Math.max(...allowances)).toBeLessThanOrEqual(200);
      for (const [n, count] of allowances.entries()) {
        const before = allowances.slice(Math.max(0, n - 2), n).reduce((sum, one) => sum + one, 0);
        if (n > 1) expect(count).toBeLessThanOrEqual(Math.max(25, 2 * before));
      }
      expect(Math.max(...allowances)).toBeGreaterThan(50);
    },
  );

  it("is filled up between looks once half of it is completed", async () => {
    const bench = createBench({ concurrency: 25, consumers: 4 });
    loops(bench);
    for (let n = 0; n < 10; n++) await putWaiting(bench, 5, 0, { client: `client ${n}` });
    let begun = 0;
    bench.answer = async () => {
      begun += 1;
      await bench.sleep(begun <= 13 ? 10 : 60_000); // half of the first 25 are quick
      return { kind: "placed" };
    };
    await bench.simulate(1, { consumers: 8 });
    expect(begun).toBeGreaterThan(25);
  });

  it("is less what is in flight, fresh calls included", async () => {
    const bench = createBench();
    for (const call of callsNow(bench, 20)) await putIn(bench, "DIALING", call);
    for (let n = 0; n < 10; n++) await putWaiting(bench, 5, 0, { client: `client ${n}` });
    await bench.dispatch();
    expect(idsDispatched(bench)).toHaveLength(5);
  });

  it.each([
    ["quick", 16],
    ["slow", 46],
  ] as const)("is not held by dead dialers' claims: %s answers, after %i s", async (answers, s) => {
    const bench = createBench();
    loops(bench);
    for (const call of callsNow(bench, 30)) await putIn(bench, "DIALING", call);
    const calls = await putWaiting(bench, 20, 0);
    const { client, request } = calls[0] ?? aCallNow(bench);
    const of = { client, agentId: request.agent_id };
    const key = { kind: "backlog", key: backlogOf(of) } as const;
    await putDocument(bench, key, { ...of, mode: "live", usedAt: bench.now(), answers });
    await bench.simulate(s - 8);
    expect(bench.dialed).toEqual([]);
    await bench.simulate(8);
    expect(bench.dialed.length).toBeGreaterThan(3);
  });

  it("grows no further while its dispatches lie on the queue", inSlowTier, async () => {
    const bench = createBench();
    loops(bench);
    const { lost } = loseDispatches(bench);
    for (let n = 0; n < 40; n++) await putWaiting(bench, 20, 0, { client: `client ${n}` });
    await bench.simulate(9);
    expect(lost).toHaveLength(25);
    await bench.simulate(30);
    // A row that was not heard of for ten seconds is dispatched again, and as many at most.
    expect(lost.length).toBeGreaterThan(25);
    expect(lost.length).toBeLessThanOrEqual(4 * 25);
  });
});

describe("a dispatcher that ends", () => {
  it("where another one has taken over does so at its next look, and dispatches nothing more", async () => {
    const bench = createBench();
    loops(bench);
    const first = begin(bench);
    await idle();
    const { holder } = (await dispatcherOf(bench)) ?? {};
    bench.advance(11_000); // it stood still
    const second = begin({ ...bench, deps: { ...bench.deps, memory: createDialerMemory() } });
    await idle();
    const { holder: next } = (await dispatcherOf(bench)) ?? {};
    expect(next).not.toBe(holder);
    await putWaiting(bench, 1, 0);
    const ended: string[] = [];
    void first.then(() => ended.push("first"));
    void second.then(() => ended.push("second"));
    await bench.simulate(3, { dispatchEverySeconds: 3600 });
    expect(ended).toEqual(["first"]);
    expect((await dispatcherOf(bench))?.holder).toBe(next);
    expect(idsDialed(bench)).toHaveLength(1);
  });

  it("having run its time is followed by the next minute's", async () => {
    const bench = createBench();
    loops(bench);
    await bench.simulate(1);
    const { holder } = (await dispatcherOf(bench)) ?? {};
    await bench.simulate(58);
    expect((await dispatcherOf(bench))?.holder).toBe(holder);
    await bench.simulate(4);
    expect((await dispatcherOf(bench))?.holder).not.toBe(holder);
    expect((await dispatcherOf(bench))?.holder).not.toBeNull();
  });

  it("by death at any point is followed, and every call is dialed once", async () => {
    const bench = createBench();
    const calls = await putWaiting(bench, 300, 0);
    let lives = 0;
    await bench.simulate(400, {
      dispatchEverySeconds: 20,
      dispatcher: () => {
        // It freezes for good after some questions to the documents, more of them each time.
        let left = (lives += 3);
        const never = () => new Promise<never>(() => undefined);
        const { write, read, list } = bench.documents;
        const gone = () => lives < 60 && --left < 0;
        return {
          documents: {
            ...bench.documents,
            write: (changes) => (gone() ? never() : write(changes)),
            read: (keys) => (gone() ? never() : read(keys)),
            list: (kind, query) => (gone() ? never() : list(kind, query)),
          },
        };
      },
    });
    expect(await statesOf(bench, calls)).toEqual(allIn(calls, "PLACED"));
    expect(bench.dialed).toHaveLength(300);
  });

  it("early where nothing is due for a minute gives its place back, and is woken by the next row", async () => {
    const bench = createBench({ isNew: true });
    await putWaiting(bench, 1, 61_000);
    await bench.simulate(1);
    expect(await dispatcherOf(bench)).toMatchObject({ holder: null });
    await bench.simulate(9);
    const call = aCallNow(bench);
    await bench.send(message(call));
    await bench.simulate(3);
    expect(idsDialed(bench)).toEqual([call.id]);
  });

  it("does not end while a row is due within a minute", async () => {
    const bench = createBench();
    const [call] = await putWaiting(bench, 1, 30_000);
    await bench.simulate(33);
    expect(idsDialed(bench)).toEqual([call?.id]);
  });

  it("does not end while a row that was dispatched still stands: its dispatch may be lost", async () => {
    const bench = createBench();
    const [call] = await putWaiting(bench, 1, 0);
    const { queue } = bench.deps;
    let isLost = false;
    const sendMany: typeof queue.sendMany = async (messages) => {
      if (isLost) return queue.sendMany(messages);
      isLost = true;
      return messages.length;
    };
    bench.deps.queue = { ...queue, sendMany };
    await bench.simulate(15);
    expect(isLost).toBe(true);
    expect(idsDialed(bench)).toEqual([call?.id]);
  });

  it.each([
    ["a new backlog", 0],
    ["one that was used just now", 1],
  ])(
    "looks once more after announcing its end: a row of %s has woken nobody",
    async (_, before) => {
      const bench = createBench({ isNew: true });
      const [first] = await putWaiting(bench, before, 0);
      const call = aCallNow(bench);
      let isWritten = false;
      bench.breakDocuments({
        async write(changes) {
          const value = changes[0]?.next.value;
          const isEnd = value !== undefined && "holder" in value && value["holder"] === null;
          if (isEnd && !isWritten) {
            isWritten = true;
            await putIn(bench, "WAITING", call, { dueAt: bench.now() }); // its writer still sees a beat
          }
          return bench.documents.write(changes);
        },
      });
      const running = begin(bench);
      // No other one begins meanwhile.
      const dispatcher = () => ({ documents: { ...bench.documents, read: silent } });
      await bench.simulate(10, { dispatchEverySeconds: 3600, dispatcher });
      await running;
      expect(isWritten).toBe(true);
      expect(idsDialed(bench)).toEqual([...(first === undefined ? [] : [first.id]), call.id]);
    },
  );
});
