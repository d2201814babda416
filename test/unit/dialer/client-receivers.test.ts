import { describe, expect, it } from "vitest";
import { dropGone } from "#functions/dialer/events/client-receivers.ts";
import { listDeliveries } from "#shared/events/client-receiver-deliveries.ts";
import { clientReceiverName } from "#shared/ports/receiver-kinds.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { callsNow, rowOf, sendEach } from "#test/support/dialer-calls.ts";
import { deliverFor, deliverNow, failed, taken, toldTo } from "#test/support/events-bench.ts";
import {
  createClientReceiverBench,
  placeFor,
  postsTo,
  setReceivers,
} from "#test/support/client-receivers-bench.ts";
import { completed } from "#test/support/results-bench.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const main = clientReceiverName({ client: "crm", name: "main" });
const other = clientReceiverName({ client: "crm", name: "other" });
/** A field of a document that only a later version can read. */
const later = { needs: ["only-agents"] };
const typesTo = (bench: Parameters<typeof postsTo>[0], receiver: string) =>
  postsTo(bench, receiver).map(({ body }) => body.type);

describe("a client's own receivers", () => {
  it("get each event of their types, beside the plan's receiver", async () => {
    const bench = createClientReceiverBench(toldTo());
    bench.record = async () => completed;
    await setReceivers(bench, "crm", { main: {}, other: { types: ["call.ended"] } });
    const [call] = await placeFor(bench, "crm", 1);
    await deliverFor(bench, 3);
    expect(typesTo(bench, "*")).toEqual([
      "call.placed",
      "call.answered",
      "call.ended",
      "request.finished",
    ]);
    expect(typesTo(bench, main)).toEqual(["call.placed", "call.ended"]);
    expect(typesTo(bench, other)).toEqual(["call.ended"]);
    const ids = (receiver: string) => postsTo(bench, receiver).map(({ id }) => id);
    expect(ids("*")).toEqual(expect.arrayContaining(ids(main)));
    expect(await rowOf(bench, call ?? { id: "" })).toMatchObject({ deliverTo: null });
    expect((await rowOf(bench, call ?? { id: "" })).clientReceiverTo).toBeUndefined();
  });

  it("get events without a receiver in the plan, and request.finished under its id", async () => {
    const bench = createClientReceiverBench();
    bench.record = async () => completed;
    await setReceivers(bench, "crm", { main: { types: ["call.ended", "request.finished"] } });
    const [call] = await placeFor(bench, "crm", 1);
    await deliverFor(bench, 4);
    expect(postsTo(bench, main)).toMatchObject([
      { body: { type: "call.ended" } },
      {
        id: `${call?.requestId}.finished`,
        body: {
          type: "request.finished",
          data: { request_id: call?.requestId, total: 1, counts: { by_state: { PLACED: 1 } } },
        },
      },
    ]);
    expect(await bench.documents.list("request", { limit: 10 })).toEqual([]);
    await deliverFor(bench, 20);
    expect(bench.posted).toHaveLength(2);
  });

  it("get request.finished though this version could not read them for a while", async () => {
    const bench = createClientReceiverBench();
    const finished = { types: ["request.finished" as const] };
    await setReceivers(bench, "crm", { main: finished });
    await placeFor(bench, "crm", 1);
    bench.record = async () => completed;
    await setReceivers(bench, "crm", { main: finished }, later);
    await deliverFor(bench, 10);
    expect(bench.posted).toEqual([]);
    const [unreadable] = await bench.documents.list("receivers", { limit: 1 });
    const seen = unreadable?.version ?? "";
    await bench.documents.remove([{ kind: "receivers", key: "crm", seen }]);
    await setReceivers(bench, "crm", { main: finished });
    await deliverFor(bench, 2);
    expect(bench.posted).toMatchObject([{ body: { type: "request.finished" } }]);
  });

  it("get no event of another client, nor of a time before they were made", async () => {
    const bench = createClientReceiverBench();
    await setReceivers(bench, "shop", { main: {} });
    await placeFor(bench, "crm", 1);
    await setReceivers(bench, "crm", { main: {} });
    bench.record = async () => completed;
    await deliverFor(bench, 3);
    expect(bench.posted).toMatchObject([{ receiver: main, body: { type: "call.ended" } }]);
  });

  it("get the events of the client's tests", async () => {
    const bench = createClientReceiverBench();
    await setReceivers(bench, "crm", { main: {} });
    await placeFor(bench, "test:crm", 1);
    await deliverNow(bench);
    expect(typesTo(bench, main)).toEqual(["call.placed"]);
  });

  it("get nothing where the plan forbids them", async () => {
    const bench = createClientReceiverBench({ clientReceivers: false });
    await setReceivers(bench, "crm", { main: {} });
    const [call] = await placeFor(bench, "crm", 1);
    await deliverFor(bench, 2);
    expect(bench.posted).toEqual([]);
    expect((await rowOf(bench, call ?? { id: "" })).events).toEqual([]);
  });

  it("each repeat only what they name of the context", async () => {
    const types = ["call.rejected" as const];
    const bench = createClientReceiverBench(toldTo({ echo: ["lead"], types }));
    await setReceivers(bench, "crm", {
      main: { echo: ["lead", "deal"], types },
      other: { echo: ["note"], types },
    });
    const context = { lead: "L", deal: "D", note: "N", secret: "S" };
    // Twilio carries no context, so that the call is rejected.
    await sendEach(bench, ...callsNow(bench, 1, { context }, { client: "crm" }));
    await bench.simulate(1, { firstSweepSeconds: 1000 });
    await deliverNow(bench);
    const echoes = bench.posted.map(({ receiver, body }) => [receiver, body.data["echo"]]);
    expect(Object.fromEntries(echoes)).toEqual({
      "*": { lead: "L" },
      [main]: { lead: "L", deal: "D" },
      [other]: { note: "N" },
    });
  });

  it("repeat the context of a call that was dialed at once, when its row has no context any more", async () => {
    const bench = createDialerBench();
    await setReceivers(bench, "crm", { main: { echo: ["lead"] } });
    await placeFor(bench, "crm", 1, { context: { lead: "L", name: "Ada" } });
    await deliverNow(bench);
    expect(bench.posted.map(({ body }) => [body.type, body.data["echo"]])).toEqual([
      ["call.placed", { lead: "L" }],
    ]);
  });

  it("have tries, a health and a list of deliveries of their own", inSlowTier, async () => {
    const bench = createClientReceiverBench(toldTo({ types: ["call.placed"] }));
    await setReceivers(bench, "crm", { main: {}, other: {} });
    bench.receive = async (receiver) => (receiver === main ? failed : taken);
    await placeFor(bench, "crm", 12);
    await deliverFor(bench, 1);
    expect(postsTo(bench, "*")).toHaveLength(12);
    expect(postsTo(bench, other)).toHaveLength(12);
    const read = async (name: string) =>
      listDeliveries(
        { client: "crm", name, limit: 200 },
        { ...bench.deps, clock: bench.deps.clock },
      );
    const tries = (await read("main")).deliveries;
    expect(tries.every(({ status, type }) => status === 503 && type === "call.placed")).toBe(true);
    expect((await read("other")).deliveries.map(({ status }) => status)).toEqual(
      Array(12).fill(204),
    );
    const document = { kind: "receiver", key: main } as const;
    const health = (await bench.documents.read([document])).get("receiver", main)?.value.health;
    expect(health).toMatchObject({ failures: expect.any(Number), probeAt: expect.any(Number) });
    // Neither operators' breakers nor their alarms are about it.
    expect(await bench.documents.list("breaker", { limit: 10 })).toEqual([]);
    expect(bench.events.filter(({ level }) => level === "alarm")).toEqual([]);
    bench.receive = async () => taken;
    await deliverFor(bench, 40);
    expect(new Set(postsTo(bench, main).map(({ id }) => id)).size).toBe(12);
    expect(await rowsPending(bench)).toEqual([]);
  });

  it("lose what is pending once they are removed", inSlowTier, async () => {
    const bench = createClientReceiverBench();
    await setReceivers(bench, "crm", { main: {}, other: {} });
    bench.receive = async () => failed;
    await placeFor(bench, "crm", 3);
    await deliverFor(bench, 1);
    await setReceivers(bench, "crm", { other: {} });
    bench.posted.length = 0;
    bench.receive = async () => taken;
    await deliverFor(bench, 40);
    expect(postsTo(bench, main)).toEqual([]);
    expect(postsTo(bench, other)).toEqual([]);
    expect(await rowsPending(bench)).toEqual([]);
  });

  it("keep the events of one that another process has made within the minute", async () => {
    const bench = createClientReceiverBench();
    await setReceivers(bench, "crm", { main: {} });
    await placeFor(bench, "crm", 1);
    const known = [...bench.deps.memory.knownReceivers];
    bench.advance(1);
    await setReceivers(bench, "crm", { main: {}, other: {} });
    const [call] = await placeFor(bench, "crm", 1);
    bench.deps.memory.knownReceivers.clear();
    for (const [client, one] of known) {
      bench.deps.memory.knownReceivers.set(client, { ...one, readAt: bench.now() });
    }
    await deliverFor(bench, 2);
    expect(postsTo(bench, other).map(({ id }) => id)).toEqual([`${call?.id}.1`]);
  });

  it("keep their events while only a later version can read them", async () => {
    const bench = createClientReceiverBench();
    await setReceivers(bench, "crm", { main: {}, other: {} });
    await placeFor(bench, "crm", 1);
    const known = bench.deps.memory.knownReceivers;
    for (const client of known.keys()) known.set(client, { readAt: bench.now(), own: [] });
    await setReceivers(bench, "crm", { main: {} }, later);
    const pending = await rowsPending(bench);
    expect(pending).not.toEqual([]);
    const { rows } = await bench.rows.list({ all: true, limit: 10 });
    expect(await dropGone(rows, bench.deps)).toEqual(rows);
    expect(await rowsPending(bench)).toEqual(pending);
  });

  it("get the events from before this version could read them, each of its types", async () => {
    const bench = createClientReceiverBench();
    bench.record = async () => completed;
    const createdAt = bench.now();
    const receivers = { main: { createdAt }, other: { createdAt, types: ["call.ended"] } };
    await setReceivers(bench, "crm", receivers, later);
    await placeFor(bench, "crm", 1);
    await deliverFor(bench, 10);
    expect(bench.posted).toEqual([]);
    expect(bench.eventsOf("sweep.failed")).toEqual([]);
    await setReceivers(bench, "crm", receivers);
    await deliverFor(bench, 20);
    expect(typesTo(bench, main).toSorted()).toEqual(["call.ended", "call.placed"]);
    expect(typesTo(bench, other)).toEqual(["call.ended"]);
    expect(await rowsPending(bench)).toEqual([]);
  });

  it("get the events that this version knows, all of them without types", async () => {
    const bench = createClientReceiverBench();
    bench.record = async () => completed;
    const types = ["call.sworn", "call.ended"];
    const others = { types: undefined, requestsPerSecond: 5_000, echo: Array(20).fill("a") };
    await setReceivers(bench, "crm", { main: { types }, other: others });
    await placeFor(bench, "crm", 1);
    await deliverFor(bench, 4);
    expect(typesTo(bench, main)).toEqual(["call.ended"]);
    expect(typesTo(bench, other)).toContain("request.finished");
    expect(typesTo(bench, other)).toHaveLength(4);
  });
});

async function rowsPending(bench: Parameters<typeof rowOf>[0]) {
  const { rows } = await bench.rows.list({ all: true, limit: 100 });
  return rows.flatMap(({ id, clientReceiverTo }) =>
    clientReceiverTo === undefined ? [] : [id, clientReceiverTo],
  );
}
