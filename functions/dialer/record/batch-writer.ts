import DataLoader from "dataloader";
import type { Change } from "../../../shared/ports/ledger.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** Maximum rows per write. */
const rowsMax = 100;
/**
 * Maximum wait of a write for others to share its round trip, and the interval of checks whether any can
 * still come.
 */
const shareMsMax = 60;
const lookMs = 4;
/** Calls in a delivery from which on writes wait to be shared: smaller deliveries have little to share. */
const manyCalls = 10;

/** Writes claims and settlements that fall at about the same time in one round trip. */
export interface BatchWriter {
  /** Resolves to true if the row stands as requested. */
  write(change: Change): Promise<boolean>;
  /**
   * Each call joins before its first write, and leaves after its last by disposing, so that no write waits for calls
   * that cannot come.
   */
  join(): Disposable;
}

export function createBatchWriter(
  calls: number,
  { ledger, clock }: Pick<DialerDeps, "ledger" | "clock">,
): BatchWriter {
  let underWay = 0;
  let waiting = 0;
  /** Waits for other writes, but not once every call under way waits for its write. */
  const share = async () => {
    for (let waitedMs = 0; waitedMs < shareMsMax; waitedMs += lookMs) {
      await clock.sleep(lookMs);
      if (waiting >= underWay) return;
    }
  };
  const loader = new DataLoader<Change, boolean>(
    async (changes) => {
      waiting -= changes.length;
      return ledger.write(changes);
    },
    {
      cache: false,
      maxBatchSize: rowsMax,
      ...(calls < manyCalls
        ? {}
        : { batchScheduleFn: (send: () => void) => void share().then(send) }),
    },
  );
  return {
    write(change) {
      waiting += 1;
      return loader.load(change);
    },
    join() {
      underWay += 1;
      return { [Symbol.dispose]: () => void underWay-- };
    },
  };
}
