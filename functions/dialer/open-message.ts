import { errorForLog } from "../../shared/platform/log.ts";
import { withTimeLimit } from "../../shared/platform/time-limit.ts";
import type * as z from "../../shared/platform/zod.ts";
import type { Delivered } from "../../shared/queue/call-queue.ts";
import type { DialerDeps } from "./context.ts";
import { queueSecondsMax } from "./wiring.ts";

/**
 * Resolves to the message, or to undefined if it cannot be fetched or parsed: it is then retried, and ends as
 * a dead letter.
 */
export async function openMessage<Schema extends z.ZodMiniType>(
  schema: Schema,
  open: Delivered["open"],
  attempt: number,
  { log }: Pick<DialerDeps, "log">,
): Promise<z.output<Schema> | undefined> {
  try {
    return schema.parse(JSON.parse(await withTimeLimit(open(), queueSecondsMax)));
  } catch (error) {
    log("alarm", "message.unreadable", { attempt, error: errorForLog(error) });
    return undefined;
  }
}
