import api from "../../functions/api/cloudflare.ts";
import { deliveredByCloudflare } from "../../shared/queue/cloudflare-queue.ts";
import type { Delivered } from "../../shared/queue/call-queue.ts";
import type { WorkerEnv } from "../../shared/platform/worker-env.ts";

/** What the queue has delivered and no test has taken. */
export const delivered: Delivered[] = [];

/** The API as it is deployed, and a consumer in the dialer's place that keeps what comes. */
export default {
  ...api,
  queue(batch, env) {
    for (const message of batch.messages) {
      delivered.push(deliveredByCloudflare(message, env.ENVELOPES));
    }
  },
} satisfies ExportedHandler<WorkerEnv>;
