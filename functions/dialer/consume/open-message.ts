import { errorForLog } from "#shared/lib/log.ts";
import { withTimeLimit } from "#shared/lib/retry.ts";
import type * as z from "#shared/lib/zod.ts";
import type { Delivered } from "#shared/ports/queue.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { queueSecondsMax } from "../runtime/time-limits.ts";

/**
 * Resolves to the message, or to undefined if it cannot be fetched or parsed. The message must then be retried, and
 * finally becomes a dead letter.
 */
export async function openMessage<Schema extends z.ZodMiniType>(
  { attempt, open }: Delivered,
  schema: Schema,
  { log }: Pick<DialerDeps, "log">,
): Promise<z.output<Schema> | undefined> {
  try {
    return schema.parse(JSON.parse(await withTimeLimit(open(), queueSecondsMax)));
  } catch (error) {
    log("alarm", "message.unreadable", { attempt, error: errorForLog(error) });
    return undefined;
  }
}
