import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CallEvent, DeliveryOutcome } from "#shared/calls/call-event.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import type { EventAnswer } from "#functions/dialer/runtime/post-event.ts";
import { toDeliverMessages, deliveredKeyOf } from "#shared/events/outbox-ledger.ts";
import { replayRow, pendingOf, exhaustedOf, applyDeliveries } from "#shared/events/outbox-rows.ts";
import { createTestApi } from "#test/support/api.ts";
import { aCall } from "#test/support/calls.ts";
import { type Bench, rowOf } from "#test/support/dialer-calls.ts";
import { apiEnvironment, tokens } from "#test/support/environment.ts";
import { createEventsBench, failed, taken, deliverFor } from "#test/support/events-bench.ts";
import { completed, place } from "#test/support/results-bench.ts";
import { rowIn } from "#test/support/rows.ts";
import { removeCurrent } from "#test/support/documents.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { firstOf } from "#test/support/first-of.ts";

/** Has events of the bench's calls replayed by the operator's API over the same ledger. */
async function replay(bench: Bench, more: object = {}): Promise<number> {
  const plan: object = { ...JSON.parse(apiEnvironment.DIAL_PLAN), events: bench.plan.events };
  const { app } = createTestApi({
    environment: { ...apiEnvironment, DIAL_PLAN: JSON.stringify(plan) },
    ledger: bench.rows,
    documents: bench.documents,
    now: bench.now,
  });
  const timeOf = (ms: number) => new Date(ms).toISOString();
  const range = { from: timeOf(0), until: timeOf(bench.now() + 1) };
  const response = await app.request(
    "/operator/events/replay",
    jsonRequest(tokens.operator, "POST", { client: "crm", ...range, ...more }),
  );
  expect(response.status).toBe(200);
  const { replayed: count }: { replayed: number } = await response.json();
  return count;
}

describe("events that are replayed", () => {
  it("are delivered once more, under the same ids and with the same content", async () => {
    const bench = createEventsBench();
    const calls = await place(bench, 3);
    bench.record = async () => completed;
    await deliverFor(bench, 10);
    const first = bench.posted.splice(0);
    expect(first).toHaveLength(3 * 4); // placed, answered, ended, and the request is finished
    expect(await replay(bench)).toBe(12);
    await deliverFor(bench, 10);
    const wordsOf = (posted: typeof first) =>
      posted
        .map(({ id, body }) => {
          const isOfRequest = body.type === "request.finished";
          // A request is finished anew, at another time.
          return JSON.stringify([id, isOfRequest ? body.data : body]);
        })
        .toSorted();
    expect(wordsOf(bench.posted)).toEqual(wordsOf(first));
    for (const call of calls) expect(await rowOf(bench, call)).toMatchObject({ deliverTo: null });
    expect(await bench.documents.list("request", { limit: 10 })).toEqual([]);
  });

  it("get all of their tries again where they were used up", async () => {
    const bench = createEventsBench({ types: ["call.placed", "request.finished"] });
    const call = firstOf(await place(bench, 1));
    bench.record = async () => completed;
    bench.receive = async () => failed;
    const untilExhausted = async () => {
      for (let minute = 0; minute < 82 * 60; minute += 5) {
        await removeCurrent(bench.documents, { kind: "counters", key: "receiver:*" });
        bench.advance(4 * 60_000);
        await deliverFor(bench, 1);
      }
      expect(await rowOf(bench, call)).toMatchObject({ deliverTo: exhaustedOf("*") });
    };
    await untilExhausted();
    const before = bench.posted.splice(0).length;
    expect(before).toBe(20);
    expect(await replay(bench, { exhausted: true })).toBe(2);
    await untilExhausted();
    expect(bench.posted.splice(0)).toHaveLength(before);
    expect(await replay(bench, { exhausted: true })).toBe(2);
    bench.receive = async () => taken;
    await deliverFor(bench, 10);
    expect(bench.posted.map(({ id }) => id).toSorted()).toEqual([
      `${call.requestId}.finished`,
      `${call.id}.1`,
    ]);
    expect(await replay(bench, { exhausted: true })).toBe(0);
  });

  it("stay pending though an earlier delivery records only now that it delivered them", async () => {
    const bench = createEventsBench({ types: ["request.finished"] });
    bench.record = async () => completed;
    const { promise: answered, resolve: answer } = Promise.withResolvers<EventAnswer>();
    bench.receive = () => (bench.posted.length === 1 ? answered : Promise.resolve(taken));
    const [call] = await place(bench, 1);
    const late = deliverFor(bench, 10);
    await expect.poll(() => bench.posted).toHaveLength(1);
    bench.advance(45_000); // its lease has lapsed, so that another delivery tells the receiver
    const [message] = toDeliverMessages("*", { requests: [call?.requestId ?? ""] }, bench.now());
    await bench.eventsQueue.sendMany(message === undefined ? [] : [message]);
    await bench.deliverEvents();
    expect(bench.posted).toHaveLength(2);
    expect(await replay(bench)).toBe(1);
    bench.advance(60_000);
    await bench.sweep(); // the request is finished anew, and not told yet
    answer(taken);
    await late;
    await deliverFor(bench, 3);
    expect(bench.posted).toHaveLength(3);
    expect(await bench.documents.list("request", { limit: 10 })).toEqual([]);
  });

  it("are delivered though an earlier delivery has recorded them as delivered", async () => {
    const bench = createEventsBench({ types: ["request.finished"] });
    bench.record = async () => completed;
    const [call] = await place(bench, 1);
    await deliverFor(bench, 10);
    expect(bench.posted).toHaveLength(1);
    const note = deliveredKeyOf(call?.requestId ?? "");
    const noted = (await bench.documents.read([note])).get(note.kind, note.key);
    if (noted === undefined) throw new Error("it is told");
    expect(await replay(bench)).toBe(1);
    await bench.documents.write([{ next: noted, seen: null }]);
    await deliverFor(bench, 3);
    expect(bench.posted).toHaveLength(2);
    await deliverFor(bench, 3);
    expect(bench.posted).toHaveLength(2);
  });
});

