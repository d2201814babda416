import { describe, expect, it } from "vitest";
import type { EventAnswer } from "#functions/dialer/runtime/post-event.ts";
import { clientReceiverName } from "#shared/ports/receiver-kinds.ts";
import { indexClientReceiverEvents } from "#shared/events/client-receiver-events.ts";
import { aRowIn } from "#test/support/call-rows.ts";
import { type Bench, put, putDocument } from "#test/support/dialer-calls.ts";
import { taken, toldTo } from "#test/support/events-bench.ts";
import {
  createClientReceiverBench,
  placeFor,
  postsTo,
  setReceivers,
} from "#test/support/client-receivers-bench.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const limitMs = 15_000;
const types = ["call.placed" as const];
const own = (client: string, name = "main") => clientReceiverName({ client, name });

/** Answers of a receiver that hangs until its request's time limit. */
async function hang(bench: Bench): Promise<EventAnswer> {
  await bench.sleep(limitMs);
  return { error: "time_out" };
}

/** Lets minutes pass, with a sweep in each and as many deliveries of the events queue as AWS has. */
async function pass(bench: Bench, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) {
    await bench.sweep();
    await bench.simulateEvents(60, { consumers: 6, batchSize: 10 });
  }
}

describe("own receivers that hang", () => {
  it("of many clients delay the plan's receiver by seconds, and another client's by a minute", async () => {
    const bench = createClientReceiverBench(toldTo({ types }));
    const clients = Array.from({ length: 60 }, (_, n) => `ill-${n}`);
    for (const client of clients) await setReceivers(bench, client, { main: { types } });
    await setReceivers(bench, "well", { main: { types } });
    bench.receive = async (receiver) => (receiver.startsWith("own:ill") ? hang(bench) : taken);
    for (const client of clients) await placeFor(bench, client, 1);
    const from = bench.now();
    await bench.simulateEvents(2, { consumers: 6, batchSize: 10 });
    await placeFor(bench, "well", 20);
    await pass(bench, 2);
    const lastTo = (receiver: string) =>
      Math.max(...postsTo(bench, receiver).map(({ at }) => at)) - from;
    expect(postsTo(bench, "*")).toHaveLength(80);
    expect(lastTo("*")).toBeLessThan(6_000);
    expect(postsTo(bench, own("well"))).toHaveLength(20);
    expect(lastTo(own("well"))).toBeLessThan(62_000);
  });

  it("delay neither the same client's other receiver nor its retries", async () => {
    const bench = createClientReceiverBench();
    await setReceivers(bench, "crm", { ill: { types }, well: { types } });
    const failing = new Set<string>();
    bench.receive = async (receiver, id) => {
      if (receiver === own("crm", "ill")) return hang(bench);
      return failing.has(id) ? { status: 500, text: "" } : taken;
    };
    const calls = await placeFor(bench, "crm", 30);
    for (const { id } of calls.slice(0, 3)) failing.add(`${id}.1`);
    const from = bench.now();
    await pass(bench, 1);
    const wellIds = () => new Set(postsTo(bench, own("crm", "well")).map(({ id }) => id));
    expect(wellIds().size).toBe(30);
    // These come again by sweeps, from lists that both receivers share.
    await pass(bench, 8);
    failing.clear();
    const before = bench.posted.length;
    await pass(bench, 45);
    const late = bench.posted
      .slice(before)
      .filter(({ receiver }) => receiver === own("crm", "well"));
    expect(late).toHaveLength(3);
    expect(Math.max(...late.map(({ at }) => at)) - from).toBeLessThan(50 * 60_000);
  });

  it(
    "leave the others their own turns though hundreds of clients' are dead",
    inSlowTier,
    async () => {
      const bench = createClientReceiverBench();
      const clients = Array.from({ length: 300 }, (_, n) => `dead-${n}`);
      for (const client of clients) await setReceivers(bench, client, { main: { types } });
      await setReceivers(bench, "zz-well", { main: { types } });
      let isWell = false;
      bench.receive = async (receiver) =>
        receiver.startsWith("own:dead") || !isWell ? { status: 503, text: "" } : taken;
      for (const client of clients) await placeFor(bench, client, 1);
      await placeFor(bench, "zz-well", 5);
      await pass(bench, 10);
      isWell = true;
      bench.posted.length = 0;
      await pass(bench, 35);
      expect(new Set(postsTo(bench, own("zz-well")).map(({ id }) => id)).size).toBe(5);
    },
  );

  it("do not hide rows that another receiver of the client can have now", async () => {
    const bench = createClientReceiverBench();
    await setReceivers(bench, "crm", {
      ill: { types, createdAt: 0 },
      well: { types, createdAt: 0 },
    });
    const now = bench.now();
    const breaker = { failures: 10, probeAt: now + 3_600_000, intervalMs: 900_000 };
    const value = { leaseUntil: 0, nextAt: 0, isSlow: false, breaker };
    await putDocument(bench, { kind: "receiver", key: own("crm", "ill") }, value);
    const rowOf = (wellAt: number, n: number) => {
      const at = now - 600_000 + n;
      const to = { ill: { dueAt: at }, well: { tries: 2, dueAt: wellAt } };
      const event = { type: "call.placed", sequence: 1, at, state: "PLACED", reason: "placed" };
      const events = [{ ...event, attempt: 1, clientReceiversOnly: true, to }];
      return indexClientReceiverEvents(aRowIn("PLACED", { client: "crm", events }));
    };
    const later = Array.from({ length: 310 }, (_, n) => rowOf(now + 3_600_000, n));
    const due = Array.from({ length: 5 }, (_, n) => rowOf(now - 60_000, 400 + n));
    await put(bench, ...later, ...due);
    await pass(bench, 3);
    const ids = postsTo(bench, own("crm", "well")).map(({ id }) => id);
    expect(ids.toSorted()).toEqual(due.map(({ id }) => `${id}.1`).toSorted());
  });
});
