import { delaySecondsMax } from "../../../shared/queue/call-queue.ts";
import type { Message } from "../../../shared/queue/messages.ts";
import { messageCallsMax } from "../../../shared/queue/messages.ts";
import type { DialerDeps } from "../context.ts";

/** Lead of a hint before its row's time: a row counts as due 5 s ahead, and a delivery takes a while. */
const leadSeconds = 4;
export const hintLeadMs = leadSeconds * 1000;

/** A row to be called up at a time, in milliseconds since the epoch. */
export interface CalledUp {
  id: string;
  moment: number;
}

/**
 * Sends hints for rows in the given order. A message holds ids whose times lie in the same second, at most 25
 * and at most twice a delivery's concurrency. Lost hints cost only time, as sweeps find the rows.
 *
 * @returns the rows, from the front, whose hints the queue has acknowledged
 */
export async function sendHints<Row extends CalledUp>(
  rows: readonly Row[],
  { queue, clock, concurrency, log }: Pick<DialerDeps, "queue" | "clock" | "concurrency" | "log">,
): Promise<Row[]> {
  const now = clock.now();
  const idsMax = Math.min(messageCallsMax, concurrency * 2);
  const groups: { second: number; rows: Row[] }[] = [];
  for (const row of rows) {
    const second = Math.max(0, Math.ceil((row.moment - now) / 1000) - leadSeconds);
    const last = groups.at(-1);
    if (last !== undefined && last.second === second && last.rows.length < idsMax) {
      last.rows.push(row);
    } else groups.push({ second, rows: [row] });
  }
  if (groups.length === 0) return [];
  const sent = await queue.sendMany(
    groups.map(({ second, rows: some }) => ({
      message: { kind: "due", ids: some.map(({ id }) => id) } satisfies Message,
      delaySeconds: Math.min(second, delaySecondsMax),
    })),
  );
  const taken = groups.slice(0, sent).flatMap((group) => group.rows);
  if (taken.length < rows.length)
    log("warning", "hints.lost", { count: rows.length - taken.length });
  return taken;
}
