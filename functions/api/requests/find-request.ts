import type { Context } from "hono";
import type { CallRow } from "#shared/calls/call-row.ts";
import { readRequestId, timeOfId } from "#shared/calls/ids.ts";
import type { ApiEnv, RouteDeps } from "../http/context.ts";
import { answerProblem } from "../http/problem.ts";
import { minuteMs } from "#shared/lib/units.ts";

/** Age up to which a request without rows is expected to be on the queue. */
const youngMs = 15 * minuteMs;

/** A client's request, as far as the ledger knows it. */
export interface FoundRequest {
  id: string;
  /** Its newest row. Undefined: no call has a row yet, or there is no such request, or it is another client's. */
  row: CallRow | undefined;
}

/**
 * Returns the request in the path, or a problem if it is unknown. Another client's request is treated like a request
 * without rows, so that no answer reveals that the id is in use.
 *
 * @param unknownMsMax age up to which the calls of an id without rows may be on the queue
 */
export async function findRequest(
  c: Context<ApiEnv>,
  { ledger, clock, retentionMs, settings }: RouteDeps,
  unknownMsMax = youngMs,
): Promise<FoundRequest | Response> {
  const id = readRequestId(c.req.param("id") ?? "");
  // A purge deletes the rows of a request one by one, so the request counts as unknown before the first is deleted.
  if (id === undefined || timeOfId(id) + retentionMs <= clock.now()) {
    return answerNoRequest(c, id, clock.now());
  }
  const { rows, unreadable } = await ledger.list({ requestId: id, limit: 1 });
  if (rows.length === 0 && unreadable > 0) return answerUnreadable(c);
  const row = rows.find(({ client }) => client === c.get("caller").client);
  const mayCome = () =>
    isYoungerThan(unknownMsMax, id, clock.now()) && settings.issuedIds.mayBeAccepted(id);
  const isUnknown = row === undefined && !mayCome();
  return isUnknown ? answerNoRequest(c, id, clock.now()) : { id, row };
}

/** Returns the newest row of the request in the path, or a problem if none is known. */
export async function findKnownRequest(
  c: Context<ApiEnv>,
  deps: RouteDeps,
): Promise<CallRow | Response> {
  const found = await findRequest(c, deps);
  if (found instanceof Response) return found;
  return found.row ?? answerNoRequest(c, found.id, deps.clock.now());
}

/** Returns 503 for a row that only a later version can read. */
export function answerUnreadable(c: Context<ApiEnv>): Response {
  return answerProblem(c, 503, {
    detail: "A later version of the service has written this request.",
    headers: { "retry-after": "60" },
  });
}

function answerNoRequest(c: Context<ApiEnv>, id: string | undefined, now: number): Response {
  const detail = "There is no request of this id, or none of its calls is known yet.";
  return answerUnknown(c, { id, now, detail });
}

/**
 * Returns 404, the same for an unknown id and for another client's, so that it reveals none.
 *
 * @param asked.id id of the request or call. Undefined: the path holds none
 */
export function answerUnknown(
  c: Context<ApiEnv>,
  { id, now, detail }: { id: string | undefined; now: number; detail: string },
): Response {
  const isYoung = id !== undefined && isYoungerThan(youngMs, id, now);
  const headers: Record<string, string> = isYoung ? { "retry-after": "5" } : {};
  return answerProblem(c, 404, { detail, headers });
}

function isYoungerThan(ms: number, id: string, now: number): boolean {
  return Math.abs(now - timeOfId(id)) < ms;
}
