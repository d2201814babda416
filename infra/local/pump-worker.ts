import { resolve } from "node:path";
import { build } from "esbuild";

/** The settings of a queue's consumer, as wrangler reads them from wrangler.toml. */
export interface ConsumerSettings {
  maxBatchSize?: number;
  /** Seconds. */
  maxBatchTimeout?: number;
  maxRetries?: number;
  retryDelay?: number;
  deadLetterQueue?: string;
}

/**
 * Returns the options of the Worker that consumes a queue in another Worker's stead, so that many of its messages are
 * under way at once, as `max_concurrency` says on Cloudflare (queue-pump.ts).
 *
 * @param options `consumer`: name of the Worker whose queue handler gets the messages; `consumersMax`: deliveries under
 * way at once
 */
export async function pumpWorker(
  queue: string,
  options: ConsumerSettings & { consumer: string; consumersMax: number },
) {
  const { consumer, consumersMax, maxRetries = 0, retryDelay = 0, deadLetterQueue = "" } = options;
  const { maxBatchSize = 1, maxBatchTimeout = 0 } = options;
  const { outputFiles } = await build({
    entryPoints: [resolve(import.meta.dirname, "queue-pump.ts")],
    bundle: true,
    format: "esm",
    write: false,
  });
  return {
    name: `pump-${queue}`,
    modules: [{ type: "ESModule" as const, path: "pump.js", contents: outputFiles[0]?.text ?? "" }],
    compatibilityDate: "2026-10-30",
    compatibilityFlags: ["service_binding_extra_handlers", "queue_consumer_no_wait_for_wait_until"],
    serviceBindings: { CONSUMER: consumer },
    queueProducers: { MESSAGES: queue, DEAD_LETTERS: deadLetterQueue },
    queueConsumers: { [queue]: { maxBatchSize: 10, maxBatchTimeout, maxRetries: 100 } },
    bindings: {
      CONSUMERS_MAX: consumersMax,
      BATCH_SIZE: maxBatchSize,
      RETRIES_MAX: maxRetries,
      RETRY_DELAY: retryDelay,
    },
  };
}
