import type { Context } from "hono";
import { findGuard, type Guard, strictest } from "../../../shared/dial-plan/guards.ts";
import { isTestClient } from "../../../shared/calls/ids.ts";
import { randomVersion } from "../../../shared/lib/random.ts";
import { errorForLog } from "../../../shared/lib/log.ts";
import {
  countCalls,
  forgetKeys,
  nextDayAt,
  releaseCalls,
} from "../../../shared/policy/day-counts.ts";
import type { ApiDeps, ApiEnv } from "../http/context.ts";
import { countWaiting } from "./count-waiting.ts";
import {
  answerUnreachable,
  findOrigin,
  type FreshRequest,
  hashKeyIn,
  type Origin,
} from "./idempotency.ts";

type GuardDeps = Pick<ApiDeps, "documents" | "ledger" | "randomId" | "log" | "settings">;

/** A request that was counted towards its client's guards, or why it was refused. */
type Entered = { isRepeat: boolean; keys: number } | { refusal: string };

/**
 * Returns the request that owns this request's calls, as `findOrigin` does, for a plan with guards or a client with a quota. The calls count
 * towards their client's day before their key is bound. Above a limit the plan refuses them, so that no key is bound,
 * and a repeat of an accepted request passes all the same.
 *
 * A request that is refused gives its calls back. One whose answer may be repeated under its key, as a 503, does not: its
 * repeat is not counted again, whether or not the key was bound.
 */
export async function findGuardedOrigin(
  c: Context<ApiEnv>,
  request: FreshRequest,
  deps: GuardDeps,
): Promise<Origin | Response> {
  const { client, at, refusals, requestId, quota } = request;
  const guard = strictest(findGuard(client, deps.settings.plan), quota);
  if (guard === undefined || refusals.length > 0) return findOrigin(c, request, deps);
  const idempotencyKey = hashKeyIn(c, client);
  let entered: Entered;
  try {
    entered = await enter({ ...request, idempotencyKey }, guard, deps);
  } catch (error) {
    return answerUnreachable(c, { requestId, error }, deps);
  }
  if ("refusal" in entered) {
    const refused = [{ pointer: "", detail: entered.refusal }];
    return findOrigin(c, { ...request, refusals: refused }, deps);
  }
  const { isRepeat, keys } = entered;
  const giveBack = () => release({ ...request, idempotencyKey }, deps);
  const origin = await findOrigin(c, request, deps);
  if (origin instanceof Response) {
    if (origin.status === 422 && !isRepeat) await giveBack();
    return origin;
  }
  // One that came at the same moment may rely on this one's count.
  if (origin.isReplay && !isRepeat && origin.acceptedAt < at) await giveBack();
  await forget({ client, at, keys }, deps);
  return idempotencyKey === undefined ? { ...origin, giveBack } : origin;
}

/** Counts the calls of a request towards its client's guards. A refusal names the limit. */
async function enter(
  request: CountedRequest,
  { callsPerDay = Infinity, waiting }: Guard,
  deps: GuardDeps,
): Promise<Entered> {
  const { client, count: calls, at, idempotencyKey } = request;
  const { documents, log } = deps;
  const counting = { at, calls, limit: callsPerDay, idempotencyKey };
  const day = await countCalls({ client }, counting, documents);
  if (!day.isCounted) {
    const fields = { client, count: calls, reason: "callsPerDay" };
    if (day.isFirst && !isTestClient(client)) log("alarm", "guard.refused", fields);
    else log("warning", "guard.refused", fields);
    const until = new Date(nextDayAt(at)).toISOString();
    const left = `which has ${day.left} left until ${until}`;
    return { refusal: `exceeds the client's callsPerDay of ${callsPerDay}, ${left}` };
  }
  if (waiting === undefined) return day;
  const of = { client, at, calls, total: day.total, limit: waiting };
  const standing = await countWaiting(of, deps).catch(async (error: unknown) => {
    await release(request, deps);
    throw error;
  });
  if (standing <= waiting) return day;
  await release(request, deps);
  log("warning", "guard.refused", { client, count: calls, reason: "waiting" });
  const left = Math.max(0, waiting - (standing - calls));
  return {
    refusal: `exceeds the client's limit of ${waiting} calls waiting, which has ${left} left`,
  };
}

type CountedRequest = Pick<FreshRequest, "client" | "at" | "count"> & {
  /** Hash of its Idempotency-Key. */
  idempotencyKey: string | undefined;
};

/** Gives back the calls of a request. If this fails, the client's day has fewer left. */
async function release(
  { client, at, count: calls, idempotencyKey }: CountedRequest,
  { documents, log }: GuardDeps,
): Promise<void> {
  await releaseCalls({ client }, { at, calls, idempotencyKey }, documents).catch(
    (error: unknown) => {
      log("warning", "guard.release_failed", { client, count: calls, error: errorForLog(error) });
    },
  );
}

/** Forgets keys that the client's day need not remember. If this fails, a later request does it. */
async function forget(
  { client, at, keys }: { client: string; at: number; keys: number },
  { documents, randomId, log }: GuardDeps,
): Promise<void> {
  const freshVersion = () => randomVersion(randomId());
  await forgetKeys({ client }, { at, keys }, { documents, freshVersion }).catch((error: unknown) =>
    log("warning", "guard.release_failed", { client, error: errorForLog(error) }),
  );
}
