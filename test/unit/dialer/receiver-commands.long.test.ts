import { describe, expect, it } from "vitest";
import {
  listDeliveries,
  orderReplay,
  sendTestEvent,
} from "#shared/events/client-receiver-deliveries.ts";
import { clientReceiverName } from "#shared/ports/receiver-kinds.ts";
import type { Bench } from "#test/support/dialer-calls.ts";
import { deliverFor, deliverNow, failed, taken } from "#test/support/events-bench.ts";
import {
  createClientReceiverBench,
  placeFor,
  postsTo,
  setReceivers,
} from "#test/support/client-receivers-bench.ts";
import { minuteMs } from "#test/support/results-bench.ts";

const main = clientReceiverName({ client: "crm", name: "main" });
const triesOf = async (bench: Bench, name = "main") =>
  listDeliveries({ client: "crm", name, limit: 200 }, bench.deps);

describe("a test event", () => {
  it("is posted once, and its answer is in the list of deliveries", async () => {
    const bench = createClientReceiverBench();
    await setReceivers(bench, "crm", { main: {}, other: {} });
    bench.receive = async () => ({ status: 418, text: "" });
    await sendTestEvent({ client: "crm", name: "main", id: "test_1" }, bench.deps);
    await deliverNow(bench);
    await deliverFor(bench, 10);
    expect(bench.posted).toMatchObject([
      {
        receiver: main,
        id: "test_1",
        body: { type: "receiver.test", data: { receiver: "main" } },
      },
    ]);
    expect((await triesOf(bench)).deliveries).toMatchObject([
      { n: 1, event: "test_1", type: "receiver.test", try: 1, status: 418 },
    ]);
  });

  it("is posted to a receiver that was made just now, and to its new address", async () => {
    const bench = createClientReceiverBench();
    for (const [n, url] of ["https://one.example.com/", "https://two.example.com/"].entries()) {
      await placeFor(bench, "crm", 1); // the process knows the receivers from before
      const known = new Map(bench.deps.memory.knownReceivers);
      await setReceivers(bench, "crm", { main: { url, types: ["request.finished"] } });
      for (const [client, one] of known) bench.deps.memory.knownReceivers.set(client, one);
      const before = bench.posted.length;
      const urls: string[] = [];
      const { postEvent } = bench.deps.settings;
      bench.deps.settings.postEvent = async (receiver, event) => {
        urls.push(receiver.url);
        return postEvent(receiver, event);
      };
      await sendTestEvent({ client: "crm", name: "main", id: `test_${n}` }, bench.deps);
      await deliverNow(bench);
      bench.deps.settings.postEvent = postEvent;
      expect([bench.posted.length - before, urls]).toEqual([1, [url]]);
    }
  });

  it("to a receiver that hangs holds a delivery no longer than its answer, however many a client sends", async () => {
    const bench = createClientReceiverBench();
    await setReceivers(bench, "crm", { main: {} });
    bench.receive = async () => {
      await bench.sleep(15_000);
      return { error: "time_out" };
    };
    const ids = Array.from({ length: 8 }, (_, n) => `test_${n}`);
    for (const id of ids) await sendTestEvent({ client: "crm", name: "main", id }, bench.deps);
    const begunAt = bench.now();
    await bench.deliverEvents();
    expect(bench.now() - begunAt).toBeLessThan(20_000);
    await bench.simulateEvents(300);
    expect(bench.posted.map(({ id }) => id).toSorted()).toEqual(ids);
  });

  it("passes an open breaker, and closes it by its success", async () => {
    const bench = createClientReceiverBench();
    await setReceivers(bench, "crm", { main: {} });
    bench.receive = async () => ({ status: 410, text: "" });
    await placeFor(bench, "crm", 3);
    await deliverNow(bench);
    const posted = bench.posted.length;
    bench.receive = async () => taken;
    await sendTestEvent({ client: "crm", name: "main", id: "test_1" }, bench.deps);
    await deliverNow(bench);
    expect(bench.posted.slice(posted).map(({ id }) => id)).toEqual(["test_1"]);
    await deliverFor(bench, 2);
    expect(new Set(postsTo(bench, main).map(({ id }) => id)).size).toBe(4);
  });

  it("is not sent to a receiver that is gone, nor after ten minutes", async () => {
    const bench = createClientReceiverBench();
    await setReceivers(bench, "crm", { main: {} });
    await sendTestEvent({ client: "crm", name: "gone", id: "test_1" }, bench.deps);
    await sendTestEvent({ client: "crm", name: "main", id: "test_2" }, bench.deps);
    bench.advance(11 * minuteMs);
    await deliverNow(bench);
    expect(bench.posted).toEqual([]);
  });
});

