import type { Context } from "hono";
import { findGuard, type Guard, strictest } from "../../../shared/dial-plan/guards.ts";
import { isTestClient } from "../../../shared/calls/ids.ts";
import { randomVersion } from "../../../shared/lib/random.ts";
import { errorForLog } from "../../../shared/lib/log.ts";
import {
  countCalls,
  type CountedKey,
  dayKeyOf,
  forgetMarks,
  isMarkedIn,
  markCounted,
  nextDayAt,
  releaseCalls,
  releaseMarked,
} from "../../../shared/policy/day-counts.ts";
import type { ApiDeps, ApiEnv } from "../http/context.ts";
import { countWaiting } from "./count-waiting.ts";
import {
  answerUnreachable,
  findOrigin,
  type FreshRequest,
  type Origin,
  readKeyOf,
} from "./idempotency.ts";

type GuardDeps = Pick<ApiDeps, "documents" | "ledger" | "randomId" | "log" | "settings">;

/**
 * Returns the request that owns this request's calls, as `findOrigin` does, for a plan with guards or a client with a quota. The calls count
 * towards their client's day before their key is bound. Above a limit the plan refuses them, so that no key is bound,
 * and a repeat of an accepted request passes all the same, uncounted.
 *
 * A request that is refused gives its calls back. One whose answer may be repeated under its key, as a 503, does not: its
 * mark in the day's counts says that its calls are counted, whether or not the key was bound.
 */
export async function findGuardedOrigin(
  c: Context<ApiEnv>,
  request: FreshRequest,
  deps: GuardDeps,
): Promise<Origin | Response> {
  const { client, count, refusals, quota } = request;
  const guard = strictest(findGuard(client, deps.settings.plan), quota);
  if (guard === undefined || refusals.length > 0) return findOrigin(c, request, deps);
  const keyed = readKeyOf(c, request);
  let refusal: string | undefined;
  try {
    // A repeat, whether or not its key was bound, or a request under a used key: nothing of it is counted.
    if (keyed !== undefined && (await isKnown(request, keyed, deps))) {
      return await findOrigin(c, request, deps);
    }
    refusal = await enter(request, guard, deps);
  } catch (error) {
    return answerUnreachable(c, error, deps);
  }
  if (refusal !== undefined) {
    return findOrigin(c, { ...request, refusals: [{ pointer: "", detail: refusal }] }, deps);
  }
  if (keyed !== undefined) return findMarked(c, { request, keyed }, deps);
  const giveBack = () => release({ client, at: request.at, count }, deps);
  const origin = await findOrigin(c, request, deps);
  if (!(origin instanceof Response)) return { ...origin, giveBack };
  if (origin.status === 422) await giveBack();
  return origin;
}

/** True if a request's key is bound, or its calls are counted already. */
async function isKnown(
  { client, at }: FreshRequest,
  keyed: CountedKey,
  { documents }: GuardDeps,
): Promise<boolean> {
  const bound = { kind: "idempotency-key", key: keyed.key } as const;
  const read = await documents.read([bound, dayKeyOf({ client }, at)]);
  if (read.get(bound.kind, bound.key) !== undefined) return true;
  return isMarkedIn(read, { client }, { at, request: keyed });
}

/** Marks a counted request, and finds its origin. Of requests that are one, the one that is marked first stays counted. */
async function findMarked(
  c: Context<ApiEnv>,
  { request, keyed }: { request: FreshRequest; keyed: CountedKey },
  deps: GuardDeps,
): Promise<Origin | Response> {
  const { client, at, count: calls } = request;
  const { documents, log } = deps;
  let marked: { isRepeat: boolean; marks: number };
  try {
    marked = await markCounted({ client }, { at, request: keyed }, documents);
  } catch (error) {
    await release(request, deps);
    return answerUnreachable(c, error, deps);
  }
  if (marked.isRepeat) await release(request, deps);
  const origin = await findOrigin(c, request, deps);
  const failed = (error: unknown) =>
    log("warning", "guard.release_failed", { client, count: calls, error: errorForLog(error) });
  if (origin instanceof Response) {
    // Another request has bound the key meanwhile. Repeats of this one are refused, too.
    if (origin.status === 422 && !marked.isRepeat) {
      await releaseMarked({ client }, { at, calls, request: keyed }, documents).catch(failed);
    }
    return origin;
  }
  const freshVersion = () => randomVersion(deps.randomId());
  await forgetMarks({ client }, { at, marks: marked.marks }, { documents, freshVersion }).catch(
    failed,
  );
  return origin;
}

/** Counts the calls of a request towards its client's guards. Returns why they are refused, naming the limit. */
async function enter(
  { client, count: calls, at }: FreshRequest,
  { callsPerDay = Infinity, waiting }: Guard,
  deps: GuardDeps,
): Promise<string | undefined> {
  const { documents, log } = deps;
  const day = await countCalls({ client }, { at, calls, limit: callsPerDay }, documents);
  if (!day.isCounted) {
    const fields = { client, count: calls, reason: "callsPerDay" };
    if (day.isFirst && !isTestClient(client)) log("alarm", "guard.refused", fields);
    else log("warning", "guard.refused", fields);
    const until = new Date(nextDayAt(at)).toISOString();
    return `exceeds the client's callsPerDay of ${callsPerDay}, which has ${day.left} left until ${until}`;
  }
  if (waiting === undefined) return undefined;
  const giveBack = () => release({ client, at, count: calls }, deps);
  const of = { client, at, calls, total: day.total, limit: waiting };
  const standing = await countWaiting(of, deps).catch(async (error: unknown) => {
    await giveBack();
    throw error;
  });
  if (standing <= waiting) return undefined;
  await giveBack();
  log("warning", "guard.refused", { client, count: calls, reason: "waiting" });
  const left = Math.max(0, waiting - (standing - calls));
  return `exceeds the client's limit of ${waiting} calls waiting, which has ${left} left`;
}

/** Gives back the calls of a request. If this fails, the client's day has fewer left. */
async function release(
  { client, at, count: calls }: Pick<FreshRequest, "client" | "at" | "count">,
  { documents, log }: GuardDeps,
): Promise<void> {
  await releaseCalls({ client }, { at, calls }, documents).catch((error: unknown) => {
    log("warning", "guard.release_failed", { client, count: calls, error: errorForLog(error) });
  });
}