const events = [1, 2, 3].map((sequence): CallEvent => ({
  type: `call.type_${sequence}`,
  sequence,
  at: sequence,
  state: "PLACED",
  reason: "placed",
  attempt: 1,
  dueAt: sequence,
}));
const anyStep = fc.record({
  sequences: fc.subarray([1, 2, 3]),
  told: fc.constantFrom<DeliveryOutcome | "replayed" | "replayed used up">(
    { kind: "taken" },
    { kind: "failed" },
    { kind: "failed" },
    { kind: "deferred" },
    "replayed",
    "replayed used up",
  ),
});

const dueOf = ({ events: all }: CallRow, sequence: number) =>
  all.find((one) => one.sequence === sequence)?.dueAt ?? 0;

it("a row is in the list in which its events are found, whatever is delivered and replayed", () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 80 }), (steps) => {
      let row: CallRow = {
        ...rowIn("PLACED", aCall()),
        events,
        deliverTo: pendingOf("*"),
        deliverAt: 1,
      };
      let at = 10;
      for (const { sequences, told } of steps) {
        const write = { version: `v${at}`, at: (at += 1000) };
        const before = row;
        if (typeof told === "string") {
          const isWanted = ({ sequence, exhausted }: CallEvent) =>
            sequences.includes(sequence) && (told === "replayed" || exhausted === true);
          row = replayRow(row, { isWanted, receiver: "*" }, write) ?? row;
          const isAgain = before.events.some((one) => one.dueAt === undefined && isWanted(one));
          expect(row !== before).toBe(isAgain);
        } else {
          row =
            applyDeliveries(
              row,
              {
                tried: new Map(
                  sequences.map((one) => [one, { outcome: told, dueAt: dueOf(row, one) }]),
                ),
                receiver: "*",
              },
              write,
            ) ?? row;
        }
        const due = row.events.flatMap(({ dueAt }) => dueAt ?? []);
        const isExhausted = row.events.some(({ exhausted }) => exhausted === true);
        const list = due.length > 0 ? pendingOf("*") : isExhausted ? exhaustedOf("*") : null;
        expect(row.deliverTo).toBe(list);
        if (due.length > 0) expect(row.deliverAt).toBe(Math.min(...due));
        for (const [index, event] of row.events.entries()) {
          expect(event).toMatchObject({ ...events[index], dueAt: event.dueAt });
          expect(event.exhausted === true && event.dueAt !== undefined).toBe(false);
          expect(event.tries ?? 0).toBeLessThanOrEqual(10);
        }
      }
    }),
  );
});
