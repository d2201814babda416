import { errorForLog, type Log } from "#shared/lib/log.ts";
import { withTimeLimit } from "#shared/lib/retry.ts";
import { type DeadLetters, toLetterName } from "#shared/ports/dead-letters.ts";
import type { AckOrRetry, Delivered } from "#shared/ports/queue.ts";
import { storeSecondsMax } from "../http/port-limits.ts";

/** A hundred of these delays are longer than a day. After the last try Cloudflare deletes the message. */
const again = { retryAfterSeconds: 900 };

/** A message of a dead-letter queue. */
interface DeadMessage extends Pick<Delivered, "id" | "open"> {
  /** Its body as it came, which may name an object with the message. */
  envelope: string;
}

/**
 * Stores the messages of a dead-letter queue whole, for 30 days. A sweep of the dialer handles them. The API stores
 * them, because a dead dialer would lose them: Cloudflare deletes a message that failed a hundred times and has no
 * further queue, SQS one that is fourteen days old. Never throws.
 *
 * @param queueName name or ARN of the queue
 */
export async function storeDeadLetters(
  queueName: string,
  messages: readonly DeadMessage[],
  { deadLetters, log }: { deadLetters: DeadLetters; log: Log },
): Promise<AckOrRetry[]> {
  const queue = queueName.endsWith("-events-dead") ? "events" : "calls";
  const answers: AckOrRetry[] = [];
  for (const { id, open, envelope } of messages) {
    try {
      // If its body cannot be fetched, the letter is stored as it came: the object may only be late.
      const body = await withTimeLimit(open(), storeSecondsMax).catch(() => envelope);
      await withTimeLimit(deadLetters.store(toLetterName(queue, id), body), storeSecondsMax);
      answers.push("ack");
    } catch (error) {
      log("alarm", "store.unreachable", { error: errorForLog(error) });
      answers.push(again);
    }
  }
  const count = answers.filter((answer) => answer === "ack").length;
  if (count > 0) {
    const problem = `dead letters of the ${queue} queue are kept in the object store`;
    log("alarm", "message.stored", { problem, count });
  }
  return answers;
}
