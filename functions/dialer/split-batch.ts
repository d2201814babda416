import { callId } from "../../shared/call.ts";
import { errorForLog } from "../../shared/log.ts";
import type { BatchMessage, Message } from "../../shared/message.ts";
import type { Disposition } from "../../shared/queue/call-queue.ts";
import { handBack, type ReadyDeps } from "./dialer.ts";

/** How soon the rest of a throttled batch is tried again. */
const restDelaySeconds = 5;

/**
 * Splits a batch into one message a call on the same queue. Their ids are fixed in the batch, so splitting
 * it twice is harmless; throttled half-way, only the rest is sent again.
 */
export async function splitBatch(
  batch: BatchMessage,
  attempt: number,
  { queue, log }: Pick<ReadyDeps, "queue" | "log">,
): Promise<Disposition> {
  const messages = callsOf(batch).map((call) => ({ message: { kind: "call", call } as Message }));
  const sent = await queue.sendMany(messages).catch((error: unknown) => {
    log("alarm", "queue.unreachable", { request_id: batch.requestId, error: errorForLog(error) });
    return 0;
  });
  log("info", "batch.split", { request_id: batch.requestId, client: batch.client, count: sent });
  if (sent === messages.length) return "acknowledge";
  if (sent === 0) return handBack(attempt);
  const rest: Message = {
    ...batch,
    firstIndex: batch.firstIndex + sent,
    calls: batch.calls.slice(sent),
  };
  try {
    await queue.send(rest, restDelaySeconds);
    return "acknowledge";
  } catch {
    return handBack(attempt);
  }
}

/** The calls of a batch, each with its id. */
export function callsOf({ requestId, client, acceptedAt, seed, firstIndex, calls }: BatchMessage) {
  return calls.map((request, index) => ({
    id: callId(seed, firstIndex + index),
    requestId,
    client,
    acceptedAt,
    request,
  }));
}
