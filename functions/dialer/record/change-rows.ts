import DataLoader from "dataloader";
import { toCall, type CallRow } from "#shared/calls/call-row.ts";
import type { Write } from "#shared/calls/transitions.ts";
import type { DialerDeps, RowDeps } from "../runtime/context.ts";
import { changedStep, rowStep } from "#shared/policy/usage.ts";
import { countSteps, logDecision } from "./write-decisions.ts";
import type { Change } from "#shared/ports/ledger.ts";

/**
 * Changes rows, logs those whose state has changed, and counts the outcome of their calls. A row that another writer has changed since it was
 * read stays unchanged.
 *
 * @param change returns the row to write over the row as read, or undefined to leave it
 * @returns `changed`: the rows as written; `conflicts`: the number of rows that another writer has changed
 * @throws if the ledger cannot be written. Any part may have taken effect
 */
export async function changeRows<Row extends CallRow>(
  rows: readonly Row[],
  change: (row: Row, write: Write) => CallRow | undefined,
  deps: RowDeps,
): Promise<{ changed: CallRow[]; conflicts: number }> {
  const { ledger, clock, random } = deps;
  const at = clock.now();
  const changes = rows.flatMap((row) => {
    const next = change(row, { version: random.version(), at });
    return next === undefined ? [] : [{ row, next }];
  });
  if (changes.length === 0) return { changed: [], conflicts: 0 };
  const written = await ledger.write(changes.map(({ row, next }) => ({ next, seen: row.version })));
  const made = changes.filter((_, index) => written[index] === true);
  const entered = made.filter(({ row, next }) => next.state !== row.state);
  logStates(
    entered.map(({ next }) => next),
    deps,
  );
  await countSteps(
    made.map(({ row, next }) => changedStep(row, next, at)),
    deps,
  );
  const changed = made.map(({ next }) => next);
  return { changed, conflicts: changes.length - changed.length };
}

/** Logs and counts rows by the states that they entered. */
export async function reportStates(
  rows: readonly CallRow[],
  deps: Pick<DialerDeps, "log" | "clock" | "documents" | "memory" | "settings">,
): Promise<void> {
  logStates(rows, deps);
  const at = deps.clock.now();
  await countSteps(
    rows.map((row) => rowStep(row, at)),
    deps,
  );
}

function logStates(rows: readonly CallRow[], deps: Pick<DialerDeps, "log">): void {
  for (const row of rows) {
    const call = toCall(row);
    if (call !== undefined) logDecision(call, { state: row.state, reason: row.reason }, deps);
  }
}

/** Maximum rows per write. */
const rowsMax = 100;
/** Maximum wait of a write for others to share its round trip, and the interval of checks if others can still come. */
const shareMsMax = 60;
const lookMs = 4;
/** Writes are shared in deliveries of at least this many calls. Smaller ones have little to share. */
const manyCalls = 10;

/** Writes claims and settlements of about the same time in one round trip. */
export interface BatchWriter {
  /** Resolves to true if the row is now as requested. */
  write(change: Change): Promise<boolean>;
  /**
   * Each call joins before its first write and disposes after its last, so that no write waits for calls that write
   * no more.
   */
  join(): Disposable;
}

export function createBatchWriter(
  calls: number,
  { ledger, clock }: Pick<DialerDeps, "ledger" | "clock">,
): BatchWriter {
  let underWay = 0;
  let waiting = 0;
  /** Waits for other writes, until every joined call waits for its write. */
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