describe("a replay", () => {
  it("delivers again what the receiver has had in the time, and nothing of others", async () => {
    const bench = createClientReceiverBench();
    await setReceivers(bench, "crm", { main: {}, other: {} });
    await setReceivers(bench, "shop", { main: {} });
    await placeFor(bench, "crm", 1);
    bench.advance(minuteMs);
    const from = bench.now();
    const wanted = await placeFor(bench, "crm", 30);
    const until = bench.now();
    bench.advance(minuteMs);
    await placeFor(bench, "crm", 1);
    await placeFor(bench, "shop", 1);
    await deliverFor(bench, 2);
    bench.posted.length = 0;
    await orderReplay({ client: "crm", name: "main", from, until }, bench.deps);
    await deliverFor(bench, 2);
    expect(new Set(bench.posted.map(({ receiver }) => receiver))).toEqual(new Set([main]));
    const ids = bench.posted.map(({ id }) => id).toSorted();
    expect(ids).toEqual(wanted.map(({ id }) => `${id}.1`).toSorted());
  });

  it("of 1,200 events continues over many requests, and through those of many calls", async () => {
    const bench = createClientReceiverBench();
    await setReceivers(bench, "crm", { main: {} });
    const from = bench.now();
    for (let n = 0; n < 60; n++) await placeFor(bench, "crm", 20);
    bench.advance(1000);
    await deliverFor(bench, 5);
    expect(bench.posted).toHaveLength(1_200);
    bench.posted.length = 0;
    await orderReplay({ client: "crm", name: "main", from, until: bench.now() }, bench.deps);
    await deliverFor(bench, 5);
    expect(new Set(bench.posted.map(({ id }) => id)).size).toBe(1_200);
  });

  it("gives exhausted events all their tries again", async () => {
    const bench = createClientReceiverBench();
    await setReceivers(bench, "crm", { main: { types: ["call.placed"] } });
    // Now and then an answer keeps the breaker closed.
    let n = 0;
    bench.receive = async () => (n++ % 9 === 8 ? taken : failed);
    const from = bench.now();
    await placeFor(bench, "crm", 10);
    for (let hour = 0; hour < 90; hour++) {
      bench.advance(59 * minuteMs);
      await deliverFor(bench, 1);
    }
    const { rows } = await bench.rows.list({ all: true, limit: 100 });
    const states = rows.flatMap(({ events }) => events.map(({ to }) => to?.["main"]));
    expect(states.filter((state) => state?.exhausted === true).length).toBeGreaterThan(1);
    bench.receive = async () => taken;
    bench.posted.length = 0;
    await orderReplay({ client: "crm", name: "main", from, until: bench.now() }, bench.deps);
    await deliverFor(bench, 3);
    expect(new Set(bench.posted.map(({ id }) => id)).size).toBe(10);
  });
});

describe("the list of deliveries", () => {
  it("keeps the latest 200 tries of seven days, page by page", async () => {
    const bench = createClientReceiverBench();
    await setReceivers(bench, "crm", { main: {} });
    for (let n = 0; n < 23; n++) await placeFor(bench, "crm", 10);
    await deliverFor(bench, 2);
    const { deliveries, next } = await triesOf(bench);
    expect(deliveries).toHaveLength(200);
    expect(next).toBeUndefined();
    const pages: number[] = [];
    let before: number | undefined;
    do {
      const page = await listDeliveries(
        { client: "crm", name: "main", limit: 30, ...(before === undefined ? {} : { before }) },
        bench.deps,
      );
      pages.push(...page.deliveries.map((one) => one.n));
      before = page.next;
    } while (before !== undefined);
    expect(pages).toEqual(deliveries.map((one) => one.n));
    expect(pages[0]).toBe(230);
    bench.advance(7 * 24 * 60 * minuteMs);
    expect(await triesOf(bench)).toEqual({ deliveries: [] });
  });

  it("is written once for the tries of a turn", async () => {
    const bench = createClientReceiverBench();
    await setReceivers(bench, "crm", { main: {} });
    await placeFor(bench, "crm", 20);
    let writes = 0;
    const { write } = bench.deps.documents;
    bench.deps.documents.write = (changes) => {
      writes += changes.filter(({ next }) => next.kind === "deliveries").length;
      return write(changes);
    };
    await deliverNow(bench);
    expect(bench.posted).toHaveLength(20);
    expect(writes).toBeLessThanOrEqual(2);
  });
});
