import { hash } from "node:crypto";
import * as z from "../lib/zod.ts";
import { createRequestId, timeOfId, toCallId, withCalls } from "./ids.ts";

/**
 * The place of a call in a chain: the tries that its agent's `retry` allows for one accepted call. Each try is a row of
 * its own. Times are milliseconds since the epoch.
 */
export const triesSchema = z.looseObject({
  /** Number of this try, from 1. */
  number: z.number(),
  /** Maximum number of tries, as the plan said at the acceptance. */
  budget: z.number(),
  /** Time after which no further try is made, and the number is erased. */
  until: z.number(),
  /** Times at which the earlier tries were dialed. */
  dialedAt: z._default(z.array(z.number()), []),
});
export type Tries = z.infer<typeof triesSchema>;

/** The next try of a call, as the write of its result names it. */
export const nextTrySchema = z.looseObject({
  id: z.string(),
  /** The earliest time at which it may go. */
  dueAt: z.number(),
});
export type NextTry = z.infer<typeof nextTrySchema>;

/**
 * Returns the id of a chain's try, the same whenever it is made. It has the time of the first call's id, so the
 * chain's rows are listed and purged together.
 *
 * @param chain id of the chain's first call
 */
export function toTryId(chain: string, number: number): string {
  const digest = hash("sha256", `${chain} try ${number}`);
  return toCallId(withCalls(createRequestId(timeOfId(chain), digest), 1), 0);
}

/**
 * True if a rule may still have a placed call tried again, so that its number and context are kept until its result.
 * An operator's act ends a chain.
 */
export function mayBeTriedAgain(
  {
    tries,
    history,
  }: { tries?: Tries | undefined; history: readonly { by?: string | undefined }[] },
  at: number,
): boolean {
  if (tries === undefined || tries.number >= tries.budget || at >= tries.until) return false;
  return history.every(({ by }) => by === undefined);
}
