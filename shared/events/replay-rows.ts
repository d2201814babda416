import type { CallRow } from "../calls/call-row.ts";
import { ConflictError, onConflict, retry } from "../lib/retry.ts";
import type { CallLedger } from "../ports/ledger.ts";
import { sendDeliverMessages } from "./outbox-ledger.ts";
import { replayRow } from "./outbox-rows.ts";

/** Maximum tries of a write if other writes come first. */
const writesMax = 3;

type ReplayDeps = Parameters<typeof sendDeliverMessages>[1] & {
  ledger: Pick<CallLedger, "read" | "write">;
  random: { version(): string };
};

/**
 * Makes delivered and exhausted events of calls pending again for a receiver, and sends messages for them. Pending ones
 * stay as they are.
 *
 * @param to the receiver, and which of a row's events it gets again
 * @returns the number of events
 * @throws ConflictError if other writes of a row came first each time
 */
export async function replayRows(
  rows: readonly CallRow[],
  to: Parameters<typeof replayRow>[1],
  deps: ReplayDeps,
): Promise<number> {
  const { ledger, clock, random } = deps;
  let count = 0;
  let left = rows;
  await retry(async () => {
    const at = clock.now();
    const changes = left.flatMap((row) => {
      const next = replayRow(row, to, { version: random.version(), at });
      return next === undefined ? [] : [{ next, seen: row.version, row }];
    });
    if (changes.length === 0) return;
    const done = await ledger.write(changes.map(({ next, seen }) => ({ next, seen })));
    const written = changes.filter((_, index) => done[index] === true);
    for (const { row, next } of written) count += changedEvents(row, next);
    await sendDeliverMessages(written, deps);
    const lost = changes.flatMap(({ next }, index) => (done[index] === true ? [] : next.id));
    if (lost.length === 0) return;
    left = (await ledger.read(lost)).rows;
    throw new ConflictError("a call was changed by others each time");
  }, onConflict(writesMax));
  return count;
}

function changedEvents(row: CallRow, next: CallRow): number {
  return next.events.filter((event, index) => event !== row.events[index]).length;
}
