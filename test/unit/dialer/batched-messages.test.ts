import { routeFrom } from "#test/support/plans.ts";
import { describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { eventMessageSchema } from "#shared/ports/event-messages.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { listDocuments } from "#test/support/reads.ts";
import { withMethods } from "#shared/lib/with-methods.ts";
import {
  type Bench,
  boom,
  callsNow,
  rowOf,
  sendEach,
  webhook,
} from "#test/support/dialer-calls.ts";
import { toldTo } from "#test/support/events-bench.ts";
import { completed, live } from "#test/support/results-bench.ts";

const slow = { provider: "slow", url: "https://slow.example.com/dial" };
const plan = {
  agents: { agent_sales: webhook, agent_slow: slow },
  providers: { slow: { type: "webhook" } },
  results: {},
  ...toldTo({ types: ["call.ended"] }),
};

/** Creates a bench with placed calls, of which signed callbacks tell. */
async function createBench(count: number) {
  const bench = createDialerBench({ plan });
  const calls = callsNow(bench, count);
  await sendEach(bench, ...calls);
  await bench.simulate(5, { firstSweepSeconds: 1000 });
  bench.told = async () => ({ kind: "reported", result: completed });
  const rows = await Promise.all(calls.map((call) => rowOf(bench, call)));
  const signed = { body: "{}", headers: {}, receivedAt: bench.now() };
  const callback = ({ id, claims }: CallRow, account = "webhook") => ({
    message: {
      kind: "callback" as const,
      account,
      call: { id, claim: claims.at(-1) ?? "" },
      signed,
    },
  });
  const takeDelivered = async () => {
    const bodies = await Promise.all(bench.eventsQueue.take().map(({ open }) => open()));
    return bodies.map((body) => eventMessageSchema.parse(JSON.parse(body)));
  };
  return { bench, rows, callback, takeDelivered };
}

/** Counts the additions to counters, and the completed results that usage has. */
function watchUsage(bench: Bench) {
  const { documents } = bench.deps;
  const watched = { additions: 0 };
  bench.deps.documents = withMethods(documents, {
    addAll: (additions) => {
      watched.additions += 1;
      return documents.addAll(additions);
    },
  });
  const completedNow = async () => {
    const usage = await listDocuments(documents, "usage", { limit: 9 });
    return usage.map(({ value }) => value["completed"]);
  };
  return { watched, completedNow };
}

describe("the results of one delivery", () => {
  it("are counted by one addition, each of them", async () => {
    const { bench, rows, callback } = await createBench(8);
    const { watched, completedNow } = watchUsage(bench);
    await bench.eventsQueue.sendMany(rows.map((row) => callback(row)));
    await bench.deliverEvents();
    expect(watched.additions).toBe(1);
    expect(await completedNow()).toEqual([8]);
  });

  it("are counted before the delivery ends, though that takes longer than it", async () => {
    const { bench, rows, callback } = await createBench(2);
    const { completedNow } = watchUsage(bench);
    const { documents } = bench.deps;
    bench.deps.documents = withMethods(documents, {
      async addAll(additions) {
        await bench.sleep(10_000);
        await documents.addAll(additions);
      },
    });
    let told = 0;
    bench.told = async () => {
      if (++told === 1) return { kind: "reported", result: completed };
      await bench.sleep(3_000); // the batch of the first is sent meanwhile
      return { kind: "reported", result: live };
    };
    await bench.eventsQueue.sendMany(rows.map((row) => callback(row)));
    await bench.deliverEvents();
    expect(await completedNow()).toEqual([1]);
  });

  it("are stored though they could not be counted", async () => {
    const { bench, rows, callback } = await createBench(2);
    const { completedNow } = watchUsage(bench);
    bench.deps.documents = withMethods(bench.deps.documents, { addAll: boom });
    await bench.eventsQueue.sendMany(rows.map((row) => callback(row)));
    expect(await bench.deliverEvents()).toEqual(["ack", "ack"]);
    expect(bench.eventsOf("counts.update_failed")).toMatchObject([{ level: "warning", count: 2 }]);
    expect(await completedNow()).toEqual([undefined]);
    expect(
      (await Promise.all(rows.map(({ id }) => rowOf(bench, { id })))).map(
        ({ result }) => result?.status,
      ),
    ).toEqual(["completed", "completed"]);
  });
});

describe("the events of one delivery", () => {
  it("are announced by one message, once each is written", async () => {
    const { bench, rows, callback, takeDelivered } = await createBench(8);
    await bench.eventsQueue.sendMany(rows.map((row) => callback(row)));
    expect(await bench.deliverEvents()).toEqual(rows.map(() => "ack"));
    const messages = await takeDelivered();
    expect(messages).toMatchObject([
      { kind: "deliver", receiver: "*", requests: [], swept: false },
    ]);
    const [message] = messages;
    const calls = message?.kind === "deliver" ? message.calls : [];
    expect(calls.toSorted()).toEqual(rows.map(({ id }) => id).toSorted());
  });

  it("are announced within a second, though another account keeps the delivery busy", async () => {
    const { bench, rows, callback } = await createBench(2);
    const [one, other] = rows;
    if (one === undefined || other === undefined) throw new Error("there are two");
    const busy = { ...other, route: routeFrom("webhook", slow), version: "slow" };
    await bench.rows.write([{ next: busy, seen: other.version }]);
    const sentAt: number[] = [];
    const { eventsQueue } = bench;
    bench.deps.eventsQueue = {
      ...eventsQueue,
      async sendMany(messages) {
        sentAt.push(bench.now());
        return eventsQueue.sendMany(messages);
      },
    };
    bench.told = async (_, route) => {
      if (route.account === "slow") await bench.sleep(20_000);
      return { kind: "reported", result: completed };
    };
    await eventsQueue.sendMany([callback(one), callback(busy, "slow")]);
    const beganAt = bench.now();
    await bench.deliverEvents();
    expect(sentAt.map((at) => at - beganAt)).toEqual([1_000, 20_000]);
  });

  it("are stored though the message could not be sent, and a sweep sends it", async () => {
    const { bench, rows, callback } = await createBench(1);
    await bench.eventsQueue.sendMany(rows.map((row) => callback(row)));
    bench.deps.eventsQueue = { ...bench.eventsQueue, sendMany: boom };
    expect(await bench.deliverEvents()).toEqual(["ack"]);
    expect(bench.eventsOf("events.not_sent")).toMatchObject([{ level: "warning", count: 1 }]);
    bench.deps.eventsQueue = bench.eventsQueue;
    bench.advance(60_000);
    await bench.sweep();
    await bench.deliverEvents();
    expect(bench.posted).toHaveLength(1);
  });
});
