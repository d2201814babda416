import { resolve } from "node:path";

/** The settings of a queue's consumer, as wrangler reads them from wrangler.toml. */
export interface ConsumerSettings {
  maxBatchSize?: number;
  /** Seconds. */
  maxBatchTimeout?: number;
  maxRetries?: number;
  retryDelay?: number;
  deadLetterQueue?: string;
}

/** Returns the code of the Workers that consume a queue in another Worker's stead (queue-pump.ts). */
export async function bundlePump(): Promise<string> {
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    entryPoints: [resolve(import.meta.dirname, "queue-pump.ts")],
    bundle: true,
    format: "esm",
    write: false,
  });
  return outputFiles[0]?.text ?? "";
}

/**
 * Returns the options of the Worker that consumes a queue in another Worker's stead, so that many of its messages are
 * under way at once, as `max_concurrency` says on Cloudflare.
 *
 * @param options `code`: of `bundlePump`; `consumer`: name of the Worker whose queue handler gets the messages; `consumersMax`: deliveries under
 * way at once
 */
export function pumpWorker(
  queue: string,
  options: ConsumerSettings & { code: string; consumer: string; consumersMax: number },
) {
  const {
    code,
    consumer,
    consumersMax,
    maxRetries = 0,
    retryDelay = 0,
    deadLetterQueue = "",
  } = options;
  const { maxBatchSize = 1, maxBatchTimeout = 0 } = options;
  return {
    name: `pump-${queue}`,
    modules: [{ type: "ESModule" as const, path: "pump.js", contents: code }],
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
