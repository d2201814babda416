import api, { type ApiWorkerEnv } from "#functions/api/cloudflare.ts";
import { toCloudflareDelivery } from "#shared/cloudflare/queue.ts";
import type { Delivered } from "#shared/ports/queue.ts";

/** Messages that the queue has delivered and no test has taken. */
export const delivered: Delivered[] = [];
/** The same of the events queue. */
export const deliveredEvents: Delivered[] = [];

/** The deployed API, with a consumer in place of the dialer that keeps the messages. */
export default {
  ...api,
  queue(batch, env) {
    const kept = batch.queue.endsWith("-events") ? deliveredEvents : delivered;
    for (const message of batch.messages) {
      kept.push(toCloudflareDelivery(message, env.ENVELOPES));
    }
  },
} satisfies ExportedHandler<ApiWorkerEnv>;
