import DataLoader from "dataloader";
import type { Change } from "../../../shared/ledger/call-ledger.ts";
import type { ReadyDeps } from "../dialer.ts";

/** Most rows of one write. */
const rowsMax = 100;
/** How long a write waits for others to share its round trip, and how often it looks whether any may yet come. */
const shareMsMax = 60;
const lookMs = 4;
/** A delivery of fewer calls has little to share: its writes go at once. */
export const manyCalls = 10;

/** Writes rows of a delivery's calls, claims and settlements of about the same moment in one round trip. */
export interface SharedWrites {
  /** True: the row stands as it was to be written. */
  write(change: Change): Promise<boolean>;
  /** Told by each call when it begins to write and when it has ended: nobody waits for those that cannot come. */
  begin(): void;
  end(): void;
}

export function createSharedWrites(
  calls: number,
  { ledger, clock }: Pick<ReadyDeps, "ledger" | "clock">,
): SharedWrites {
  let underWay = 0;
  let waiting = 0;
  /** Waits for others, but not once every call under way waits for its write. */
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
    begin: () => void underWay++,
    end: () => void underWay--,
  };
}
