import { sendDeliverMessages, type WrittenRow } from "#shared/events/outbox-ledger.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** Time for which a written event waits for others, to share a message with them. */
const batchMs = 1_000;

/**
 * Batches rows with new events that one invocation wrote. Callbacks come one by one. Without batches each would send
 * a message, and cause a delivery with a lease, both of which cost money.
 */
export function batchDeliverMessages(deps: Pick<DialerDeps, "eventsQueue" | "clock" | "log">) {
  let batch: WrittenRow[] = [];
  /** Sends messages for the rows of the batch. Never throws, as sweeps find events without a message. */
  async function flush(): Promise<void> {
    const some = batch;
    batch = [];
    await sendDeliverMessages(some, deps);
  }
  return {
    flush,
    async deliver(written: readonly WrittenRow[]): Promise<void> {
      if (batch.length === 0 && written.length > 0) void deps.clock.sleep(batchMs).then(flush);
      batch.push(...written);
    },
  };
}
