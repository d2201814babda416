import { deliveryMs } from "#shared/lib/timing.ts";
import { errorForLog } from "#shared/lib/log.ts";
import { delaySecondsMax } from "#shared/ports/queue.ts";
import { type Message, dispatchRowsMax } from "#shared/ports/call-messages.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** A row to be dispatched for an account. `permitAt`: time of its request, if the account has a pace. */
export interface DispatchedRow {
  id: string;
  account: string;
  permitAt?: number | undefined;
  /** True if the row may occupy its delivery for long. Slow rows share no message with others. */
  isSlow: boolean;
}

/** Maximum rows of a quick account per message, as a multiple of a delivery's concurrent requests. */
const quickFactor = 4;

interface Dispatch {
  rows: DispatchedRow[];
  delaySeconds: number;
}

/**
 * Sends rows in the order of their turns. Rows with a pace are sent in messages of a second each, delayed until some
 * round trips before its first permit. Lost dispatches cost only time, as their rows are dispatched again.
 *
 * @param leadMs time from a delivery to its first request, in milliseconds
 * @returns the ids of the rows of each message that the queue has acknowledged
 */
export async function sendDispatches(
  rows: readonly DispatchedRow[],
  leadMs: number,
  { queue, clock, concurrency, log }: Pick<DialerDeps, "queue" | "clock" | "concurrency" | "log">,
): Promise<string[][]> {
  if (rows.length === 0) return [];
  const now = clock.now();
  const quick: Dispatch[] = [];
  const slow: Dispatch[] = [];
  const paced = new Map<string, Dispatch[]>();
  for (const row of rows) {
    const { account, permitAt, isSlow } = row;
    const waitMs = permitAt === undefined ? 0 : permitAt - now - deliveryMs - leadMs;
    const delaySeconds = Math.min(Math.max(0, Math.floor(waitMs / 1000)), delaySecondsMax);
    const list = isSlow ? slow : permitAt === undefined ? quick : (paced.get(account) ?? []);
    if (permitAt !== undefined && !isSlow) paced.set(account, list);
    const most = isSlow ? concurrency : concurrency * quickFactor;
    const last = list.at(-1);
    const fits =
      last?.delaySeconds === delaySeconds && last.rows.length < Math.min(most, dispatchRowsMax);
    if (fits) last.rows.push(row);
    else list.push({ rows: [row], delaySeconds });
  }
  const all = [...paced.values(), quick, slow].flat();
  const messages = all.map(({ rows: some, delaySeconds }) => ({
    message: {
      kind: "dispatch",
      rows: some.map(({ id, account }) => ({ id, account })),
    } satisfies Message,
    delaySeconds,
  }));
  let sent = 0;
  try {
    sent = await queue.sendMany(messages);
  } catch (error) {
    log("warning", "queue.unreachable", { error: errorForLog(error) });
  }
  const taken = all.slice(0, sent).map((one) => one.rows.map(({ id }) => id));
  const left = rows.length - taken.flat().length;
  if (left > 0) log("warning", "dispatch.send_failed", { count: left });
  return taken;
}
