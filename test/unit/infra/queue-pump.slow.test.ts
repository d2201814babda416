import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { afterEach, describe, expect, it } from "vitest";
import { bundlePump, pumpWorker } from "#infra/local/pump-worker.ts";
import { until } from "#test/support/service.ts";

/** A delivery as the consumer saw it. */
interface Seen {
  queue: string;
  body: string;
  attempts: number;
  at: number;
}

/**
 * A consumer that is told by a message's text how to answer it, and that shows its deliveries: `hang` is never answered,
 * `retry` is handed back with a delay of a second, `throw` is an error.
 */
const consumer = `
let seen = [];
let most = 0, now = 0;
export default {
  async queue(batch) {
    for (const message of batch.messages) {
      const { body, attempts } = message;
      seen.push({ queue: batch.queue, body, attempts, at: Date.now() });
      if (batch.queue === "dead") { message.ack(); continue; }
      most = Math.max(most, ++now);
      try {
        if (body === "throw") throw new Error("on purpose");
        if (body.startsWith("hang")) await new Promise((next) => setTimeout(next, 60_000));
        if (body.startsWith("slow")) await new Promise((next) => setTimeout(next, 300));
      } finally { now--; }
      if (body === "retry") message.retry({ delaySeconds: 1 });
      else message.ack();
    }
  },
  async fetch(request, env) {
    if (request.method === "POST") {
      const messages = (await request.json()).map((body) => ({ body, contentType: "text" }));
      await env.MESSAGES.sendBatch(messages);
    }
    return Response.json({ seen, most });
  },
};`;

let miniflare: Miniflare | undefined;
afterEach(() => miniflare?.dispose());

async function startPump(consumersMax: number, maxRetries = 2, maxBatchSize = 1) {
  const deadLetterQueue = "dead";
  const settings = {
    code: await bundlePump(),
    consumer: "consumer",
    consumersMax,
    maxRetries,
    maxBatchSize,
    deadLetterQueue,
  };
  miniflare = new Miniflare(
    convertV4MiniflareOptions({
      cf: false,
      telemetry: { enabled: false },
      workers: [
        {
          name: "consumer",
          modules: [{ type: "ESModule" as const, path: "consumer.js", contents: consumer }],
          compatibilityDate: "2026-10-30",
          queueProducers: { MESSAGES: "messages" },
          queueConsumers: { dead: { maxBatchSize: 1, maxBatchTimeout: 0 } },
        },
        pumpWorker("messages", settings),
      ],
    }),
  );
  const worker = await miniflare.getWorker("consumer");
  const state = async (): Promise<{ seen: Seen[]; most: number }> => {
    const response = await worker.fetch("http://consumer/");
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the consumer above answers so
    return (await response.json()) as { seen: Seen[]; most: number };
  };
  return {
    state,
    send: (...bodies: string[]) =>
      worker.fetch("http://consumer/", { method: "POST", body: JSON.stringify(bodies) }),
    seen: async (body: string) => (await state()).seen.filter((one) => one.body === body),
  };
}

describe("the local queue's pump", () => {
  it("delivers beside messages that hang, at most as many at once as it may", async () => {
    const pump = await startPump(5);
    await pump.send("hang 1", "hang 2", ...Array.from({ length: 12 }, (_, n) => `slow ${n}`));
    await until(async () => (await pump.seen("slow 11")).length === 1);
    expect((await pump.state()).most).toBe(5);
    await pump.send("next");
    await until(async () => (await pump.seen("next")).length === 1);
  });

  it("hands over as many messages at once as a batch has, and has each of them answered alone", async () => {
    const pump = await startPump(5, 1, 10);
    await pump.send("slow 1", "retry", "slow 2");
    await until(async () => (await pump.seen("retry")).length === 3);
    expect((await pump.seen("retry")).map(({ queue }) => queue)).toEqual([
      "messages",
      "messages",
      "dead",
    ]);
    // The consumer deals with the messages of a batch one after another.
    const [[first], [second]] = [await pump.seen("slow 1"), await pump.seen("slow 2")];
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(250);
    expect(await pump.seen("slow 2")).toHaveLength(1);
  });

  it("waits for room where all that may be under way hang", async () => {
    const pump = await startPump(2);
    await pump.send("slow 1", "slow 2", "next");
    await until(async () => (await pump.seen("next")).length === 1);
    const [[slow], [next]] = [await pump.seen("slow 1"), await pump.seen("next")];
    expect((next?.at ?? 0) - (slow?.at ?? 0)).toBeGreaterThanOrEqual(250);
  });

  it("delivers again after the delay that was asked for, counting, and then to the dead-letter queue", async () => {
    const pump = await startPump(5);
    await pump.send("retry", "throw");
    await until(async () => (await pump.seen("retry")).length === 4);
    const retried = await pump.seen("retry");
    expect(retried.map(({ queue, attempts }) => [queue, attempts])).toEqual([
      ["messages", 1],
      ["messages", 2],
      ["messages", 3],
      ["dead", 1],
    ]);
    const times = retried.map(({ at }) => at);
    for (const n of [1, 2]) {
      expect((times[n] ?? 0) - (times[n - 1] ?? 0)).toBeGreaterThanOrEqual(950);
    }
    expect((await pump.seen("throw")).map(({ queue }) => queue)).toEqual([
      "messages",
      "messages",
      "messages",
      "dead",
    ]);
  });
});
