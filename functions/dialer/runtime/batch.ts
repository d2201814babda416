import type { DialerDeps } from "./context.ts";

/** Time for which the first of a batch waits for others. */
const batchMs = 1_000;

/**
 * Gathers what one invocation has to send, and sends it together after a second or when it is flushed, at the end of the
 * invocation at the latest.
 *
 * @param send must not throw
 */
export function createBatch<Item>(
  send: (items: readonly Item[]) => Promise<void>,
  { clock }: Pick<DialerDeps, "clock">,
) {
  let batch: Item[] = [];
  let sending: Promise<unknown> = Promise.resolve();
  /** Resolves once all is sent, also what the timer sends: the invocation may end then. */
  async function flush(): Promise<void> {
    const some = batch;
    batch = [];
    if (some.length > 0) sending = Promise.all([sending, send(some)]);
    await sending;
  }
  return {
    flush,
    add(items: readonly Item[]): void {
      if (batch.length === 0 && items.length > 0) void clock.sleep(batchMs).then(flush);
      batch.push(...items);
    },
  };
}
