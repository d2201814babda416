import { sendDeliverMessages, type WrittenRow } from "../../../shared/events/outbox-ledger.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** Maximum time that an event which was written waits for others, to be told of by one message. */
const gatherMs = 1_000;

/**
 * Gathers the rows of one delivery whose events are to be told. Callbacks come one by one, and each would send a message
 * of its own, which is paid for, and so is the permit that telling takes.
 */
export function batchDeliverMessages(deps: Pick<DialerDeps, "eventsQueue" | "clock" | "log">) {
  let gathered: WrittenRow[] = [];
  /** Sends what has been gathered. Never throws: what is not sent is told by a sweep. */
  async function flush(): Promise<void> {
    const some = gathered;
    gathered = [];
    await sendDeliverMessages(some, deps);
  }
  return {
    flush,
    async tell(written: readonly WrittenRow[]): Promise<void> {
      if (gathered.length === 0 && written.length > 0) void deps.clock.sleep(gatherMs).then(flush);
      gathered.push(...written);
    },
  };
}
