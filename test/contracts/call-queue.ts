import { describe, expect, it } from "vitest";
import { type Message, messageSchema } from "../../shared/message.ts";
import type { CallQueue, Delivered } from "../../shared/queue/call-queue.ts";
import { aCall } from "../support/calls.ts";

interface QueueUnderTest {
  queue: CallQueue;
  /** Takes out what has been delivered since. */
  take(): Delivered[] | Promise<Delivered[]>;
}

/** What every call queue does, whatever carries it. */
export function describeCallQueue(
  name: string,
  create: () => QueueUnderTest | Promise<QueueUnderTest>,
): void {
  describe(`${name} as a call queue`, () => {
    /** Waits for `count` messages; a moment longer, so that one too many is seen. */
    async function receive({ take }: QueueUnderTest, count: number): Promise<Message[]> {
      const found: Delivered[] = [];
      const until = Date.now() + 10_000;
      while (found.length < count && Date.now() < until) {
        found.push(...(await take()));
        await new Promise((next) => setTimeout(next, 20));
      }
      await new Promise((next) => setTimeout(next, 100));
      found.push(...(await take()));
      const bodies = await Promise.all(found.map((one) => one.open()));
      return bodies.map((body) => messageSchema.parse(body));
    }

    it("delivers a message whole, whatever is in its context", async () => {
      const under = await create();
      const message: Message = { kind: "call", call: aCall() };
      await under.queue.send(message);
      expect(await receive(under, 1)).toEqual([message]);
    });

    it("delivers a batch of ten thousand calls as one message", async () => {
      const under = await create();
      const message: Message = {
        kind: "batch",
        requestId: "req_1",
        client: "crm",
        acceptedAt: 1,
        seed: "seed",
        firstIndex: 0,
        calls: Array.from({ length: 10_000 }, (_, n) => ({
          phone_number: `+1202555${String(n).padStart(4, "0")}`,
          agent_id: "agent_sales",
          context: { note: `“${n}” ${"é".repeat(150)}` },
        })),
      };
      await under.queue.send(message);
      expect(await receive(under, 1)).toEqual([message]);
    });

    it("delivers messages just below and above any limit of the platform", async () => {
      const under = await create();
      for (const size of [110_000, 119_990, 120_000, 130_000, 300_000]) {
        const call = aCall({ requestId: "r".repeat(size) });
        await under.queue.send({ kind: "call", call });
        expect(await receive(under, 1)).toEqual([{ kind: "call", call }]);
      }
    });

    it("delivers every one of many, however large they are together", async () => {
      const under = await create();
      const messages = Array.from({ length: 250 }, (_, n) => {
        const call = aCall({ requestId: `${n} ${"x".repeat(n % 3 === 0 ? 20_000 : 10)}` });
        return { message: { kind: "call", call } as const };
      });
      expect(await under.queue.sendMany(messages)).toBe(250);
      const received = await receive(under, 250);
      const ids = (all: Message[]) =>
        all.map((one) => (one.kind === "call" ? one.call.id : "")).toSorted();
      expect(ids(received)).toEqual(ids(messages.map(({ message }) => message)));
    });

    it("keeps a delayed message back until its time", async () => {
      const under = await create();
      const sentAt = Date.now();
      await under.queue.send({ kind: "due", id: "call_late" }, 2);
      expect(await under.queue.sendMany([{ message: { kind: "due", id: "call_early" } }])).toBe(1);
      expect(await receive(under, 1)).toEqual([{ kind: "due", id: "call_early" }]);
      expect(await receive(under, 1)).toEqual([{ kind: "due", id: "call_late" }]);
      expect(Date.now() - sentAt).toBeGreaterThanOrEqual(1900);
    });
  });
}
