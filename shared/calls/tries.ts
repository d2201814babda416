import { hash } from "node:crypto";
import * as z from "../lib/zod.ts";
import { createRequestId, timeOfId, toCallId, withCalls } from "./ids.ts";
import { hourMs } from "../lib/units.ts";

/** Maximum calls that `retry` makes in a chain, the first one included, and maximum call-backs in one. */
export const attemptsMax = 6;
export const callBacksMax = 4;
/** Maximum calls of a chain. Readers of a chain read no more. */
export const chainCallsMax = attemptsMax + callBacksMax;

/**
 * The place of a call in a chain: the tries and call-backs that its agent's `retry` and `callBacks` allow for one accepted
 * call. Each is a row of its own. Times are milliseconds since the epoch.
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
  /** Call-backs that the chain may have, those made so far, and the time after which none is promised. Absent: it may have none. */
  callBacks: z.optional(z.looseObject({ most: z.number(), made: z.number(), until: z.number() })),
  /** Time for which this call was promised to its callee. Absent: it is no call-back. */
  promisedAt: z.optional(z.number()),
  /** Result of the try before, of calls to a split: their chain has ended with it if this try is not placed. */
  lastResult: z.optional(z.string()),
});
export type Tries = z.infer<typeof triesSchema>;

/** Name of the field of a record that says when the callee wants to be called back. */
export const wishField = "call_back_at";

/** Why a wish to be called back is not granted. */
export const callBackRefusals = [
  "past",
  "too_far",
  "unreadable",
  "too_many",
  "opted_out",
  "too_late",
  "zone_unknown",
] as const;
export type CallBackRefusal = (typeof callBackRefusals)[number];

/** Outcome of a callee's wish to be called back. Nothing of the wish itself is stored. */
export const callBackSchema = z.looseObject({
  /** Time for which the call's successor was promised. Absent: none was. */
  at: z.optional(z.number()),
  /** Why none was promised. */
  reason: z.optional(z.enum(callBackRefusals)),
});
export type CallBack = z.infer<typeof callBackSchema>;

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

/** True if a placed call's callee may still ask to be called back. An operator's act ends a chain. */
export function mayPromise(
  {
    tries,
    history,
  }: { tries?: Tries | undefined; history: readonly { by?: string | undefined }[] },
  at: number,
): boolean {
  const { callBacks } = tries ?? {};
  if (callBacks === undefined || callBacks.made >= callBacks.most || at >= callBacks.until)
    return false;
  return history.every(({ by }) => by === undefined);
}

/** Returns the time until which a chain's number may be kept, as a call may follow. */
export function keptUntil({ until, callBacks }: Tries): number {
  return Math.max(until, callBacks?.until ?? 0);
}

/** Time after a promised call's own in which it may still be dialed. */
export const callBackLateMs = 2 * hourMs;

/** Returns the place of the call-back that follows a call: no retry follows it, and it ends soon after its time. */
export function toCallBackTries(tries: Tries, number: number, promisedAt: number): Tries {
  const { callBacks } = tries;
  return {
    ...tries,
    number,
    budget: number,
    until: promisedAt + callBackLateMs,
    promisedAt,
    ...(callBacks === undefined ? {} : { callBacks: { ...callBacks, made: callBacks.made + 1 } }),
  };
}
