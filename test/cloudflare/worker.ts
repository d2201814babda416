import api from "../../functions/api/cloudflare.ts";
import { deliveredByCloudflare } from "../../shared/queue/cloudflare-queue.ts";
import type { Delivered } from "../../shared/queue/call-queue.ts";
import type { WorkerEnv } from "../../shared/platform/worker-env.ts";

/** Messages that the queue has delivered and no test has taken. */
export const delivered: Delivered[] = [];

/** The deployed API, with a consumer in place of the dialer that keeps the messages. */
export default {
  ...api,
  queue(batch, env) {
    for (const message of batch.messages) {
      delivered.push(deliveredByCloudflare(message, env.ENVELOPES));
    }
  },
} satisfies ExportedHandler<WorkerEnv>;
