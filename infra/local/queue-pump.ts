/**
 * A Worker of the local run only. The local queue delivers one batch at a time and waits for its end, while
 * Cloudflare delivers as many as `max_concurrency` says. This consumer takes messages at once and passes them to the
 * dialer's own queue handler, so that a hanging host blocks nobody else's calls or events.
 */

/** A message that has failed, as it is put back onto the queue. A fresh one is the text alone. */
interface Failed {
  body: string;
  /** Deliveries that have failed. */
  failures: number;
}

interface Waiting extends Failed {
  id: string;
}

interface PumpEnv {
  /** The Worker whose queue handler gets the messages, as the flag `service_binding_extra_handlers` lets it be called. */
  CONSUMER: {
    queue(
      name: string,
      messages: { id: string; timestamp: Date; attempts: number; body: string }[],
    ): Promise<QueueAnswer>;
  };
  MESSAGES: Queue<Failed>;
  DEAD_LETTERS: Queue<string>;
  /** Deliveries under way at once. */
  CONSUMERS_MAX: number;
  /** Settings of the consumer in wrangler.toml. */
  BATCH_SIZE: number;
  RETRIES_MAX: number;
  RETRY_DELAY: number;
}

interface QueueAnswer {
  outcome: string;
  retryBatch: { retry: boolean; delaySeconds?: number };
  retryMessages: { msgId: string; delaySeconds?: number }[];
}

let underWay = 0;
/** Interval at which a handler looks for room: a promise of one event may not be kept by another one. */
const lookMs = 10;

/** Hands messages over. @returns for each the delay after which it is redelivered, or undefined if it was acknowledged */
async function handOver(name: string, messages: readonly Waiting[], env: PumpEnv) {
  try {
    const delivered = messages.map(({ id, body, failures }) => ({
      id,
      timestamp: new Date(),
      attempts: failures + 1,
      body,
    }));
    const { outcome, retryBatch, retryMessages } = await env.CONSUMER.queue(name, delivered);
    return messages.map(({ id }) => {
      const retried = retryMessages.find(({ msgId }) => msgId === id);
      if (outcome === "ok" && !retryBatch.retry && retried === undefined) return undefined;
      return retried?.delaySeconds ?? retryBatch.delaySeconds ?? env.RETRY_DELAY;
    });
  } catch (error) {
    console.error("A delivery failed:", error);
    return messages.map(() => env.RETRY_DELAY);
  }
}

/** Has messages dealt with: acknowledged, put back onto the queue or, after the last attempt, onto the dead-letter queue. */
async function deliver(name: string, messages: readonly Waiting[], env: PumpEnv): Promise<void> {
  const delays = await handOver(name, messages, env);
  underWay -= 1;
  for (const [index, message] of messages.entries()) {
    const delaySeconds = delays[index];
    if (delaySeconds === undefined) continue;
    const { body } = message;
    const failures = message.failures + 1;
    if (failures > env.RETRIES_MAX) await env.DEAD_LETTERS.send(body, { contentType: "text" });
    else await env.MESSAGES.send({ body, failures }, { contentType: "json", delaySeconds });
  }
}

export default {
  async queue(batch: MessageBatch<string | Failed>, env: PumpEnv, context: ExecutionContext) {
    const messages = batch.messages.map(({ id, body }): Waiting =>
      typeof body === "string" ? { id, body, failures: 0 } : { id, ...body },
    );
    for (let start = 0; start < messages.length; start += env.BATCH_SIZE) {
      while (underWay >= env.CONSUMERS_MAX) await new Promise((next) => setTimeout(next, lookMs));
      underWay += 1;
      context.waitUntil(deliver(batch.queue, messages.slice(start, start + env.BATCH_SIZE), env));
    }
  },
};
