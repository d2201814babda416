import type { Context } from "hono";
import { findGuard, type Guard, strictest } from "#shared/dial-plan/guards.ts";
import { errorForLog } from "#shared/lib/log.ts";
import {
  countCalls,
  type CountedCalls,
  type CountedKey,
  forgetMarks,
  leaveCalls,
  nextDayAt,
} from "#shared/policy/day-counts.ts";
import type { ApiDeps, ApiEnv } from "../http/context.ts";
import { backlogsMax, countWaiting } from "./count-waiting.ts";
import {
  answerUnreachable,
  findOrigin,
  type FreshRequest,
  type Origin,
  readKeyOf,
} from "./idempotency.ts";

type GuardDeps = Pick<ApiDeps, "documents" | "ledger" | "randomId" | "log" | "settings">;

/**
 * Returns the request that owns this request's calls, as `findOrigin` does, for a plan with guards or a client with a
 * quota. The calls are counted towards their client's day before their key is bound. Above a limit the plan refuses
 * them and binds no key, so a repeat of an accepted request still passes, uncounted. A refused request subtracts its
 * calls. A request whose answer may be repeated under its key, such as a 503, does not: its mark in the day's counts
 * shows that its calls are counted, whether or not the key was bound.
 */
export async function findGuardedOrigin(
  c: Context<ApiEnv>,
  request: FreshRequest,
  deps: GuardDeps,
): Promise<Origin | Response> {
  const { refusals, quota } = request;
  const guard = strictest(findGuard(request, deps.settings.plan), quota);
  if (guard === undefined || refusals.length > 0) return findOrigin(c, request, deps);
  const keyed = readKeyOf(c, request);
  let entered: Entered;
  try {
    // A repeat of an accepted request, or a request under a used key, counts nothing.
    if (keyed !== undefined && (await isBound(keyed, deps)))
      return await findOrigin(c, request, deps);
    entered = await enter(request, { guard, keyed }, deps);
  } catch (error) {
    return answerUnreachable(c, error, deps);
  }
  if ("refusal" in entered) {
    const { refusal: detail } = entered;
    return findOrigin(c, { ...request, refusals: [{ pointer: "", detail }] }, deps);
  }
  const { day } = entered;
  const giveBack = () => leave(request, keyed, deps);
  const origin = await findOrigin(c, request, deps);
  if (origin instanceof Response) {
    // A malformed key, or a key that another request has bound meanwhile. Repeats of this request are refused too.
    if (origin.status === 422) await giveBack();
    return origin;
  }
  if (keyed === undefined) return { ...origin, giveBack };
  if (origin.isReplay) await giveBack();
  await forgetBound(request, day.marks, deps);
  return origin;
}

type CountedDay = Extract<CountedCalls, { isCounted: true }>;
/** Result of counting a request. */
type Entered = { day: CountedDay } | { refusal: string };

async function isBound({ key }: CountedKey, { documents }: GuardDeps): Promise<boolean> {
  const bound = { kind: "idempotency-key", key } as const;
  return (await documents.read([bound])).get(bound.kind, bound.key) !== undefined;
}

/** Forgets marks of bound keys, by which their repeats are known. A failure leaves them. */
async function forgetBound(
  { client, at, count }: FreshRequest,
  marks: number,
  { documents, log }: GuardDeps,
): Promise<void> {
  await forgetMarks({ client }, { at, marks }, documents).catch((error: unknown) =>
    log("warning", "guard.release_failed", { client, count, error: errorForLog(error) }),
  );
}

/** Counts the calls of a request towards its client's guards. Resolves to why they are refused, naming the limit. */
async function enter(
  request: FreshRequest,
  { guard, keyed }: { guard: Guard; keyed: CountedKey | undefined },
  deps: GuardDeps,
): Promise<Entered> {
  const { client, mode, count: calls, at } = request;
  const { callsPerDay = Infinity, waiting } = guard;
  const { documents, log } = deps;
  const counting = { at, calls, limit: callsPerDay, request: keyed };
  const day = await countCalls({ client }, counting, documents);
  if (!day.isCounted) {
    const fields = { client, count: calls, reason: "callsPerDay" };
    if (day.isFirst && mode === "live") log("alarm", "guard.refused", fields);
    else log("warning", "guard.refused", fields);
    const until = new Date(nextDayAt(at)).toISOString();
    const left = `which has ${day.left} left until ${until}`;
    return { refusal: `exceeds the client's callsPerDay of ${callsPerDay}, ${left}` };
  }
  if (waiting === undefined) return { day };
  const giveBack = () => leave(request, keyed, deps);
  const of = { client, at, calls, total: day.total, limit: waiting };
  const standing = await countWaiting(of, deps).catch(async (error: unknown) => {
    await giveBack();
    throw error;
  });
  if (standing <= waiting) return { day };
  await giveBack();
  log("warning", "guard.refused", { client, count: calls, reason: "waiting" });
  const left = waiting - (standing - calls);
  const why =
    left > 0
      ? `which has ${left} left`
      : `or the client has ${backlogsMax} backlogs, the most that count`;
  return { refusal: `exceeds the client's limit of ${waiting} calls waiting, ${why}` };
}

/**
 * Subtracts the calls of a request that is not accepted. If this fails, the client may place fewer calls on this day.
 */
async function leave(
  { client, at, count: calls }: FreshRequest,
  keyed: CountedKey | undefined,
  { documents, log }: GuardDeps,
): Promise<void> {
  await leaveCalls({ client }, { at, calls, request: keyed }, documents).catch((error: unknown) => {
    log("warning", "guard.release_failed", { client, count: calls, error: errorForLog(error) });
  });
}
