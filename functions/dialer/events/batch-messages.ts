import { sendDeliverMessages, type WrittenRow } from "#shared/events/outbox-ledger.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { createBatch } from "../runtime/batch.ts";

/**
 * Batches rows with new events that one invocation wrote. Callbacks come one by one. Without batches each would send
 * a message, and cause a delivery with a lease, both of which cost money.
 */
export function batchDeliverMessages(deps: Pick<DialerDeps, "eventsQueue" | "clock" | "log">) {
  // Never throws, as sweeps find events without a message.
  const { add, flush } = createBatch<WrittenRow>((rows) => sendDeliverMessages(rows, deps), deps);
  return { flush, deliver: async (written: readonly WrittenRow[]) => add(written) };
}
