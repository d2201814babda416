import { describe, expect, it } from "vitest";
import { type EventMessage, eventMessageSchema } from "#shared/ports/event-messages.ts";
import { type Message, messageSchema, createRequestMessage } from "#shared/ports/call-messages.ts";
import type { CallQueue, Delivered } from "#shared/ports/queue.ts";
import { aCall, aRequestId, toCallsMessage } from "../support/calls.ts";
import { perTier, inSlowTier } from "../support/per-tier.ts";

interface QueueUnderTest<Sent = Message> {
  queue: CallQueue<Sent>;
  /** Removes and returns the messages delivered since the last call. */
  take(): Delivered[] | Promise<Delivered[]>;
}

const dispatchOf = (id: string): Message => ({
  kind: "dispatch",
  rows: [{ id, account: "webhook" }],
});

/** Describes the behaviour of every call queue, on any transport. */
export function describeCallQueue(
  name: string,
  create: () => QueueUnderTest | Promise<QueueUnderTest>,
): void {
  describe(`${name} as a call queue`, () => {
    const receive = async (under: QueueUnderTest, count: number): Promise<Message[]> =>
      (await bodiesOf(under, count)).map((body) => messageSchema.parse(JSON.parse(body)));

    it("delivers a message whole, whatever is in its context", async () => {
      const under = await create();
      const message = toCallsMessage([aCall()]);
      await under.queue.send(message);
      expect(await receive(under, 1)).toEqual([message]);
    });

    it("delivers a request around its body's text, with any white space and characters", async () => {
      const under = await create();
      const accepted = { requestId: aRequestId(), client: "crm", acceptedAt: 1 };
      const context = { name: "Zoë \u007f \uffff 😀", note: "a\n\tb" };
      const request = { phone_number: "+12025550123", agent_id: "agent_sales", context };
      const pretty = JSON.stringify([request], null, 2);
      for (const text of [pretty, `\r\n\t${pretty.replaceAll("\n", "\r\n")}\n`]) {
        await under.queue.send(createRequestMessage(accepted, { text, isBatch: true }));
        const [received] = await receive(under, 1);
        expect(received).toEqual({ kind: "calls", ...accepted, calls: [{ index: 0, request }] });
      }
    });

    it("delivers a batch of ten thousand calls as one message", inSlowTier, async () => {
      const under = await create();
      const message: Message = {
        kind: "calls",
        requestId: aRequestId(),
        client: "crm",
        acceptedAt: 1,
        calls: Array.from({ length: 10_000 }, (_, index) => ({
          index,
          request: {
            phone_number: `+1202555${String(index).padStart(4, "0")}`,
            agent_id: "agent_sales",
            context: { note: `“${index}” ${"é".repeat(150)}` },
          },
        })),
      };
      await under.queue.send(message);
      expect(await receive(under, 1)).toEqual([message]);
    });

    it("delivers messages just below and above any limit of the platform", async () => {
      const under = await create();
      for (const size of [110_000, 119_990, 120_000, 130_000, 300_000]) {
        const message = toCallsMessage([aCall({ client: "c".repeat(size) })]);
        await under.queue.send(message);
        expect(await receive(under, 1)).toEqual([message]);
      }
    });

    it("delivers every one of many, however large they are together", async () => {
      const under = await create();
      const count = perTier({ quick: 40, long: 250 });
      const messages = Array.from({ length: count }, (_, n) => {
        return {
          message: toCallsMessage([aCall({ client: "x".repeat(n % 3 === 0 ? 20_000 : 10) })]),
        };
      });
      expect(await under.queue.sendMany(messages)).toBe(count);
      const received = await receive(under, count);
      const ids = (all: Message[]) =>
        all.map((one) => (one.kind === "calls" ? one.requestId : "")).toSorted();
      expect(ids(received)).toEqual(ids(messages.map(({ message }) => message)));
    });

    it("delivers a delayed message only once its time has come", async () => {
      const under = await create();
      const sentAt = Date.now();
      await under.queue.send(dispatchOf("call_late"), 2);
      expect(await under.queue.sendMany([{ message: dispatchOf("call_early") }])).toBe(1);
      expect(await receive(under, 1)).toEqual([dispatchOf("call_early")]);
      expect(await receive(under, 1)).toEqual([dispatchOf("call_late")]);
      expect(Date.now() - sentAt).toBeGreaterThanOrEqual(1900);
    });
  });
}

/** Describes the behaviour of every events queue, on any transport. */
export function describeEventsQueue(
  name: string,
  create: () => QueueUnderTest<EventMessage> | Promise<QueueUnderTest<EventMessage>>,
): void {
  describe(`${name} as an events queue`, () => {
    it("delivers hints and signed bodies whole, whatever is in them", async () => {
      const under = await create();
      const poll: EventMessage = { kind: "poll", account: "twilio", sentAt: 1 };
      const callback: EventMessage = {
        kind: "callback",
        account: "livekit",
        call: { id: "call_1", claim: "v1" },
        signed: {
          body: '"\u0001\\é\uFFFE'.repeat(13_000),
          headers: { authorization: "token" },
          receivedAt: 2,
        },
      };
      await under.queue.send(callback);
      expect(await under.queue.sendMany([{ message: poll }])).toBe(1);
      const bodies = await bodiesOf(under, 2);
      const received = bodies.map((body) => eventMessageSchema.parse(JSON.parse(body)));
      expect(received.toSorted((one, other) => one.kind.localeCompare(other.kind))).toEqual([
        callback,
        poll,
      ]);
    });
  });
}

/** Waits for `count` messages, and a moment longer, so that a surplus message is seen. Resolves to their bodies. */
async function bodiesOf({ take }: Pick<QueueUnderTest, "take">, count: number): Promise<string[]> {
  const found: Delivered[] = [];
  const hangsAt = Date.now() + 300_000;
  while (found.length < count && Date.now() < hangsAt) {
    found.push(...(await take()));
    await new Promise((next) => setTimeout(next, 20));
  }
  await new Promise((next) => setTimeout(next, 100));
  found.push(...(await take()));
  return Promise.all(found.map((one) => one.open()));
}
