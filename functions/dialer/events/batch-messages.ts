import { sendDeliverMessages, type WrittenRow } from "../../../shared/events/outbox-ledger.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** Maximum time that an event which was written waits for others, to be named by the same message. */
const batchMs = 1_000;

/**
 * Batches the rows of one invocation that were written with pending events. Callbacks come one by one, and each would send
 * a message of its own, which is paid for, and so is the lease that a delivery takes.
 */
export function batchDeliverMessages(deps: Pick<DialerDeps, "eventsQueue" | "clock" | "log">) {
  let batch: WrittenRow[] = [];
  /** Sends messages for the rows of the batch. Never throws: a sweep finds the events of those that are not sent. */
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
