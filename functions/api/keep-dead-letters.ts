import { toCloudflareDelivery } from "../../shared/cloudflare/queue.ts";
import { createR2DeadLetters } from "../../shared/cloudflare/r2-dead-letters.ts";
import { errorForLog, type Log } from "../../shared/lib/log.ts";
import { toLetterName } from "../../shared/ports/dead-letters.ts";

/** A hundred of these delays are longer than a day. After the last try Cloudflare deletes the message. */
const retryAfterSeconds = 900;

/**
 * Stores the messages of a dead-letter queue whole, for 30 days; a sweep of the dialer handles them. The API's Worker does
 * this, as a dialer that dies would lose them: Cloudflare deletes what fails a hundred times and has no further queue.
 */
export async function keepDeadLetters(
  { queue, messages }: MessageBatch,
  bucket: R2Bucket,
  log: Log,
): Promise<void> {
  const letters = createR2DeadLetters(bucket);
  const of = queue.endsWith("-events-dead") ? "events" : "calls";
  let kept = 0;
  for (const message of messages) {
    try {
      // A body that cannot be fetched from R2 is stored as it came, as its object may only be late.
      const body = await toCloudflareDelivery(message, bucket)
        .open()
        .catch(() => String(message.body));
      await letters.keep(toLetterName(of, message.id), body);
      kept += 1;
      message.ack();
    } catch (error) {
      log("alarm", "store.unreachable", { error: errorForLog(error) });
      message.retry({ delaySeconds: retryAfterSeconds });
    }
  }
  if (kept > 0) {
    log("alarm", "message.stored", {
      problem: `dead letters of the ${of} queue are kept in the bucket`,
      count: kept,
    });
  }
}
